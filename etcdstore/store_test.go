package etcdstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

var prefixes atomic.Int64

// fresh is a prefix that nothing is below of.
func fresh() string { return fmt.Sprintf("/test-%d/", prefixes.Add(1)) }

func TestEtcdIsAStore(t *testing.T) {
	etcd := etcdtest.Shared(t)
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		client, prefix, made := etcd.Client(t), fresh(), false
		return func() store.Store {
			o := etcdstore.Options{Prefix: prefix, Logger: quiet}
			begin := etcdstore.Open
			if !made {
				begin, made = etcdstore.Create, true
			}
			s, err := begin(context.Background(), client, o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}
