package wal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/wal"
)

// TestAStoreThatIsNotWhereItWasTakesNothingMore: nobody would find what is written
// then. It notices without a write, and what it had can still be read.
func TestAStoreThatIsNotWhereItWasTakesNothingMore(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"moved":   func(dir string) error { return os.Rename(dir, dir+"-moved") },
		"removed": os.RemoveAll,
		"replaced": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"-moved"), os.CopyFS(dir, copyable{os.DirFS(dir + "-moved")}))
		},
		"witness removed": func(dir string) error { return os.Remove(filepath.Join(dir, "WITNESS")) },
		"pebble moved": func(dir string) error {
			return os.Rename(filepath.Join(dir, "pebble"), filepath.Join(dir, "elsewhere"))
		},
	} {
		for _, writes := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", idle", true: ", busy"}[writes], func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "store")
				l, err := wal.Create(dir, wal.Options{Logger: quiet})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				appendTo(t, l, 1, 3)
				if err := harm(dir); err != nil {
					t.Fatal(err)
				}
				if writes {
					durable, err := l.Append(storetest.Rec(4, 1, 700))
					if err == nil {
						err = durable()
					}
					if !errors.Is(err, wal.ErrMoved) {
						t.Errorf("a record is told %v", err)
					}
				}
				<-l.Failed()
				if err := l.Err(); !errors.Is(err, wal.ErrMoved) {
					t.Errorf("it failed with %v", err)
				}
				if _, err := l.Append(storetest.Rec(5, 1, 700)); err == nil {
					t.Error("another record is taken")
				}
				if got, err := storetest.Collect(l.Records(t.Context(), 0)); len(got) != 3 || err != nil {
					t.Errorf("%d records can be read, %v; want 3", len(got), err)
				}
			})
		}
	}
}
