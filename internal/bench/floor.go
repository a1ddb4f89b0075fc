package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"
)

// maxFloorGroup is the most operations that one write of a floor holds.
const maxFloorGroup = 1024

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameHead is what stands before the payload of a frame: its length and its
// CRC-32C, four bytes each.
const frameHead = 8

// appendFrame appends payload and its head to buf.
func appendFrame(buf, payload []byte) []byte {
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(payload)))
	buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(payload, castagnoli))
	return append(buf, payload...)
}

// writeFloor is the floor of a writing phase: it appends data to a new file in
// that many equal parts, each framed with a CRC-32C, in one write and one
// fdatasync. It returns how long each part took.
func writeFloor(path string, data []byte, parts int) (took []time.Duration, err error) {
	f, err := createSynced(path)
	if err != nil {
		return nil, fmt.Errorf("measure the floor: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	took = make([]time.Duration, 0, parts)
	frame := make([]byte, 0, frameHead+len(data)/parts+1)
	for i := range parts {
		part := data[len(data)*i/parts : len(data)*(i+1)/parts]
		began := time.Now()
		frame = appendFrame(frame[:0], part)
		if _, err := f.Write(frame); err != nil {
			return nil, fmt.Errorf("measure the floor: %w", err)
		}
		if err := fdatasync(f); err != nil {
			return nil, fmt.Errorf("measure the floor: sync %s: %w", path, err)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// createSynced makes a file whose name is already durable, so that the first
// sync of its content pays for the content alone.
func createSynced(path string) (*os.File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Sync(), syncDir(filepath.Dir(path))); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func total(took []time.Duration) (sum time.Duration) {
	for _, d := range took {
		sum += d
	}
	return sum
}
