package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/eaba02dc/registrar/registrar/store"
)

// tape is the records that the engine appended in one phase, byte for byte and
// in its own groups. The bytes are in a file, not in memory, where they would
// count as the engine's heap.
type tape struct {
	path   string
	groups []int // bytes of each record, in order
	ops    int   // operations in all of them
}

// bytes is how many bytes all records have.
func (t *tape) bytes() (sum int) {
	for _, n := range t.groups {
		sum += n
	}
	return sum
}

// load reads the bytes of all records, one record behind the other.
func (t *tape) load() ([]byte, error) {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return nil, fmt.Errorf("read the recorded phase: %w", err)
	}
	if len(data) != t.bytes() {
		return nil, fmt.Errorf("read the recorded phase: %s has %d bytes, not the %d recorded", t.path, len(data), t.bytes())
	}
	return data, nil
}

// recorder is a Store that puts every record it appends onto a tape as well.
// It costs time, so it is only used in the repetition that is dropped.
type recorder struct {
	store.Store
	dir string

	mu    sync.Mutex // the engine appends on a goroutine of its own
	tape  *tape
	file  *os.File
	out   *bufio.Writer
	wrong error // why recording stopped
}

// Append records r if a phase is being recorded.
func (r *recorder) Append(rec store.Record) (func() error, error) {
	durable, err := r.Store.Append(rec)
	if err == nil {
		r.record(rec)
	}
	return durable, err
}

func (r *recorder) record(rec store.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tape == nil || r.wrong != nil {
		return
	}
	_, r.wrong = r.out.Write(rec.Data)
	r.tape.groups = append(r.tape.groups, len(rec.Data))
	r.tape.ops += int(rec.Revision - rec.First + 1)
}

// start begins the tape of a phase.
func (r *recorder) start(phase string) error {
	f, err := os.Create(filepath.Join(r.dir, phase+".tape"))
	if err != nil {
		return fmt.Errorf("record phase %s: %w", phase, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tape, r.file, r.out, r.wrong = &tape{path: f.Name()}, f, bufio.NewWriterSize(f, 1<<20), nil
	return nil
}

// stop ends the tape that start began and returns it.
func (r *recorder) stop() (*tape, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tape
	r.tape = nil
	if err := errors.Join(r.wrong, r.out.Flush(), r.file.Close()); err != nil {
		return nil, fmt.Errorf("record %s: %w", t.path, err)
	}
	return t, nil
}
