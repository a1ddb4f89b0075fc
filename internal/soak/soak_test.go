package soak

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak goes on; 0 for one life of a store")
	soakSeed = flag.Uint64("seed", 0, "the seed of TestSoak's first life; 0 for one of its own with -soak, and for 1 without")
)

// TestSoak has stores live on a real disk, one after another, each with a seed:
// processes write to it and are killed, or find the disk full; bytes of it are
// flipped; it is backed up and restored. After each round it holds what the
// writers were told, and nothing else.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed, until := *soakSeed, time.Now().Add(*soakFor)
	if seed == 0 {
		seed = 1
		if *soakFor > 0 {
			seed = rand.Uint64()
		}
	}
	if limit, ok := t.Deadline(); ok && limit.Add(-30*time.Second).Before(until) {
		until = limit.Add(-30 * time.Second) // a life ends before the time for all tests does
	}
	count := map[string]int{}
	for lives := 1; ; lives++ {
		t.Logf("life %d: -seed %d", lives, seed)
		if err := soak(t.TempDir(), seed, count); err != nil {
			t.Fatalf("%v\nto live it again: go test -run Soak ./internal/soak -seed %d", err, seed)
		}
		if !time.Now().Before(until) {
			t.Logf("%d lives: %v", lives, count)
			return
		}
		seed++
	}
}

// trial is a store on disk, and what it must hold.
type trial struct {
	rng     *rand.Rand
	home    string // the directory that all is in
	dir     string // the store
	moves   int    // directories made so far
	clients []*client
	history store.HistoryID
	skipped uint64 // the revisions that no step of a client has
	saved   *saved
	count   map[string]int // what happened, in all lives
}

// saved is a backup.
type saved struct {
	file  []byte
	steps []int64 // of each client
}

// soak is one life of a store: every kind of round in an order of its own.
func soak(home string, seed uint64, count map[string]int) error {
	s := &trial{rng: rand.New(rand.NewPCG(seed, 2)), home: home, count: count, clients: []*client{{name: "a"}, {name: "b"}, {name: "c"}}}
	s.dir = s.newDir()
	l, err := wal.Create(s.dir, wal.Options{Logger: quiet})
	if err != nil {
		return err
	}
	s.history = l.Identity().History
	if err := l.Close(); err != nil {
		return err
	}
	rounds := []struct {
		name string
		do   func() error
	}{
		{"load", s.load}, {"killed", s.killed}, {"killed", s.killed}, {"full", s.full}, {"full", s.full}, {"full to open", s.fullToOpen},
		{"backup", s.backup}, {"flipped", s.flipped}, {"flipped", s.flipped}, {"flipped", s.flipped}, {"restore", s.restore},
	}
	s.rng.Shuffle(len(rounds), func(i, j int) { rounds[i], rounds[j] = rounds[j], rounds[i] })
	if err := s.backup(); err != nil { // to restore what is damaged before the next
		return fmt.Errorf("round 0, backup: %w", err)
	}
	for i, r := range rounds {
		if err := r.do(); err != nil {
			return fmt.Errorf("round %d, %s: %w", i+1, r.name, err)
		}
		s.count[r.name]++
	}
	return errors.Join(os.RemoveAll(s.dir))
}

func (s *trial) newDir() string {
	s.moves++
	return filepath.Join(s.home, fmt.Sprint("store", s.moves))
}

// order has all clients go on from where they are.
func (s *trial) order() order {
	o := order{Dir: s.dir, Clients: map[string]int64{}, Steps: 10 + s.rng.IntN(60), Batch: 1 + s.rng.IntN(5)}
	for _, c := range s.clients {
		o.Clients[c.name] = c.acked.Load()
	}
	if s.rng.IntN(2) == 0 {
		o.WitnessEvery = -1
	}
	return o
}

func (s *trial) load() error {
	_, err := s.write(s.order(), -1)
	return err
}

func (s *trial) killed() error {
	o := s.order()
	_, err := s.write(o, s.rng.IntN(2*o.Steps*len(s.clients)))
	return err
}

func (s *trial) full() error {
	o := s.order()
	o.Outage = newOutage(s.rng)
	if _, err := s.write(o, -1); err != nil {
		return fmt.Errorf("%+v: %w", o.Outage, err)
	}
	return s.load() // it opens again, and goes on
}

// write runs a writer, and settles what it left.
func (s *trial) write(o order, kill int) (*ran, error) {
	r, err := o.run(kill)
	if err != nil {
		return nil, err
	}
	if r.code != exitDone && !(kill >= 0 && r.code == -1) {
		return nil, fmt.Errorf("the writer ended with code %d: %s", r.code, r.trouble)
	}
	reg, err := recovered(s.dir, vfs.Default)
	if err != nil {
		return nil, err
	}
	return r, s.settle(reg, r)
}

// settle holds a registry against what was acknowledged and what was begun.
func (s *trial) settle(reg *registry.Registry, r *ran) error {
	all := s.skipped
	for _, c := range s.clients {
		if err := c.settle(reg, r.acked[c.name], r.begun[c.name]); err != nil {
			return err
		}
		all += uint64(c.acked.Load())
	}
	if reg.Revision() != all {
		return fmt.Errorf("the registry is at revision %d, and its steps make %d", reg.Revision(), all)
	}
	return nil
}

// still is what a store holds that nobody wrote to.
func (s *trial) still() *ran {
	r := &ran{begun: map[string]int64{}, acked: map[string]int64{}}
	for _, c := range s.clients {
		r.begun[c.name], r.acked[c.name] = c.acked.Load(), c.acked.Load()
	}
	return r
}

// fullToOpen is a disk with too little free: no writer comes in, readers do.
func (s *trial) fullToOpen() error {
	tight := tightDisk{vfs.Default}
	if l, err := wal.Open(s.dir, wal.Options{FS: tight, Logger: quiet}); !errors.Is(err, store.ErrDiskFull) {
		if err == nil {
			err = errors.Join(errors.New("it opened"), l.Close())
		}
		return fmt.Errorf("open for writing: want %q: %w", store.ErrDiskFull, err)
	}
	reg, err := recovered(s.dir, tight)
	if err != nil {
		return err
	}
	return s.settle(reg, s.still())
}

// tightDisk has a megabyte left.
type tightDisk struct{ vfs.FS }

func (t tightDisk) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	u, err := t.FS.GetDiskUsage(path)
	u.AvailBytes = 1 << 20
	return u, err
}

// backup is made under load. It holds something between what was before and after
// that load, and a flipped bit of it is noticed.
func (s *trial) backup() error {
	o := s.order()
	o.Backup, o.After = filepath.Join(s.home, "backup"), s.rng.Int64N(int64(o.Steps))
	if _, err := s.write(o, -1); err != nil {
		return err
	}
	file, err := os.ReadFile(o.Backup)
	if err != nil {
		return err
	}
	b, err := backup.Read(context.Background(), bytes.NewReader(file))
	if err != nil {
		return err
	}
	steps := make([]int64, len(s.clients))
	for i, c := range s.clients {
		then := &client{name: c.name}
		if err := then.settle(b.Image.Registry, o.Clients[c.name], c.acked.Load()); err != nil {
			return fmt.Errorf("the backup: %w", err)
		}
		steps[i] = then.acked.Load()
	}
	damaged := slices.Clone(file)
	at := s.rng.IntN(len(damaged))
	damaged[at] ^= 1 << s.rng.IntN(8)
	if _, err := backup.Read(context.Background(), bytes.NewReader(damaged)); err == nil {
		return fmt.Errorf("a bit of byte %d of a backup of %d flipped, and nobody noticed", at, len(file))
	}
	s.saved = &saved{file, steps}
	return nil
}

// restore puts the last backup in the place of the store. It is another history
// then, at a revision that the store never came to.
func (s *trial) restore() error {
	ctx := context.Background()
	b, err := backup.Read(ctx, bytes.NewReader(s.saved.file))
	if err != nil {
		return err
	}
	before := s.skipped
	for _, c := range s.clients {
		before += uint64(c.begun.Load())
	}
	old := s.dir
	s.dir = s.newDir()
	begin := b.Begin(time.Now())
	l, err := wal.CreateAt(ctx, s.dir, wal.Options{Logger: quiet}, begin, b.Image.Chunks())
	if err != nil {
		return err
	}
	history := l.Identity().History
	r, err := registrar.Open(ctx, l, registrar.Options{Logger: quiet})
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if history == s.history || history == b.History || begin.Revision <= before {
		return fmt.Errorf("restored as history %v at revision %d; it was %v at %d", history, begin.Revision, s.history, before)
	}
	s.history, s.skipped = history, begin.Revision
	for i, c := range s.clients {
		c.begun.Store(s.saved.steps[i])
		c.acked.Store(s.saved.steps[i])
		s.skipped -= uint64(s.saved.steps[i])
	}
	reg, err := recovered(s.dir, vfs.Default)
	if err != nil {
		return err
	}
	return errors.Join(s.settle(reg, s.still()), os.RemoveAll(old))
}

// flipped turns over a bit of a copy of the store. Whoever reads it, and whoever
// goes on writing to it, has all of it, or is told that it is damaged; then the
// last backup takes its place.
func (s *trial) flipped() error {
	o := s.order()
	o.WitnessEvery = -1 // else the last milliseconds may vanish unseen
	left, err := s.write(o, s.rng.IntN(2*o.Steps*len(s.clients)))
	if err != nil {
		return err
	}
	whole := s.dir
	s.dir = s.newDir()
	what, err := s.flip(whole)
	if err != nil {
		return err
	}
	noticed, err := s.useFlipped(left)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if noticed {
		s.count["damage noticed"]++
		return errors.Join(s.restore(), os.RemoveAll(whole))
	}
	s.count["damage harmless"]++
	return os.RemoveAll(whole) // what nobody needs may be damaged: it goes on
}

// flip copies a store to s.dir, but for one bit, and says which.
func (s *trial) flip(from string) (what string, err error) {
	left := filepath.Join(from, live.SocketName) // by a writer that was killed; a socket cannot be copied
	if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.CopyFS(s.dir, os.DirFS(from)); err != nil {
		return "", err
	}
	var names []string
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	name := names[s.rng.IntN(len(names))]
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	at, bit := s.rng.IntN(len(b)), s.rng.IntN(8)
	b[at] ^= 1 << bit
	return fmt.Sprintf("bit %d of byte %d of %d of %s", bit, at, len(b), filepath.Base(name)), os.WriteFile(name, b, 0o600)
}

// useFlipped reads a store that may be damaged, writes to it, and reads it again:
// that fails, or nothing is missing. A step that its last writer was killed before
// it acknowledged may vanish with the bit: nobody was told of it, nor the witness.
func (s *trial) useFlipped(left *ran) (noticed bool, err error) {
	reg, err := recovered(s.dir, vfs.Default)
	if err != nil {
		return true, nil
	}
	if err := s.settle(reg, left); err != nil {
		return false, err
	}
	r, err := s.order().run(-1)
	if err != nil {
		return false, err
	}
	if r.code != exitDone && r.code != exitFailed {
		return false, fmt.Errorf("the writer ended with code %d: %s", r.code, r.trouble)
	}
	if reg, err = recovered(s.dir, vfs.Default); err != nil {
		return true, nil
	}
	return r.code == exitFailed, s.settle(reg, r)
}
