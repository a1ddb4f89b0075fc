package agent

import (
	"context"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

func TestNobodyIsKeptWhoDoesNotWaitAnyMore(t *testing.T) {
	a, err := New(Options{Masters: []string{"http://m"}, Info: registry.Agent{Hostname: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if err := a.Synced(ctx); err != context.Canceled {
			t.Fatal(err)
		}
	}
	if n := len(a.waiting); n != 0 {
		t.Errorf("%d are kept, want 0", n)
	}
}
