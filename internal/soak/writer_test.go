package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/wal"
)

// writerEnv holds the order that makes the test binary a writer.
const writerEnv = "REGISTRAR_SOAK_WRITER"

func TestMain(m *testing.M) {
	if text := os.Getenv(writerEnv); text != "" {
		os.Exit(write(text))
	}
	os.Exit(m.Run())
}

// order is what a writer is to do. It is a process, because it is killed, and
// because a storage engine that met a full disk leaves goroutines behind.
type order struct {
	Dir          string
	Clients      map[string]int64 // the steps that each has done
	Steps        int              // of each client
	Batch        int
	WitnessEvery time.Duration
	Outage       *outage
	Backup       string // a file for a backup made under load, or empty
	After        int64  // how many steps are acknowledged before it
}

// How a writer ends that was not killed.
const (
	exitDone = iota
	exitFailed
)

// write does what it was told, and says on standard output what becomes of each
// step, one line with one call, so that a kill leaves whole lines.
func write(text string) int {
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitDone
}

func (o order) write() error {
	ctx := context.Background()
	wo := wal.Options{Logger: quiet, WitnessEvery: o.WitnessEvery}
	if o.Outage != nil {
		wo.FS = errorfs.Wrap(vfs.Default, o.Outage)
	}
	l, err := wal.Open(o.Dir, wo)
	if err != nil {
		return err
	}
	r, err := registrar.Open(ctx, l, registrar.Options{Logger: quiet, CheckpointBytes: 4 << 10, MaxBatch: o.Batch})
	if err != nil {
		return err
	}
	if _, err := r.Apply(ctx, ops.Prune{}); err != nil { // answered once it is open for writing
		return errors.Join(err, r.Close())
	}
	if o.Outage != nil {
		o.Outage.begun.Store(true)
	}
	var mu sync.Mutex
	acked := make(chan struct{}, o.Steps*len(o.Clients))
	var errs []error
	var working sync.WaitGroup
	for name, steps := range o.Clients {
		c := &client{name: name}
		c.begun.Store(steps)
		c.acked.Store(steps)
		c.tell = func(word string, steps int64) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(os.Stdout, name, word, steps)
			if word == "acked" {
				acked <- struct{}{}
			}
		}
		working.Go(func() {
			err := c.run(r, o.Steps)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	if o.Backup != "" {
		for range o.After {
			<-acked
		}
		err = backUp(r, o.Backup)
	}
	working.Wait()
	if closed := r.Close(); o.Outage == nil { // which lets it say that it could not write all
		err = errors.Join(err, closed)
	}
	return errors.Join(append(errs, err)...)
}

func backUp(r *registrar.Registrar, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = backup.Write(f, r.Image(), time.Now())
	return errors.Join(err, f.Close())
}

// outage is a disk that is full from a write on, for a while or for ever.
type outage struct {
	From, To int64 // writes
	Tables   bool  // only Pebble's tables find no space
	begun    atomic.Bool
	writes   atomic.Int64
}

func newOutage(rng *rand.Rand) *outage {
	o := &outage{From: 1 + rng.Int64N(200), Tables: rng.IntN(2) == 0}
	o.To = o.From + 1 + rng.Int64N(60)
	if rng.IntN(2) == 0 {
		o.To = 1 << 62
	}
	return o
}

func (o *outage) MaybeError(op errorfs.Op) error {
	if !o.begun.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || o.Tables && !strings.HasSuffix(op.Path, ".sst") {
		return nil
	}
	if n := o.writes.Add(1); n < o.From || n >= o.To {
		return nil
	}
	return syscall.ENOSPC
}

func (o *outage) String() string { return "outage" }

// ran is what a writer left: how far each client went, and how it ended.
type ran struct {
	begun, acked map[string]int64
	code         int // -1 if it was killed
	trouble      string
}

// run starts a writer, kills it once it has said n lines if n is not negative,
// and hears all that it said.
func (o order) run(n int) (*ran, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writerEnv+"="+string(text))
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	r := &ran{begun: map[string]int64{}, acked: map[string]int64{}}
	for name, steps := range o.Clients {
		r.begun[name], r.acked[name] = steps, steps
	}
	heard := r.hear(out, func(lines int) {
		if lines == n {
			cmd.Process.Kill()
		}
	})
	if heard != nil {
		cmd.Process.Kill()
	}
	err = cmd.Wait()
	r.code, r.trouble = cmd.ProcessState.ExitCode(), trouble.String()
	if errors.As(err, new(*exec.ExitError)) {
		err = nil
	}
	return r, errors.Join(heard, err)
}

func (r *ran) hear(out io.Reader, after func(lines int)) error {
	lines := bufio.NewScanner(out)
	after(0)
	for n := 1; lines.Scan(); n++ {
		var name, word string
		var steps int64
		if _, err := fmt.Sscan(lines.Text(), &name, &word, &steps); err != nil {
			return fmt.Errorf("the writer said %q: %w", lines.Text(), err)
		}
		if word == "begun" {
			r.begun[name] = steps
		} else {
			r.acked[name] = steps
		}
		after(n)
	}
	return lines.Err()
}
