package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Backup is a backup that was read and proved.
type Backup struct {
	Summary
	Image *registrar.Image
}

// Read reads a backup to its end and restores it in memory. Every checksum is
// compared, the registry rebuilt and held against its count and digest, its
// invariants checked. Its errors are [*CorruptError], [ErrForeign], [ErrVersion],
// [registry.ErrVersion] of what is inside, those of in, or the end of ctx.
func Read(ctx context.Context, in io.Reader) (*Backup, error) {
	s, err := open(in)
	if err != nil {
		return nil, fmt.Errorf("read a backup: %w", err)
	}
	defer s.unpack.Close()
	image, err := registrar.LoadImage(ctx, s)
	if err == nil {
		err = errors.Join(image.Registry.Check()...)
	}
	if err != nil {
		return nil, fmt.Errorf("read a backup: %w", s.judge(err))
	}
	return &Backup{
		Summary: Summary{
			Made: s.made, History: s.history, Mark: s.mark, Requests: image.Requests(),
			Bytes: s.read, SHA256: [32]byte(s.sum.Sum(nil)),
		},
		Image: image,
	}, nil
}

// judge leaves of an error of the engine, which speaks of a store, what it means
// for a backup: bytes that are whole and do not amount to a registry are damage.
func (s *source) judge(err error) error {
	var corrupt *CorruptError
	var mismatch *registrar.MismatchError
	switch {
	case s.failed != nil:
		return s.failed
	case errors.As(err, &corrupt):
		return corrupt
	case errors.Is(err, registry.ErrVersion):
		return fmt.Errorf("what is in it was %w", registry.ErrVersion)
	case errors.As(err, &mismatch):
		got := mismatch.Got
		err = fmt.Errorf("it should hold %d entries with digest %x, and holds %d with %x", s.mark.Count, s.mark.Digest, got.Count, got.Digest)
	}
	return &CorruptError{Offset: s.read, Err: err}
}

// source reads a backup front to back. It is a [store.Store] that holds one
// checkpoint and no record, so that a registry is rebuilt from it as from any
// other.
type source struct {
	in     *bufio.Reader
	sum    hash.Hash
	read   int64
	body   bytes.Buffer // of the last frame
	chunk  []byte
	unpack *zstd.Decoder
	failed error // what kept it from reading on; not what was wrong with the bytes

	made    time.Time
	history store.HistoryID
	mark    store.Mark
	end     ending // as counted so far
}

// open reads up to the first chunk.
func open(in io.Reader) (*source, error) {
	s := &source{in: bufio.NewReaderSize(in, 64<<10), sum: sha256.New()}
	first := make([]byte, beginLen)
	n, err := s.fill(first)
	if err != nil && err != errShort {
		return nil, err
	}
	if err := checkBeginning(first[:n]); err != nil {
		return nil, err
	}
	kind, body, err := s.frame()
	if err == nil && kind != kindHead {
		err = fmt.Errorf("a frame of kind %d in place of the head", kind)
	}
	if err == nil {
		s.made, s.history, s.mark, err = getHead(body)
	}
	if err != nil {
		return nil, s.corrupt(err)
	}
	s.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(store.MaxData))
	return s, err
}

// corrupt is for what is wrong with the bytes read last; trouble with reading
// them stays what it is.
func (s *source) corrupt(err error) error {
	if s.failed != nil {
		return s.failed
	}
	return &CorruptError{Offset: s.read, Err: err}
}

// fill reads exactly so many bytes, or as many as there are; then the error is
// errShort.
func (s *source) fill(b []byte) (int, error) {
	n, err := io.ReadFull(s.in, b)
	s.read += int64(n)
	s.sum.Write(b[:n])
	switch err {
	case nil:
		return n, nil
	case io.EOF, io.ErrUnexpectedEOF:
		return n, errShort
	}
	s.failed = err
	return n, err
}

// frame reads the next frame. Its body is valid until the next.
func (s *source) frame() (kind byte, body []byte, err error) {
	head := make([]byte, frameLen)
	if _, err := s.fill(head); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(head[1:])
	if length > maxBody {
		return 0, nil, fmt.Errorf("a frame of %d bytes, more than one may have", length)
	}
	if err := s.take(int64(length)); err != nil {
		return 0, nil, err
	}
	if frameSum(head, s.body.Bytes()) != binary.LittleEndian.Uint32(head[5:]) {
		return 0, nil, errChecksum
	}
	return head[0], s.body.Bytes(), nil
}

// take reads a body, into memory that grows with what is there and not with
// what was announced.
func (s *source) take(length int64) error {
	s.body.Reset()
	n, err := io.CopyN(&s.body, s.in, length)
	s.read += n
	s.sum.Write(s.body.Bytes())
	switch err {
	case nil:
		return nil
	case io.EOF:
		return errShort
	}
	s.failed = err
	return err
}

// chunks yields what was written; the end of the backup is proved before the
// sequence ends.
func (s *source) chunks(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			chunk, err := s.next(ctx)
			if err == io.EOF || !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// next is the next chunk, or io.EOF behind the last of a whole backup.
func (s *source) next(ctx context.Context) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		s.failed = err
		return nil, err
	}
	before := [32]byte(s.sum.Sum(nil))
	kind, body, err := s.frame()
	switch {
	case err != nil:
	case kind == kindChunk:
		if err = s.inflate(body); err == nil {
			return s.counted(s.chunk), nil
		}
	case kind == kindPlain:
		if len(body) <= store.MaxData {
			return s.counted(body), nil
		}
		err = tooLarge(len(body))
	case kind == kindEnd:
		if err = s.finish(body, before); err == nil {
			return nil, io.EOF
		}
	default:
		err = fmt.Errorf("a frame of kind %d in place of a chunk", kind)
	}
	return nil, s.corrupt(err)
}

// inflate makes s.chunk out of the body of its frame.
func (s *source) inflate(body []byte) (err error) {
	if len(body) < sizeLen {
		return errShort
	}
	size, packed := int(binary.LittleEndian.Uint32(body)), body[sizeLen:]
	if size > min(store.MaxData, maxRatio*len(packed)) {
		return tooLarge(size)
	}
	s.chunk, err = s.unpack.DecodeAll(packed, s.chunk[:0])
	switch {
	case err != nil:
		return err
	case len(s.chunk) != size:
		return fmt.Errorf("a chunk of %d bytes, where %d were announced", len(s.chunk), size)
	}
	return nil
}

// counted takes a chunk into the account.
func (s *source) counted(chunk []byte) []byte {
	s.end.chunks++
	s.end.bytes += uint64(len(chunk))
	return chunk
}

func tooLarge(size int) error {
	return fmt.Errorf("a chunk of %d bytes, more than one may have", size)
}

// finish holds the end against all that was read.
func (s *source) finish(body []byte, before [32]byte) error {
	want, err := getEnding(body)
	if err != nil {
		return err
	}
	switch {
	case want.chunks != s.end.chunks || want.bytes != s.end.bytes:
		return fmt.Errorf("it has %d chunks of %d bytes, its end names %d of %d", s.end.chunks, s.end.bytes, want.chunks, want.bytes)
	case want.sum != before:
		return errContent
	}
	switch _, err := s.in.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return errTooLong
	default:
		s.failed = err
		return err
	}
}

func (s *source) Identity() store.Identity {
	return store.Identity{History: s.history, Epoch: s.mark.Epoch}
}

func (s *source) Checkpoint(ctx context.Context, _ uint64) (store.Mark, iter.Seq2[[]byte, error], error) {
	return s.mark, s.chunks(ctx), nil
}

func (s *source) Oldest() store.Mark { return s.mark }

func (s *source) Places() []store.Place { return []store.Place{{Mark: s.mark}} }

func (s *source) Records(context.Context, uint64) iter.Seq2[store.Record, error] {
	return func(func(store.Record, error) bool) {}
}

func (s *source) Append(store.Record) (func() error, error) { return nil, store.ErrReadOnly }

func (s *source) Compact(context.Context, store.Mark, iter.Seq[[]byte], uint64) error {
	return store.ErrReadOnly
}

func (s *source) Close() error { return nil }
