package storetest_test

import (
	"testing"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registrar/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opener {
		m := store.NewMemory()
		return func() store.Store {
			m = m.Reopen()
			return m
		}
	})
}
