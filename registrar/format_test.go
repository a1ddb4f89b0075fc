package registrar_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

var makeFixture = flag.Bool("make", false, "make the store of the current format in testdata/store, where it must not be yet")

// fixture is the store of format 1, the others what it amounts to. A released
// format is read by every later version; the store is never made anew (see
// testdata/store/README.md).
const (
	fixture         = "../testdata/store/v1"
	fixtureRevision = 15
	fixtureDigest   = "79dee62769bed53fb8ae4d4e5b63d783"
)

// fixtureEntry is what the store says of one agent.
type fixtureEntry struct {
	status registry.Status
	since  uint64
	known  bool
	agent  registry.Agent
}

var (
	fixtureTime  = time.Date(2026, 1, 2, 15, 4, 5, 678, time.UTC)
	fixtureGrace = 90 * time.Minute

	// full has every field there is.
	full = registry.Agent{
		ID: "full", Incarnation: "boot-1", Hostname: "host-1", Port: 5051, Checkpoint: true,
		Domain: registry.Domain{Region: "eu", Zone: "eu-1"},
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(7.5)},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31000, End: 32000}, registry.Range{Begin: 1, End: 1<<64 - 1})},
			{Name: "disks", Value: registry.Set("sda", "sdb"), Reservations: []registry.Reservation{
				{Role: "db"},
				{Role: "db/blue", Dynamic: true, Principal: "operator", Labels: []registry.Label{{Key: "k", Value: "v"}, {Key: "bare", Bare: true}}},
			}},
		},
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("r12")}, {Name: "rack", Value: registry.Scalar(-1)}},
		Labels:     map[string]string{"team": "blau", "größe": "L", "": ""},
		Payload:    []byte{0, 1, 0xff},
	}
	fixtureMaster = registry.Master{
		ID: "m1", IP: "10.0.5.220", Port: 5050, PID: "master@10.0.5.220:5050", Hostname: "master-1", Version: "1.12.0",
		Domain: registry.Domain{Region: "eu", Zone: "eu-1"}, Capabilities: []string{"AGENT_UPDATE", "AGENT_DRAINING"},
	}
)

// fixtureEntries is what the store holds, in order of arrival.
var fixtureEntries = []fixtureEntry{
	{registry.Status{State: registry.Admitted}, 2, true, full},
	{registry.Status{State: registry.Admitted, Deactivated: true, Drain: registry.Drain{State: registry.Draining, MaxGrace: &fixtureGrace, MarkGone: true}}, 3, true,
		registry.Agent{ID: "draining", Hostname: "host-2"}},
	{registry.Status{State: registry.Unreachable, At: fixtureTime, Deactivated: true, Drain: registry.Drain{State: registry.Drained}}, 12, true,
		registry.Agent{ID: "drained-unreachable", Hostname: "host-3"}},
	{registry.Status{State: registry.Gone, At: fixtureTime}, 9, true, registry.Agent{ID: "gone", Hostname: "host-4"}},
	{registry.Status{State: registry.Unreachable, At: fixtureTime}, 6, false, registry.Agent{ID: "imported-unreachable"}},
	{registry.Status{State: registry.Gone}, 7, false, registry.Agent{ID: "imported-gone"}},
	{registry.Status{State: registry.Admitted, Deactivated: true}, 14, true, registry.Agent{ID: "late", Payload: bytes.Repeat([]byte("p"), 1000)}},
}

func TestStoreOfFormat1IsStillRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	before := hashes(t, dir)
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	reg, found, err := registrar.Load(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(recordData(t, l), []byte("operator@example.com")) {
		t.Error("no record has the principal")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if found.Checkpoint.Revision != 12 || found.Records != 4 {
		t.Errorf("read a checkpoint of revision %d and %d records, want 12 and 4", found.Checkpoint.Revision, found.Records)
	}
	holdsFixture(t, reg)
	err = wal.Check(t.Context(), dir, wal.Options{}, func(f wal.Finding) { t.Errorf("check: %+v", f) }, nil)
	if err != nil {
		t.Error(err)
	}
	if after := hashes(t, dir); !reflect.DeepEqual(before, after) {
		t.Errorf("reading changed the store: %v before, %v after", before, after)
	}
}

func TestStoreOfFormat1CanBeGoneOnWith(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := openFixture(t, dir)
		holdsFixture(t, r.Snapshot())
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func holdsFixture(t *testing.T, reg *registry.Registry) {
	t.Helper()
	if got := reg.Digest().String(); got != fixtureDigest || reg.Revision() != fixtureRevision || reg.Count() != uint64(len(fixtureEntries))+1 {
		t.Errorf("revision %d, digest %s, %d entries; want %d, %s, %d", reg.Revision(), got, reg.Count(), fixtureRevision, fixtureDigest, len(fixtureEntries)+1)
	}
	if errs := reg.Check(); len(errs) > 0 {
		t.Errorf("broken invariants: %v", errs)
	}
	if m, ok := reg.Master(); !ok || !reflect.DeepEqual(m, fixtureMaster) {
		t.Errorf("master is %+v, want %+v", m, fixtureMaster)
	}
	i := 0
	for e := range reg.Entries() {
		agent, err := e.Agent()
		got := fixtureEntry{e.Status(), e.Since(), e.Known(), agent}
		if err != nil || i >= len(fixtureEntries) || !reflect.DeepEqual(got, fixtureEntries[i]) {
			t.Errorf("entry %d is %+v, %v; want %+v", i, got, err, fixtureEntries[min(i, len(fixtureEntries)-1)])
		}
		i++
	}
}

func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func recordData(t *testing.T, l *wal.Log) (all []byte) {
	t.Helper()
	for r, err := range l.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Data...)
	}
	return all
}

func openFixture(t *testing.T, dir string) *registrar.Registrar {
	t.Helper()
	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := registrar.Open(t.Context(), l, registrar.Options{Now: func() time.Time { return fixtureTime }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMakeFormatFixture makes the store that the tests above read. Two
// checkpoints cover its beginning, a third life is in records alone.
func TestMakeFormatFixture(t *testing.T) {
	if !*makeFixture {
		t.Skip("makes a file of testdata; see testdata/store/README.md")
	}
	l, err := wal.Create(fixture, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	unknown := registry.Status{State: registry.Unreachable, At: fixtureTime}
	live(t, ops.SetMaster{Master: fixtureMaster},
		registrar.Request{Operation: ops.Admit{Agent: full}, ID: "request-1", Principal: "operator@example.com", Reason: "new rack"},
		ops.Admit{Agent: registry.Agent{ID: "draining", Hostname: "host-2"}},
		ops.Admit{Agent: registry.Agent{ID: "drained-unreachable", Hostname: "host-3"}},
		ops.Admit{Agent: registry.Agent{ID: "gone", Hostname: "host-4"}},
		ops.Restore{ID: "imported-unreachable", Status: unknown},
		ops.Restore{ID: "imported-gone", Status: registry.Status{State: registry.Gone}})
	checkpointFixture(t)
	live(t, ops.Drain{ID: "draining", MaxGrace: &fixtureGrace, MarkGone: true}, ops.MarkGone{ID: "gone", At: fixtureTime},
		ops.Drain{ID: "drained-unreachable"}, ops.MarkDrained{ID: "drained-unreachable"},
		ops.MarkUnreachable{ID: "drained-unreachable", At: fixtureTime})
	checkpointFixture(t)
	live(t, ops.Admit{Agent: registry.Agent{ID: "removed"}},
		ops.Replace{Old: "removed", Agent: fixtureEntries[6].agent},
		registrar.Request{Operation: ops.Deactivate{ID: "late"}, Reason: "looks slow"})
}

// live is one opening of the store for writing, each operation in its record.
func live(t *testing.T, all ...ops.Operation) {
	t.Helper()
	r := openFixture(t, fixture)
	for _, op := range all {
		if _, err := r.Apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("revision %d, digest %v", r.Snapshot().Revision(), r.Snapshot().Digest())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkpointFixture(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	l, err := wal.Open(fixture, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reg, found, err := registrar.Load(ctx, l)
	if err == nil {
		err = l.Compact(ctx, found.Mark, reg.Chunks(64<<10), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
