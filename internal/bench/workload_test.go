package bench

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/eaba02dc/registrar/registry"
)

// A length is written in one, two or three bytes, so some totals cannot be made.
func TestAgentsArePaddedToWithinAByte(t *testing.T) {
	bare, err := newWorkload(1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	least, err := bare.encodedLen()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{300, 600, 2000, 100_000, MaxAgentBytes} {
		w, err := newWorkload(1, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.encodedLen(); got < n-1 || got > n || err != nil {
			t.Errorf("padded to %d bytes: %d, %v", n, got, err)
		}
	}
	w, err := newWorkload(1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.encodedLen(); got != least || err != nil {
		t.Errorf("padded to less than an agent takes: %d bytes, want %d, %v", got, least, err)
	}
}

func TestOperationsShareNoMemory(t *testing.T) {
	w, err := newWorkload(1, 600, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*byte]string{}
	for range 2 {
		a := w.agent(0, 0)
		for _, s := range texts(a) {
			p := unsafe.StringData(s)
			if other, shared := seen[p]; shared {
				t.Errorf("%q is the memory of %q", s, other)
			}
			seen[p] = s
		}
	}
}

func texts(a registry.Agent) []string {
	all := []string{string(a.ID), a.Hostname, unsafe.String(&a.Payload[0], len(a.Payload))}
	for _, r := range a.Resources {
		all = append(all, r.Name)
	}
	for _, x := range a.Attributes {
		all = append(all, x.Name, x.Value.Text)
	}
	return all
}

func TestShufflingKeepsEveryAgent(t *testing.T) {
	w, err := newWorkload(100, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(w.order)
	w.shuffle()
	if slices.Equal(before, w.order) {
		t.Error("the order is what it was")
	}
	if !slices.Equal(before, slices.Sorted(slices.Values(w.order))) {
		t.Errorf("some agents are missing: %v", w.order)
	}
}
