package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/eaba02dc/registrar/registrar/store"
)

// The bytes on disk. Everything a store holds is written and read by this
// file, store.go (the file STORE) and witness.go (the file WITNESS).
//
//	format | since | change            | read by
//	1      | v0.1  | the first format  | all
//
// Rows in Pebble; integers in keys are big-endian, so that they sort, and in
// values little-endian:
//
//	'c' seq(8) chunk(4)  a chunk of the checkpoint that covers record seq
//	'c' seq(8) ffffffff  its trailer: the row without which there is none
//	'm' name             the store itself: "format", "history"
//	'm' "loss" n(8)      the nth loss of records that was accepted; n is 1, 2, …
//	'r' seq(8)           a record
//
// Every value of a 'c', an 'r' or a loss's row is a frame:
//
//	kind of frame(1)  CRC-32C(4)  body
//
// The checksum covers the row's key, the kind, and the body: a value under a
// wrong key is as damaged as a wrong value. It is checked before anything of
// the body is looked at. Bodies:
//
//	record   epoch(8) first(8) revision(8) count(8) digest(16) data
//	chunk    data
//	trailer  epoch(8) revision(8) count(8) digest(16) chunks(4) bytes(8) sum(4)
//	loss     history(16) from(8) quarantine(8) left(48) witnessed(48) reason
//
// left and witnessed are places: seq(8) epoch(8) revision(8) count(8)
// digest(16). The row "history" is always the history that goes on; a loss's is
// the one that ended with it. See accept.go for how the files STORE and WITNESS
// follow.
//
// chunks, bytes and sum are how many chunk rows there are, how long their data
// is in all, and the CRC-32C of it. Kinds and row prefixes are never reused
// or renumbered.
const (
	formatVersion = 1

	prefixCheckpoint = 'c'
	prefixMeta       = 'm'
	prefixRecord     = 'r'

	frameRecord  = 1
	frameChunk   = 2
	frameTrailer = 3
	frameLoss    = 4

	frameHeader   = 1 + 4
	recordFixed   = 4*8 + 16
	trailerBody   = 3*8 + 16 + 4 + 8 + 4
	markLen       = 4*8 + 16
	lossFixed     = 16 + 2*8 + 2*markLen
	recordKeyLen  = 1 + 8
	chunkKeyLen   = 1 + 8 + 4
	trailerNumber = 1<<32 - 1
)

// MaxData is the most bytes one record or one chunk of a checkpoint may hold.
const MaxData = store.MaxData

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errChecksum = errors.New("its checksum does not match its bytes")
	errShort    = errors.New("it is too short")
	errLength   = errors.New("it has another length than its format gives it")
)

func metaKey(name string) []byte { return append([]byte{prefixMeta}, name...) }

func appendRecordKey(b []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, prefixRecord), seq)
}

func appendChunkKey(b []byte, seq uint64, chunk uint32) []byte {
	b = binary.BigEndian.AppendUint64(append(b, prefixCheckpoint), seq)
	return binary.BigEndian.AppendUint32(b, chunk)
}

func recordSeq(key []byte) (uint64, error) {
	if len(key) != recordKeyLen || key[0] != prefixRecord {
		return 0, fmt.Errorf("row %x is not a record's", key)
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

func chunkNumber(key []byte) (seq uint64, chunk uint32, err error) {
	if len(key) != chunkKeyLen || key[0] != prefixCheckpoint {
		return 0, 0, fmt.Errorf("row %x is not a checkpoint's", key)
	}
	return binary.BigEndian.Uint64(key[1:]), binary.BigEndian.Uint32(key[9:]), nil
}

// seal completes a frame whose body is already in place.
func seal(key, frame []byte, kind byte) {
	frame[0] = kind
	binary.LittleEndian.PutUint32(frame[1:], frameSum(key, frame))
}

func frameSum(key, frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, frame[:1])
	return crc32.Update(sum, castagnoli, frame[frameHeader:])
}

// unseal proves a frame whole and returns its body.
func unseal(key, frame []byte, kind byte) ([]byte, error) {
	if len(frame) < frameHeader {
		return nil, errShort
	}
	if binary.LittleEndian.Uint32(frame[1:]) != frameSum(key, frame) {
		return nil, errChecksum
	}
	if frame[0] != kind {
		return nil, fmt.Errorf("its frame is of kind %d instead of %d", frame[0], kind)
	}
	return frame[frameHeader:], nil
}

func recordFrameLen(r store.Record) int { return frameHeader + recordFixed + len(r.Data) }

// putRecord writes r into key and frame, which have the lengths that
// recordKeyLen and recordFrameLen name.
func putRecord(key, frame []byte, r store.Record) {
	appendRecordKey(key[:0], r.Seq)
	body := frame[frameHeader:]
	binary.LittleEndian.PutUint64(body[0:], r.Epoch)
	binary.LittleEndian.PutUint64(body[8:], r.First)
	binary.LittleEndian.PutUint64(body[16:], r.Revision)
	binary.LittleEndian.PutUint64(body[24:], r.Count)
	copy(body[32:], r.Digest[:])
	copy(body[recordFixed:], r.Data)
	seal(key, frame, frameRecord)
}

// getRecord reads a record's row. Data stays a part of frame.
func getRecord(key, frame []byte) (store.Record, error) {
	seq, err := recordSeq(key)
	if err != nil {
		return store.Record{}, err
	}
	body, err := unseal(key, frame, frameRecord)
	if err != nil {
		return store.Record{Mark: store.Mark{Seq: seq}}, err
	}
	if len(body) < recordFixed {
		return store.Record{Mark: store.Mark{Seq: seq}}, errShort
	}
	r := store.Record{
		Mark: store.Mark{
			Seq:      seq,
			Epoch:    binary.LittleEndian.Uint64(body[0:]),
			Revision: binary.LittleEndian.Uint64(body[16:]),
			Count:    binary.LittleEndian.Uint64(body[24:]),
		},
		First: binary.LittleEndian.Uint64(body[8:]),
		Data:  body[recordFixed:],
	}
	copy(r.Digest[:], body[32:])
	return r, nil
}

// trailer ends a checkpoint and proves it whole.
type trailer struct {
	mark   store.Mark
	chunks uint32
	bytes  uint64
	sum    uint32
}

// add takes one more chunk into the account.
func (t *trailer) add(data []byte) {
	t.chunks++
	t.bytes += uint64(len(data))
	t.sum = crc32.Update(t.sum, castagnoli, data)
}

func (t trailer) frame(key []byte) []byte {
	frame := make([]byte, frameHeader, frameHeader+trailerBody)
	le := binary.LittleEndian
	frame = le.AppendUint64(frame, t.mark.Epoch)
	frame = le.AppendUint64(frame, t.mark.Revision)
	frame = le.AppendUint64(frame, t.mark.Count)
	frame = append(frame, t.mark.Digest[:]...)
	frame = le.AppendUint32(frame, t.chunks)
	frame = le.AppendUint64(frame, t.bytes)
	frame = le.AppendUint32(frame, t.sum)
	seal(key, frame, frameTrailer)
	return frame
}

func getTrailer(key, frame []byte) (trailer, error) {
	seq, _, err := chunkNumber(key)
	if err != nil {
		return trailer{}, err
	}
	t := trailer{mark: store.Mark{Seq: seq}}
	body, err := unseal(key, frame, frameTrailer)
	if err != nil {
		return t, err
	}
	if len(body) != trailerBody {
		return t, errLength
	}
	le := binary.LittleEndian
	t.mark.Epoch, t.mark.Revision, t.mark.Count = le.Uint64(body), le.Uint64(body[8:]), le.Uint64(body[16:])
	copy(t.mark.Digest[:], body[24:])
	t.chunks, t.bytes, t.sum = le.Uint32(body[40:]), le.Uint64(body[44:]), le.Uint32(body[52:])
	return t, nil
}

func appendMark(b []byte, m store.Mark) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, m.Seq)
	b = le.AppendUint64(b, m.Epoch)
	b = le.AppendUint64(b, m.Revision)
	b = le.AppendUint64(b, m.Count)
	return append(b, m.Digest[:]...)
}

// getMark reads the markLen bytes at the beginning of b.
func getMark(b []byte) (m store.Mark) {
	le := binary.LittleEndian
	m = store.Mark{Seq: le.Uint64(b), Epoch: le.Uint64(b[8:]), Revision: le.Uint64(b[16:]), Count: le.Uint64(b[24:])}
	copy(m.Digest[:], b[32:])
	return m
}

func lossKey(n uint64) []byte { return binary.BigEndian.AppendUint64(metaKey("loss"), n) }

// putLoss makes the row of the nth loss.
func putLoss(n uint64, l Loss) (key, frame []byte) {
	key = lossKey(n)
	frame = make([]byte, frameHeader, frameHeader+lossFixed+len(l.Reason))
	frame = append(frame, l.History[:]...)
	frame = binary.LittleEndian.AppendUint64(frame, l.From)
	frame = binary.LittleEndian.AppendUint64(frame, l.Quarantine)
	frame = appendMark(frame, l.Left)
	frame = appendMark(frame, l.Witnessed)
	frame = append(frame, l.Reason...)
	seal(key, frame, frameLoss)
	return key, frame
}

// getLoss reads the row of the nth loss.
func getLoss(n uint64, key, frame []byte) (l Loss, err error) {
	if string(key) != string(lossKey(n)) {
		return l, fmt.Errorf("row %x is not that of loss %d", key, n)
	}
	body, err := unseal(key, frame, frameLoss)
	if err != nil {
		return l, err
	}
	if len(body) < lossFixed {
		return l, errShort
	}
	copy(l.History[:], body)
	l.From = binary.LittleEndian.Uint64(body[16:])
	l.Quarantine = binary.LittleEndian.Uint64(body[24:])
	l.Left, l.Witnessed = getMark(body[32:]), getMark(body[32+markLen:])
	l.Reason = string(body[lossFixed:])
	return l, nil
}
