package bench

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// engine is the registrar under test, on a store on disk.
type engine struct {
	*registrar.Registrar
	record *recorder // nil except in repetition 0
}

// quiet drops what the engine logs: a line a batch would be measured too.
var quiet = slog.New(slog.DiscardHandler)

// checkpointBytes is the least log after which a checkpoint is due.
const checkpointBytes = 2 << 20

// engineOptions has room for all operations of a storm at once; what else
// matters to speed is as in production.
func engineOptions(agents int) registrar.Options {
	return registrar.Options{
		MaxQueue:      max(agents, 1<<17), // or the default
		MaxQueueBytes: 1 << 40,
		// The default, said aloud: the process that is killed counts towards it.
		CheckpointBytes: checkpointBytes,
		Logger:          quiet,
	}
}

func createEngine(ctx context.Context, dir string, agents int, record *recorder) (*engine, error) {
	log, err := wal.Create(dir, wal.Options{Logger: quiet})
	if err != nil {
		return nil, fmt.Errorf("create the store to measure: %w", err)
	}
	e, err := newEngine(ctx, log, agents, record)
	if err != nil {
		return nil, err
	}
	return e, e.begun(ctx)
}

// openEngine opens the store in dir and recovers the registry; when it
// returns, the first snapshot is there to be read.
func openEngine(ctx context.Context, dir string, agents int, record *recorder) (*engine, error) {
	log, err := wal.Open(dir, wal.Options{Logger: quiet})
	if err != nil {
		return nil, fmt.Errorf("open the store to measure: %w", err)
	}
	return newEngine(ctx, log, agents, record)
}

func newEngine(ctx context.Context, log *wal.Log, agents int, record *recorder) (*engine, error) {
	var s store.Store = log
	if record != nil {
		record.Store = log
		s = record
	}
	r, err := registrar.Open(ctx, s, engineOptions(agents))
	if err != nil {
		return nil, fmt.Errorf("open the registrar to measure: %w", err)
	}
	return &engine{r, record}, nil
}

// begun waits for the record that every opening writes, which no phase should
// have to pay for. Reading does not wait for it.
func (e *engine) begun(ctx context.Context) error {
	if _, err := e.Apply(ctx, ops.Prune{}); err != nil {
		return fmt.Errorf("begin to measure: %w", err)
	}
	return nil
}

// written is what the engine has written so far: records and bytes in them.
func (e *engine) written() (batches, bytes uint64) {
	s := e.Stats()
	return s.Records, s.Bytes
}

func (e *engine) close() error {
	if err := e.Close(); err != nil {
		return fmt.Errorf("close the registrar to measure: %w", err)
	}
	return nil
}
