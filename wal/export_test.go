package wal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar/store"
)

// DB lets tests damage rows.
func (l *Log) DB() *pebble.DB {
	l.awaitWriting()
	return l.db
}

// EndPebble is what a failure does that Pebble cannot go on after.
func (l *Log) EndPebble(reason error) { l.watch.end(reason) }

// AwaitWriting opens the log for writing, as the first append would.
func (l *Log) AwaitWriting() error {
	l.awaitWriting()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// What tests need to make rows and slots of their own.
var (
	PutSlot        = putSlot
	RecordKey      = appendRecordKey
	ChunkKey       = appendChunkKey
	RecordKeyLen   = recordKeyLen
	RecordFrameLen = recordFrameLen
	PutRecord      = putRecord
	GetRecord      = getRecord
	Ended          = earlier
	WriteFile      = writeFile
	StoreText      = storeText
	ParseStore     = parseStore
	LossKey        = lossKey
	PutLoss        = putLoss
	GetLoss        = getLoss
	Brief          = brief
)

// The kinds of frames that hold more than data.
const (
	FrameRecord  = frameRecord
	FrameTrailer = frameTrailer
	FrameLoss    = frameLoss
)

// Sealed is a frame around body.
func Sealed(key, body []byte, kind byte) []byte {
	frame := append(make([]byte, frameHeader), body...)
	seal(key, frame, kind)
	return frame
}

// TrailerAgain reads a trailer, and writes what it read.
func TrailerAgain(key, frame []byte) ([]byte, error) {
	t, err := getTrailer(key, frame)
	return t.frame(key), err
}

// SlotAgain reads a slot of the witness, and writes what it read.
func SlotAgain(b []byte) ([]byte, error) {
	t, err := getSlot(b)
	return putSlot(t.history, t.gen, t.mark)[:slotLen], err
}

// SlotSealed is a slot of format 1 whose checksum is right; b has all but the
// magic, the format and the checksum.
func SlotSealed(b []byte) []byte {
	s := binary.LittleEndian.AppendUint32([]byte(slotMagic), 1)
	s = append(s, b...)
	return binary.LittleEndian.AppendUint32(s, crc32.Checksum(s, castagnoli))
}

// Settle notes the outcome of the sync of a record, as its wait does.
func (l *Log) Settle(m store.Mark, err error) error { return l.settle(&pending{log: l, mark: m}, err) }

// ReadWitness is the place that the witness of a store on disk vouches for.
func ReadWitness(dir string) (store.Mark, error) {
	t, err := readWitness(vfs.Default, dir)
	return t.mark, err
}

// SealChunk gives a chunk's frame the checksum of what is in it.
func SealChunk(key, frame []byte) { seal(key, frame, frameChunk) }

// GiveUp ends Pebble, as something in it would that nobody can recover from.
func (l *Log) GiveUp(reason error) { l.watch.end(reason) }

// AwaitAppender returns once the appender is done with all that was queued.
// Pebble must have ended: what it queues is no record.
func (l *Log) AwaitAppender() {
	p := &pending{applied: make(chan struct{})}
	l.appender.work <- p
	<-p.applied
}

// ApplyQueued queues records for an appender of their own before it begins,
// the one at bad with a batch that spoil made. It returns what the appender
// says of each; what Pebble took is on disk then.
func (l *Log) ApplyQueued(records []store.Record, bad int, spoil func() *pebble.Batch) (errs []error) {
	l.awaitWriting()
	a := &appender{watch: l.watch, db: l.db, work: make(chan *pending, len(records)), done: make(chan struct{})}
	queued := make([]*pending, len(records))
	for i, r := range records {
		p := &pending{log: l, mark: r.Mark, applied: make(chan struct{})}
		p.batch, p.err = a.batch(r)
		if i == bad {
			p.batch = spoil()
		}
		queued[i] = p
		a.work <- p
	}
	close(a.work)
	a.run()
	for _, p := range queued {
		if p.applyErr == nil {
			p.applyErr = p.batch.SyncWait()
		}
		errs = append(errs, p.applyErr)
	}
	return errs
}

// Held is how many tables are kept for readers of the Pebble opened for reading.
func (l *Log) Held() int {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return len(l.gate.held)
}

// HolderIn is holderIn.
var HolderIn = holderIn

// LookAtSpace asks the file system now what is free.
func (l *Log) LookAtSpace() { l.space.look() }
