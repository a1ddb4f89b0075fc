package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar/store"
)

// witness remembers outside Pebble how far the log is durable, because Pebble
// opens without an error when the end of its log was damaged or taken away.
//
// The file holds two slots of 4 KiB, written in turn, so that a write torn by
// a crash leaves the other one. A slot:
//
//	magic(8) version(4) generation(8) history(16)
//	seq(8) epoch(8) revision(8) count(8) digest(16) CRC-32C(4), then zeros
//
// Invariant: no slot is ever ahead of what is durable in Pebble.
type witness struct {
	file    vfs.File
	history store.HistoryID
	every   time.Duration // negative: with every record
	failed  func(error)   // told of a failed write, which is never repeated

	mu      sync.Mutex // guards what follows, and is not held while the disk writes
	mark    store.Mark // durable, to be written
	reached uint64     // written.Seq
	since   time.Time  // since when it is behind; zero while it is not

	writing sync.Mutex // guards what follows, and the file
	gen     uint64
	written store.Mark
	err     error // the first failure: nothing is written after it

	kick chan struct{} // has room for one
	stop chan struct{}
	done chan struct{}
}

const (
	slotSize     = 4096
	slotLen      = 8 + 4 + 8 + 16 + markLen + 4
	slotMagic    = "regwitns"
	witnessBytes = 2 * slotSize
)

// testimony is what a witness file says.
type testimony struct {
	mark     store.Mark
	history  store.HistoryID
	gen      uint64
	badSlots []string // what is wrong with the slots that cannot be read
	absent   bool
}

// readable reports whether any slot could be read.
func (t testimony) readable() bool { return !t.absent && len(t.badSlots) < 2 }

func readWitness(f vfs.FS, dir string) (testimony, error) {
	b, err := readFile(f, f.PathJoin(dir, fileWitness), witnessBytes)
	if absent(err) {
		return testimony{absent: true}, nil
	}
	if err != nil {
		return testimony{}, fmt.Errorf("read witness of store %s: %w", dir, err)
	}
	var best testimony
	var bad []string
	for i := range 2 {
		slot := b[min(i*slotSize, len(b)):min((i+1)*slotSize, len(b))]
		t, err := getSlot(slot)
		switch {
		case errors.Is(err, ErrVersion):
			return testimony{}, fmt.Errorf("witness of store %s: %w", dir, err)
		case err != nil:
			bad = append(bad, fmt.Sprintf("slot %d: %v", i, err))
		case t.gen >= best.gen:
			best = t
		}
	}
	best.badSlots = bad
	return best, nil
}

func putSlot(history store.HistoryID, gen uint64, m store.Mark) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, slotSize)
	b = append(b, slotMagic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint64(b, gen)
	b = append(b, history[:]...)
	b = appendMark(b, m)
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return b[:slotSize]
}

func getSlot(b []byte) (testimony, error) {
	if len(b) < slotLen {
		return testimony{}, errShort
	}
	le := binary.LittleEndian
	if string(b[:8]) != slotMagic {
		return testimony{}, errors.New("it does not begin as it should")
	}
	if crc32.Checksum(b[:slotLen-4], castagnoli) != le.Uint32(b[slotLen-4:]) {
		return testimony{}, errChecksum
	}
	if v := le.Uint32(b[8:]); v > formatVersion {
		return testimony{}, fmt.Errorf("%w: it has format %d", ErrVersion, v)
	}
	t := testimony{gen: le.Uint64(b[12:])}
	copy(t.history[:], b[20:])
	t.mark = getMark(b[36:])
	return t, nil
}

// createWitness writes both slots afresh.
func createWitness(f vfs.FS, dir string, history store.HistoryID, m store.Mark) error {
	b := append(putSlot(history, 2, m), putSlot(history, 1, m)...)
	return writeFile(f, f.PathJoin(dir, fileWitness), b)
}

// openWitness takes over the file, which says t, and brings it up to m before it
// returns. No slot says more than m: else a loss was found, and accepting it
// made both slots anew (adopt).
func openWitness(f vfs.FS, dir string, history store.HistoryID, t testimony, m store.Mark, every time.Duration, failed func(error)) (*witness, error) {
	if len(t.badSlots) > 0 { // the good one must not be written over while it is the only one
		if err := replaceWitness(f, dir, history, m); err != nil {
			return nil, fmt.Errorf("write witness of store %s: %w", dir, err)
		}
		t = testimony{mark: m, gen: 2}
	}
	file, err := f.OpenReadWrite(f.PathJoin(dir, fileWitness), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("open witness of store %s: %w", dir, err)
	}
	w := &witness{
		file: file, history: history, every: every, failed: failed,
		mark: m, reached: t.mark.Seq, gen: t.gen, written: t.mark,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := w.write(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go w.run()
	return w, nil
}

// replaceWitness makes a whole file of two good slots, or changes nothing.
func replaceWitness(f vfs.FS, dir string, history store.HistoryID, m store.Mark) error {
	b := append(putSlot(history, 2, m), putSlot(history, 1, m)...)
	return replaceFile(f, dir, fileWitness, fileWitnessNew, b)
}

// advance notes that the log is durable up to m. With a negative interval it
// returns once a slot says so.
func (w *witness) advance(m store.Mark) error {
	w.mu.Lock()
	if m.Seq > w.mark.Seq {
		w.mark = m
		if w.since.IsZero() {
			w.since = time.Now()
		}
	}
	w.mu.Unlock()
	if w.every < 0 {
		return w.write()
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return nil
}

// run writes at the leading edge of a burst, then at most once in w.every; so
// the witness is full at most that long after the last record.
func (w *witness) run() {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-w.kick:
		case <-w.stop:
			return
		}
		if w.write() != nil {
			return
		}
		pause.Reset(w.every)
		select {
		case <-pause.C:
		case <-w.stop:
			return
		}
	}
}

// write brings the file up to the durable mark. Callers that wait their turn
// here are served by one write.
func (w *witness) write() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.err != nil {
		return w.err
	}
	w.mu.Lock()
	m := w.mark
	w.mu.Unlock()
	if m == w.written {
		return nil
	}
	slot := putSlot(w.history, w.gen+1, m)
	_, err := w.file.WriteAt(slot, int64((w.gen+1)%2)*slotSize)
	if err == nil {
		err = w.file.SyncData()
	}
	if err != nil {
		w.err = fmt.Errorf("write witness: %w", err)
		w.failed(w.err)
		return w.err
	}
	w.gen++
	w.written = m
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached, w.since = m.Seq, time.Time{}
	if w.mark != m {
		w.since = time.Now() // not before: what it has just written was older
	}
	return nil
}

// lag is how far it is behind what is durable. It never waits for the disk.
func (w *witness) lag() (records uint64, behind time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return 0, 0
	}
	return w.mark.Seq - w.reached, time.Since(w.since)
}

// witnessed is the mark in the file.
func (w *witness) witnessed() store.Mark {
	w.writing.Lock()
	defer w.writing.Unlock()
	return w.written
}

// close writes what is still unwritten, and releases the file.
func (w *witness) close() error {
	close(w.stop)
	<-w.done
	return errors.Join(w.write(), w.file.Close())
}
