package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// crashWriterEnv names the store on which the test binary writes until it is
// killed.
const crashWriterEnv = "REGTOOL_TEST_CRASH_WRITER"

// crashRounds is how often the writer is killed; a few times show the race
// detector the same code.
func crashRounds() int {
	if testing.Short() {
		return 8
	}
	return 30
}

// The storm of a crash test is one endless sequence of operations in which
// each changes something, so that the revision is the number of operations
// applied. A process killed anywhere must leave the registry as it was after
// some operation, not before the last one that it had acknowledged.
func TestKilledWriterLeavesWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/registry"
	l, err := wal.Create(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	reg := registry.New()
	for round := range crashRounds() {
		acknowledged := killedAfter(t, dir, rng.IntN(800))
		reg = afterCrash(t, dir, reg, acknowledged)
		if t.Failed() {
			t.Fatalf("in round %d, at revision %d", round, reg.Revision())
		}
	}
	t.Logf("%d rounds, %d operations, %d agents left", crashRounds(), reg.Revision(), reg.Count())
	v, err := checkDir(t.Context(), dir, false)
	if err != nil || !v.Sound {
		t.Errorf("check: %+v, %v", v, err)
	}
}

// killedAfter runs a writer, kills it once it has acknowledged n operations,
// and returns how many operations of the storm it had acknowledged in the end,
// or 0 for none.
func killedAfter(t *testing.T, dir string, n int) uint64 {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writer := exec.Command(self)
	writer.Env = append(os.Environ(), crashWriterEnv+"="+dir)
	var trouble strings.Builder
	writer.Stderr = &trouble
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	var last uint64
	lines, in := 0, bufio.NewReader(out)
	for {
		if lines == n {
			writer.Process.Kill()
		}
		line, err := in.ReadString('\n')
		if err != nil {
			break // the pipe is closed, perhaps in the middle of a line
		}
		lines++
		if last, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
			t.Fatalf("the writer says %q", line)
		}
	}
	if err := writer.Wait(); lines < n {
		t.Fatalf("the writer ended by itself (%v): %s", err, trouble.String())
	}
	return last
}

// afterCrash recovers the store and holds it against the storm.
func afterCrash(t *testing.T, dir string, before *registry.Registry, acknowledged uint64) *registry.Registry {
	t.Helper()
	l, err := wal.Open(dir, wal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	after, _, err := registrar.Load(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if after.Revision() < max(acknowledged, before.Revision()) {
		t.Errorf("%d operations were acknowledged, %d are there", acknowledged, after.Revision())
	}
	without := before.Draft()
	for i := before.Revision(); i < after.Revision(); i++ {
		if changed, err := without.Try(stormOp(i).Apply); err != nil || !changed {
			t.Fatalf("operation %d without a crash: %v, %v", i, changed, err)
		}
	}
	if got, want := after.Digest(), without.Digest(); got != want || after.Count() != without.Count() {
		t.Errorf("digest %v of %d entries, without a crash it is %v of %d", got, after.Count(), want, without.Count())
	}
	for _, err := range after.Check() {
		t.Error(err)
	}
	return after
}

// crashWriter applies the storm from where the registry stands, and prints
// after each operation that was answered how many there have been in all. It
// returns only if something goes wrong.
func crashWriter(dir string) error {
	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		return err
	}
	// So small that the kill meets checkpoints too.
	r, err := registrar.Open(context.Background(), l, registrar.Options{CheckpointBytes: 100_000, MaxBatch: 50})
	if err != nil {
		return err
	}
	underWay := make(chan *registrar.Pending, 200)
	go func() {
		defer close(underWay)
		for i := r.Snapshot().Revision(); ; i++ {
			p, err := r.Submit(stormOp(i))
			if err != nil {
				return // the next answer says it better
			}
			underWay <- p
		}
	}()
	for p := range underWay {
		result, err := p.Wait(context.Background())
		if err != nil {
			return err
		}
		if _, err := io.WriteString(os.Stdout, strconv.FormatUint(result.Revision, 10)+"\n"); err != nil {
			return err
		}
	}
	return fmt.Errorf("nothing more was taken")
}

// stormOp is operation i of the storm: each agent has five of them and a pod
// two, and every one changes something.
func stormOp(i uint64) ops.Operation {
	n := i / 7
	pod := registry.Pod{ID: fmt.Sprintf("/storm/%d", n), Version: time.Unix(int64(i), 0), Definition: []byte(`{}`)}
	a := registry.Agent{ID: registry.AgentID(fmt.Sprintf("storm-%d", n)), Hostname: "first"}
	if n%40 == 0 {
		a.Payload = make([]byte, 60_000) // ends a batch before its count does
	}
	switch i % 7 {
	case 0:
		return ops.Admit{Agent: a}
	case 1:
		return ops.Drain{ID: a.ID}
	case 2:
		return ops.MarkUnreachable{ID: a.ID, At: time.Unix(int64(i), 0)}
	case 3:
		a.Hostname = "second"
		return ops.Readmit{Agent: a}
	case 4:
		return ops.PutPod{Pod: pod, New: true}
	case 5:
		if n%4 == 0 {
			return ops.RemovePod{ID: pod.ID}
		}
		pod.Definition = fmt.Appendf(nil, `{"id":%q}`, pod.ID)
		return ops.PutPod{Pod: pod}
	default:
		if n%2 == 0 {
			return ops.Remove{ID: a.ID}
		}
		return ops.MarkGone{ID: a.ID, At: time.Unix(int64(i), 0)}
	}
}
