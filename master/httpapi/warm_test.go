package httpapi

import (
	"sync/atomic"
	"testing"
)

// TestAPanicOfAWorkerIsItsCallers proves that one value which cannot be rendered
// fails the answer that it is in, and not the process.
func TestAPanicOfAWorkerIsItsCallers(t *testing.T) {
	var w warming
	for range 1000 { // so many that several render
		w.jobs = append(w.jobs, func(*atomic.Int64, []byte) []byte { panic("cannot render") })
	}
	defer func() {
		if cause := recover(); cause != "cannot render" {
			t.Errorf("the caller met with %v", cause)
		}
	}()
	w.run(1)
	t.Error("the caller did not notice")
}
