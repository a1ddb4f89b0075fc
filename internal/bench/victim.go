package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/eaba02dc/registrar/ops"
)

// Victim is a process that works on a store and is killed. It gives every
// agent new attribute values, over and over, until the next checkpoint is
// about due: then there is as much log to read back as there can be.
type Victim struct {
	Dir        string `json:"dir"`
	Agents     int    `json:"agents"`
	AgentBytes int    `json:"agent_bytes"`
}

// Outcome is what a victim leaves: what recovery must find.
type Outcome struct {
	Revision uint64 `json:"revision"`
	Count    uint64 `json:"count"`
	Digest   string `json:"digest"`
}

// RunVictim is what the process does that Registrar.Victim starts: it reads a
// [Victim] from stdin, does its work, writes an [Outcome] to stdout, and waits
// to be killed. It never closes the store. If the end of stdin comes first,
// nobody is left to kill it, and it returns an error.
func RunVictim(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := json.NewDecoder(stdin)
	var v Victim
	if err := in.Decode(&v); err != nil {
		return fmt.Errorf("read what to do from stdin: %w", err)
	}
	left, err := v.work(ctx)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(stdout).Encode(left); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return fmt.Errorf("wait to be killed: %w", err)
	}
	return errors.New("stdin was closed before this process was killed")
}

// victimStep is how many bytes are logged before the log is looked at again.
const victimStep = 32 << 10

func (v Victim) work(ctx context.Context) (Outcome, error) {
	w, err := newWorkload(v.Agents, v.AgentBytes, 0)
	if err != nil {
		return Outcome{}, err
	}
	size, err := w.encodedLen()
	if err != nil {
		return Outcome{}, err
	}
	e, err := openEngine(ctx, v.Dir, v.Agents, nil)
	if err != nil {
		return Outcome{}, err
	}
	step := max(1, victimStep/size)
	for done := 0; !e.checkpointNear(2 * step * size); done += step {
		if err := v.change(ctx, e, w, done, step); err != nil {
			return Outcome{}, err
		}
	}
	if n := e.Stats().Checkpoints; n != 0 {
		return Outcome{}, fmt.Errorf("%d checkpoints were written; the next was to be just due", n)
	}
	r := e.Snapshot()
	return Outcome{r.Revision(), r.Count(), r.Digest().String()}, nil
}

// change changes step agents, after done were changed before. Generations 0
// and 1 are what the storms leave.
func (v Victim) change(ctx context.Context, e *engine, w *workload, done, step int) error {
	all := make([]ops.Operation, step)
	for i := range all {
		at := done + i
		all[i] = ops.Readmit{Agent: w.agent(at%v.Agents, 2+at/v.Agents)}
	}
	changed, err := submitAll(ctx, e.Registrar, all)
	if err == nil && changed != step {
		err = fmt.Errorf("%d of %d operations changed the registry", changed, step)
	}
	return err
}

// checkpointNear reports whether the next checkpoint could come before so many
// more bytes are logged.
func (e *engine) checkpointNear(bytes int) bool {
	found := e.Recovery()
	log := found.Bytes - found.CheckpointBytes + int64(e.Stats().Bytes)
	return log+int64(bytes) >= max(checkpointBytes, found.CheckpointBytes)
}

// kill starts a victim, lets it finish its work, and kills it.
func kill(ctx context.Context, victim *exec.Cmd, v Victim) (left Outcome, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("run the process to be killed: %w", err)
		}
	}()
	task, err := json.Marshal(v)
	if err != nil {
		return left, err
	}
	var trouble strings.Builder
	victim.Stderr = &trouble
	stdin, err := victim.StdinPipe()
	if err != nil {
		return left, err
	}
	stdout, err := victim.StdoutPipe()
	if err != nil {
		return left, err
	}
	if err := victim.Start(); err != nil {
		return left, err
	}
	_, err = stdin.Write(append(task, '\n'))
	if err == nil {
		err = json.NewDecoder(bufio.NewReader(stdout)).Decode(&left)
	}
	killed := victim.Process.Kill()
	end := victim.Wait()
	switch {
	case ctx.Err() != nil:
		return left, ctx.Err()
	case err != nil:
		return left, fmt.Errorf("%w (%v): %s", err, end, strings.TrimSpace(trouble.String()))
	case killed != nil:
		return left, killed
	}
	if status, ok := victim.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return left, fmt.Errorf("it ended by itself: %v", end)
	}
	return left, nil
}
