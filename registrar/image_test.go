package registrar_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// TestAnImageRestsAsItsChunksAreUsed: four times what was done with one takes, at
// least 2 ms, and no longer than 20 ms, so that a slow network is not made slower.
func TestAnImageRestsAsItsChunksAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, store.NewMemory(), registrar.Options{})
		apply(t, r, admit("a"))
		for _, c := range []struct{ used, rests time.Duration }{
			{0, 2 * time.Millisecond}, {time.Millisecond, 4 * time.Millisecond}, {time.Second, 20 * time.Millisecond},
		} {
			var used time.Time
			chunks, rested := 0, time.Duration(0)
			for range r.Image().Chunks() {
				if chunks > 0 {
					rested += time.Since(used)
				}
				chunks++
				time.Sleep(c.used)
				used = time.Now()
			}
			rested += time.Since(used)
			if chunks == 0 || rested != time.Duration(chunks)*c.rests {
				t.Errorf("used for %v each: after %d chunks it had rested for %v, want %v after each", c.used, chunks, rested, c.rests)
			}
		}
	})
}
