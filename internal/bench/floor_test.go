package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

func TestFloorMakesOneWriteForEachPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "floor")
	took, err := writeFloor(path, bytes.Repeat([]byte("x"), 1000), 7)
	if err != nil || len(took) != 7 {
		t.Errorf("%d writes, %v; want 7", len(took), err)
	}
	for i, d := range took {
		if d <= 0 {
			t.Errorf("write %d took %v", i, d)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the floor's file is still there: %v", err)
	}
}

// liveOf makes the live file of a registry with n agents.
func liveOf(t *testing.T, n int) (*liveFile, *registry.Registry) {
	t.Helper()
	w, err := newWorkload(n, 300, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := registry.New().Draft()
	for i := range n {
		if err := d.PutAgent(w.agent(i, 0), registry.Status{State: registry.Admitted}); err != nil {
			t.Fatal(err)
		}
	}
	r := d.Freeze()
	l, err := writeLive(filepath.Join(t.TempDir(), "live"), r)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

func TestRecoverFloorReadsEveryEntryTwiceOverTheSameBuffer(t *testing.T) {
	l, r := liveOf(t, 1000) // several frames
	for range 2 {
		entries, err := l.read()
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1000 {
			t.Errorf("%d entries, want 1000", len(entries))
		}
		for e := range r.Entries() {
			if body := entries[string(e.ID())]; len(body) < 200 {
				t.Errorf("agent %s has a body of %d bytes", e.ID(), len(body))
			}
		}
	}
	if took, err := l.recoverFloor(); took <= 0 || err != nil {
		t.Errorf("recoverFloor = %v, %v", took, err)
	}
}

func TestRecoverFloorChecksEveryFrame(t *testing.T) {
	l, _ := liveOf(t, 1000)
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]struct {
		bytes []byte
		want  string
	}{
		"a bit in the first frame": {flipped(data, 100), "wrong CRC"},
		"a bit in the last frame":  {flipped(data, len(data)-1), "wrong CRC"},
		"the last frame cut short": {data[:len(data)-1], "EOF"},
		"the file cut in a head":   {data[:4], "EOF"},
		"no frame at all":          {nil, "0 entries, not 1000"},
	} {
		if err := os.WriteFile(l.path, damage.bytes, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := l.recoverFloor(); err == nil || !strings.Contains(err.Error(), damage.want) {
			t.Errorf("%s: %v, want %q", name, err, damage.want)
		}
	}
}

func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}
