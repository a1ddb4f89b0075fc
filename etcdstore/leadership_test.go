package etcdstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
	"github.com/eaba02dc/registrar/internal/storetest"
)

// Of several candidates one leads; the next does when it gives up, or its lease is
// over. Everybody is told who.
func TestCandidatesLeadOneAfterAnother(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix := fresh()
	told := etcdstore.Leaders(t.Context(), etcd.Client(t), prefix)
	wantLeader(t, told, "")
	campaign := func(name string) (*etcdstore.Leadership, error) {
		return etcdstore.Campaign(t.Context(), etcd.Client(t), prefix, etcdstore.Candidate{Name: name})
	}
	first, err := campaign("first")
	if err != nil {
		t.Fatal(err)
	}
	wantLeader(t, told, "first")
	type won struct {
		lead *etcdstore.Leadership
		err  error
	}
	next := make(chan won, 1)
	go func() {
		l, err := campaign("second")
		next <- won{l, err}
	}()
	select {
	case <-next:
		t.Fatal("there are two leaders")
	default:
	}
	first.Resign()
	first.Resign() // once more does no harm
	second := <-next
	if second.err != nil {
		t.Fatal(second.err)
	}
	wantLeader(t, told, "second")
	if first.Leads() || !second.lead.Leads() {
		t.Errorf("the first leads: %v, the second: %v", first.Leads(), second.lead.Leads())
	}
	takeAway(t, etcd.Client(t), prefix)
	wantLeader(t, told, "")
	<-second.lead.Lost()
	if err := second.lead.Err(); !errors.Is(err, etcdstore.ErrLeadershipOver) {
		t.Errorf("it is over because of %v, want %v", err, etcdstore.ErrLeadershipOver)
	}
}

// wantLeader waits until it is told of a leader; one may come and go unseen.
func wantLeader(t *testing.T, told <-chan string, want string) {
	t.Helper()
	for name := range told {
		if name == want {
			return
		}
	}
	t.Fatalf("nobody tells that %q leads", want)
}

func TestWhoGivesUpTheCampaignIsNoCandidateAnyMore(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, client := fresh(), etcd.Client(t)
	first, err := etcdstore.Campaign(t.Context(), client, prefix, etcdstore.Candidate{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := etcdstore.Campaign(ctx, client, prefix, etcdstore.Candidate{Name: "second"})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the campaign ended with %v", err)
	}
	first.Resign()
	third, err := etcdstore.Campaign(t.Context(), client, prefix, etcdstore.Candidate{Name: "third"})
	if err != nil {
		t.Fatal(err)
	}
	third.Resign()
}

// Who reads while another writes is told when there is more.
func TestAReaderIsToldOfNewRecords(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix := fresh()
	s := create(t, etcd.Client(t), etcdstore.Options{Prefix: prefix})
	reader, err := etcdstore.Open(t.Context(), etcd.Client(t), etcdstore.Options{Prefix: prefix, ReadOnly: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for seq := uint64(1); seq <= 5; seq++ {
		told := make(chan error, 1)
		go func() { told <- reader.Changed(t.Context()) }()
		if err := appended(t, s, seq)(); err != nil {
			t.Fatal(err)
		}
		if err := <-told; err != nil {
			t.Fatal(err)
		}
		got, err := storetest.Collect(reader.Records(t.Context(), seq-1))
		if err != nil || len(got) != 1 || got[0].Seq != seq {
			t.Fatalf("record %d: %v, %v", seq, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reader.Changed(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without a change it ended with %v", err)
	}
}
