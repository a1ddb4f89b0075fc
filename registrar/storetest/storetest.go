// Package storetest tests a [store.Store] of your own against everything a
// registrar expects of one:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Opener {
//			dir := t.TempDir()
//			return func() store.Store { return mystore.MustOpen(dir) }
//		})
//	}
package storetest

import (
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
)

// Opener opens one and the same store, again and again; it is empty at first.
// Each one it returned is closed before it is called again.
type Opener = storetest.Opener

// Run runs the suite. fresh is called once per case and prepares a new, empty
// store. Run the suite under the race detector too.
func Run(t *testing.T, fresh func(t *testing.T) Opener) { storetest.Run(t, fresh) }
