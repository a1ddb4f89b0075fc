package etcdstore_test

import (
	"testing"
	"time"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
)

// Of three members any one may hang, and then die, whichever leads among them: what
// is appended becomes durable all the same. Without a quorum nothing does, until
// there is one again; then each record is there once.
func TestARegistryOutlivesMembersOfEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("etcd takes seconds to elect another leader")
	}
	t.Parallel()
	members := etcdtest.StartThree(t)
	client := etcdtest.ClientOf(t, members...)
	lead, err := etcdstore.Campaign(t.Context(), client, "/r/", etcdstore.Candidate{Name: "a", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := create(t, client, etcdstore.Options{Prefix: "/r/", Leadership: lead, Timeout: 50 * time.Second})
	seq := uint64(0)
	some := func(n int) (durable []func() error) {
		for range n {
			seq++
			durable = append(durable, appended(t, s, seq))
		}
		return durable
	}
	areDurable := func(when string, durable []func() error) {
		t.Helper()
		for i, f := range durable {
			if err := f(); err != nil {
				t.Fatalf("%s: the %dth of %d: %v", when, i+1, len(durable), err)
			}
		}
	}
	areDurable("with all members", some(3))
	for _, m := range members {
		m.Pause()
		areDurable("with one that hangs", some(3))
		m.Resume()
	}
	members[0].Kill()
	areDurable("with one that is dead", some(3))
	members[1].Pause() // there is no quorum
	waiting := some(3)
	members[0].Run(t)
	areDurable("with another in place of one that hangs", waiting)
	members[1].Resume()
	areDurable("with all members again", some(3))
	holds(t, client, "/r/", seq)
}
