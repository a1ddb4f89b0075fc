package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
)

// A backup is these bytes; integers are little-endian:
//
//	"registrar backup"  version(4)  CRC-32C(4) of the 20 bytes before
//	frames, until the end of the file:
//	    kind(1)  length(4) of the body  CRC-32C(4) of kind, length and body  body
//
// This much is the same in every version, so that a backup of a newer one is told
// from a damaged one. Frames of version 1 stand in this order, and have bodies
//
//	1 head   made(8) history(16) seq(8) epoch(8) revision(8) count(8) digest(16)
//	2 chunk  size(4) of the chunk  the chunk as one frame of zstd
//	4 chunk  the chunk as it is
//	3 end    chunks(8)  bytes(8) of all of them, by their sizes
//	         SHA-256(32) of all bytes of the file before this frame
//
// made is when, in ns since 1970; history is the one of the store that was backed
// up, and seq to digest its last place, with the highest epoch that it knew.
// Chunks are those of a checkpoint, one or more of either kind. Of kind 2 none has
// more than 128 times the bytes of its zstd: what can be compressed further is of
// kind 4, so that no file asks for more than in proportion to its size.
//
// A version is never changed after its release, and all later ones read it. What
// rows of the registry and requests look like has versions of its own, inside
// the chunks.
//
//	| format | since | change   | read by |
//	|--------|-------|----------|---------|
//	| 1      | v0.1  | as above | all     |
const (
	version = 1

	magic = "registrar backup"

	kindHead  = 1
	kindChunk = 2
	kindEnd   = 3
	kindPlain = 4

	// maxRatio bounds what a byte of zstd unpacks to. Registries of agents that
	// differ in little but their names come to a tenth of it.
	maxRatio = 128

	beginLen = len(magic) + 4 + 4
	frameLen = 1 + 4 + 4
	headLen  = 8 + 16 + 4*8 + 16
	endLen   = 8 + 8 + 32
	sizeLen  = 4

	// maxBody bounds a frame: a chunk that cannot be compressed, and some room
	// for what zstd adds to it.
	maxBody = store.MaxData + store.MaxData>>8 + 1<<10
	// maxPlace is far beyond what any registry counts, and leaves room to count on.
	maxPlace = 1 << 62
)

// Version is the format that this package writes, and the newest that it reads.
const Version = version

// Why bytes are not read as a backup; test with [errors.Is].
var (
	// ErrForeign: they do not begin as a backup does.
	ErrForeign = errors.New("this is not a backup")
	// ErrVersion: the backup has a newer format than this program reads. It is
	// not damaged: use a newer program.
	ErrVersion = errors.New("the backup has a newer format than this program reads")
)

// CorruptError says that the bytes of a backup are not those that were written.
type CorruptError struct {
	// Offset is where that was noticed.
	Offset int64
	// Err is what is wrong there.
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the backup is damaged, as noticed at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

var (
	errShort    = errors.New("it ends too early")
	errTooLong  = errors.New("there are bytes behind its end")
	errChecksum = errors.New("a checksum does not match its bytes")
	errContent  = errors.New("the SHA-256 of all before is another")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// beginning is what a backup begins with.
func beginning() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// checkBeginning says what is wrong with the first bytes, of which a short file
// may have too few.
func checkBeginning(b []byte) error {
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return ErrForeign
	}
	if len(b) < beginLen {
		return &CorruptError{Offset: int64(len(b)), Err: errShort}
	}
	le, sum := binary.LittleEndian, beginLen-4
	if crc32.Checksum(b[:sum], castagnoli) != le.Uint32(b[sum:]) {
		return &CorruptError{Err: errChecksum}
	}
	switch v := le.Uint32(b[len(magic):]); {
	case v > version:
		return fmt.Errorf("%w: it has format %d, this program reads up to %d", ErrVersion, v, version)
	case v == 0:
		return &CorruptError{Err: errors.New("it has format 0, which there never was")}
	}
	return nil
}

// frameHead is what stands before a body.
func frameHead(kind byte, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	return binary.LittleEndian.AppendUint32(b, frameSum(b, body))
}

// frameSum is the checksum of a frame that begins with these bytes.
func frameSum(head, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:frameLen-4], castagnoli), castagnoli, body)
}

func putHead(made time.Time, h store.HistoryID, m store.Mark) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, uint64(made.UnixNano()))
	b = append(b, h[:]...)
	b = le.AppendUint64(b, m.Seq)
	b = le.AppendUint64(b, m.Epoch)
	b = le.AppendUint64(b, m.Revision)
	b = le.AppendUint64(b, m.Count)
	return append(b, m.Digest[:]...)
}

func getHead(b []byte) (made time.Time, h store.HistoryID, m store.Mark, err error) {
	if len(b) != headLen {
		return made, h, m, fmt.Errorf("a head of %d bytes", len(b))
	}
	le := binary.LittleEndian
	made = time.Unix(0, int64(le.Uint64(b)))
	copy(h[:], b[8:])
	m = store.Mark{Seq: le.Uint64(b[24:]), Epoch: le.Uint64(b[32:]), Revision: le.Uint64(b[40:]), Count: le.Uint64(b[48:])}
	copy(m.Digest[:], b[56:])
	if max(m.Seq, m.Epoch, m.Revision) > maxPlace {
		err = fmt.Errorf("record %d of epoch %d, revision %d is beyond all there are", m.Seq, m.Epoch, m.Revision)
	}
	return made, h, m, err
}

// ending is the body of the last frame.
type ending struct {
	chunks, bytes uint64
	sum           [32]byte
}

func (e ending) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, e.chunks)
	b = binary.LittleEndian.AppendUint64(b, e.bytes)
	return append(b, e.sum[:]...)
}

func getEnding(b []byte) (e ending, err error) {
	if len(b) != endLen {
		return e, fmt.Errorf("an end of %d bytes", len(b))
	}
	e.chunks, e.bytes = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	copy(e.sum[:], b[16:])
	return e, nil
}
