package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eaba02dc/registrar/registry"
)

// liveFile is the floor of recovery: a raw file of frames with the live bytes
// of a registry, its entries' IDs and bodies as the engine encodes them.
type liveFile struct {
	path    string
	entries int
	bytes   int // of the payloads
	// reader has a buffer of 1 MiB that every reading uses again. With a new
	// buffer each time, the floor for the same bytes varies fourfold.
	reader *bufio.Reader
}

// Frames of this size hold many entries and fit into the reader's buffer.
const (
	liveFrame  = 64 << 10
	liveBuffer = 1 << 20
)

// writeLive writes the live bytes of r to a new file.
func writeLive(path string, r *registry.Registry) (*liveFile, error) {
	l := &liveFile{path: path, reader: bufio.NewReaderSize(nil, liveBuffer)}
	f, err := createSynced(path)
	if err != nil {
		return nil, fmt.Errorf("write the live bytes: %w", err)
	}
	err = errors.Join(l.fill(f, r), f.Sync(), f.Close())
	if err != nil {
		return nil, fmt.Errorf("write the live bytes: %w", err)
	}
	return l, nil
}

func (l *liveFile) fill(w io.Writer, r *registry.Registry) error {
	var frame, payload []byte
	for rows := range r.Chunks(liveFrame) {
		var err error
		if payload, err = l.appendEntries(payload[:0], rows); err != nil {
			return err
		}
		frame = appendFrame(frame[:0], payload)
		if _, err := w.Write(frame); err != nil {
			return err
		}
		l.bytes += len(payload)
	}
	return nil
}

// appendEntries takes the ID and the body of each row, which is what
// registry/codec.go says a group of rows is, and appends them to payload, each
// with its length before it.
func (l *liveFile) appendEntries(payload, rows []byte) ([]byte, error) {
	in := bytes.NewReader(rows)
	dec := msgpack.NewDecoder(in)
	_, err := dec.DecodeUint64() // version
	for err == nil && in.Len() > 0 {
		_, since := dec.DecodeUint64()
		_, table := dec.DecodeUint64()
		id, key := dec.DecodeString()
		body, value := dec.DecodeBytes()
		err = errors.Join(since, table, key, value)
		payload = binary.AppendUvarint(payload, uint64(len(id)))
		payload = append(payload, id...)
		payload = binary.AppendUvarint(payload, uint64(len(body)))
		payload = append(payload, body...)
		l.entries++
	}
	return payload, err
}

// recoverFloor reads the file, checks every CRC, and puts a copy of each
// entry's ID and body into a map. It returns how long that took.
func (l *liveFile) recoverFloor() (took time.Duration, err error) {
	began := time.Now()
	entries, err := l.read()
	took = time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("measure the floor of recovery: read %s: %w", l.path, err)
	}
	if len(entries) != l.entries {
		return 0, fmt.Errorf("measure the floor of recovery: %s gave %d entries, not %d", l.path, len(entries), l.entries)
	}
	return took, nil
}

func (l *liveFile) read() (map[string][]byte, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l.reader.Reset(f)
	// The map is not sized beforehand: a raw file does not say what it holds.
	entries := map[string][]byte{}
	for {
		payload, err := nextFrame(l.reader)
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		for len(payload) > 0 {
			var id, body []byte
			id, payload = cut(payload)
			body, payload = cut(payload)
			entries[string(id)] = bytes.Clone(body)
		}
	}
}

// nextFrame returns the payload of the next frame, valid until the one after
// it, and checks its CRC. At the end of the file it returns io.EOF.
func nextFrame(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(frameHead)
	if err != nil {
		if len(head) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n, sum := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	frame, err := r.Peek(frameHead + int(n))
	if err != nil {
		return nil, fmt.Errorf("a frame of %d bytes: %w", n, err)
	}
	if crc32.Checksum(frame[frameHead:], castagnoli) != sum {
		return nil, errors.New("a frame with a wrong CRC")
	}
	_, err = r.Discard(len(frame)) // the bytes stay until the next Peek
	return frame[frameHead:], err
}

// cut takes the first of the byte strings that p holds. P is covered by a CRC
// and made by appendEntries.
func cut(p []byte) (first, rest []byte) {
	n, head := binary.Uvarint(p)
	return p[head : head+int(n)], p[head+int(n):]
}
