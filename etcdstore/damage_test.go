package etcdstore_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
)

// readAll reads everything that is in a registry.
func readAll(ctx context.Context, client *clientv3.Client, prefix string) error {
	s, err := etcdstore.Open(ctx, client, etcdstore.Options{Prefix: prefix, ReadOnly: true, Logger: quiet})
	if err != nil {
		return err
	}
	defer s.Close()
	_, chunks, err := s.Checkpoint(ctx, math.MaxUint64)
	if err != nil {
		return err
	}
	for _, err := range chunks {
		if err != nil {
			return err
		}
	}
	_, err = storetest.Collect(s.Records(ctx, s.Oldest().Seq))
	return err
}

// A value that was changed, put under another key or taken away is noticed, and
// named by its key.
func TestDamageIsFoundAndNamed(t *testing.T) {
	etcd := etcdtest.Shared(t)
	prefix, client := fresh(), etcd.Client(t)
	s := create(t, client, etcdstore.Options{Prefix: prefix})
	for seq := uint64(1); seq <= 4; seq++ {
		if err := appended(t, s, seq)(); err != nil {
			t.Fatal(err)
		}
	}
	large := storetest.Rec(5, 1, 3<<20)
	durable, err := s.Append(large)
	if err != nil || durable() != nil {
		t.Fatal("no large record", err)
	}
	if err := s.Compact(t.Context(), storetest.MarkAt(3, 1), slices.Values([][]byte{make([]byte, 3<<20)}), 0); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := readAll(t.Context(), client, prefix); err != nil {
		t.Fatal(err)
	}
	whole, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	const want = 1 + 2 + 5 + 2 + 1 + 4 // store, last and oldest, records, parts, checkpoint, chunks
	if len(whole.Kvs) != want {
		t.Fatalf("there are %d keys, want %d", len(whole.Kvs), want)
	}
	for i, kv := range whole.Kvs {
		key, value := string(kv.Key), string(kv.Value)
		checkpoint := strings.HasPrefix(key, prefix+"checkpoint/") // a damaged one is left out
		for name, spoil := range map[string]func() error{
			"a byte": func() error {
				changed := []byte(value)
				changed[len(changed)/2] ^= 1
				_, err := client.Put(t.Context(), key, string(changed))
				return err
			},
			"cut off": func() error {
				_, err := client.Put(t.Context(), key, value[:len(value)-1])
				return err
			},
			"empty": func() error {
				_, err := client.Put(t.Context(), key, "")
				return err
			},
			"of another": func() error {
				_, err := client.Put(t.Context(), key, string(whole.Kvs[(i+1)%len(whole.Kvs)].Value))
				return err
			},
			"gone": func() error {
				_, err := client.Delete(t.Context(), key)
				return err
			},
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			err := readAll(t.Context(), client, prefix)
			var damage *etcdstore.CorruptError
			switch {
			case checkpoint:
				if err != nil {
					t.Errorf("%s: %s: %v; want the records read without it", key, name, err)
				}
			case key == prefix+"store" && name == "gone":
				if !errors.Is(err, etcdstore.ErrForeign) {
					t.Errorf("%s: %s: %v; want %v", key, name, err, etcdstore.ErrForeign)
				}
			case !errors.As(err, &damage) || damage.Key != key:
				t.Errorf("%s: %s: %v; want a CorruptError of it", key, name, err)
			}
			if _, err := client.Put(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := readAll(t.Context(), client, prefix); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNoRegistryIsLeftAlone(t *testing.T) {
	etcd := etcdtest.Shared(t)
	client := etcd.Client(t)
	for name, c := range map[string]struct {
		key, value string
		open       error
		create     error
	}{
		"nothing":      {"", "", etcdstore.ErrNotExist, nil},
		"other keys":   {"pods/a", "x", etcdstore.ErrForeign, etcdstore.ErrForeign},
		"newer":        {"store", "registrar store on etcd\nformat 2\nwhatever\n", etcdstore.ErrVersion, etcdstore.ErrVersion},
		"unfinished":   {"chunk/0000000000000005/00000000", "x", etcdstore.ErrForeign, nil},
		"behind a dot": {"zebra", "x", etcdstore.ErrForeign, etcdstore.ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := fresh()
			if c.key != "" {
				if _, err := client.Put(t.Context(), prefix+c.key, c.value); err != nil {
					t.Fatal(err)
				}
			}
			o := etcdstore.Options{Prefix: prefix, Logger: quiet}
			for _, o.ReadOnly = range []bool{true, false} {
				if _, err := etcdstore.Open(t.Context(), client, o); !errors.Is(err, c.open) {
					t.Errorf("opened: %v; want %v", err, c.open)
				}
			}
			s, err := etcdstore.Create(t.Context(), client, o)
			if !errors.Is(err, c.create) {
				t.Fatalf("created: %v; want %v", err, c.create)
			}
			if err != nil {
				return
			}
			defer s.Close()
			s.Close()
			if _, err := etcdstore.Create(t.Context(), client, o); !errors.Is(err, etcdstore.ErrExist) {
				t.Errorf("created again: %v; want %v", err, etcdstore.ErrExist)
			}
		})
	}
}

// A registry that comes from elsewhere begins with a checkpoint.
func TestARegistryMayBeginWithACheckpoint(t *testing.T) {
	client, prefix := etcdtest.Shared(t).Client(t), fresh()
	o := etcdstore.Options{Prefix: prefix, Logger: quiet}
	lead, err := etcdstore.Campaign(t.Context(), client, prefix, etcdstore.Candidate{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	o.Leadership = lead
	if _, err := etcdstore.CreateAt(t.Context(), client, o, store.Mark{}, nil); err == nil || lead.Leads() {
		t.Fatalf("a checkpoint of nothing: %v; it leads on: %v", err, lead.Leads())
	}
	o.Leadership = nil
	canceled, cancel := context.WithCancel(t.Context())
	_, err = etcdstore.CreateAt(canceled, client, o, storetest.MarkAt(7, 1), func(yield func([]byte) bool) {
		cancel()
		yield([]byte("a chunk"))
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("broken off: %v; want %v", err, context.Canceled)
	}
	if _, err := etcdstore.Open(t.Context(), client, o); !errors.Is(err, etcdstore.ErrNotExist) && !errors.Is(err, etcdstore.ErrForeign) {
		t.Fatalf("there is something after a creation that was broken off: %v", err)
	}
	s, err := etcdstore.CreateAt(t.Context(), client, o, storetest.MarkAt(7, 1), slices.Values(storetest.Chunks(4)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mark, chunks, err := s.Checkpoint(t.Context(), math.MaxUint64)
	if err != nil || mark != storetest.MarkAt(7, 1) || s.Oldest() != mark {
		t.Fatalf("it begins at %+v, error %v, the oldest place %+v; want record 7", mark, err, s.Oldest())
	}
	n := 0
	for chunk, err := range chunks {
		if err != nil || string(chunk) != string(storetest.Chunks(4)[n]) {
			t.Errorf("chunk %d: %d bytes, error %v", n, len(chunk), err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d chunks, want 4", n)
	}
	if err := appended(t, s, 8)(); err != nil {
		t.Error(err)
	}
	if _, err := storetest.Collect(s.Records(t.Context(), 3)); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("records before it: %v; want %v", err, store.ErrCompacted)
	}
}
