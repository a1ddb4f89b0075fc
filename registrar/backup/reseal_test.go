package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/eaba02dc/registrar/registrar/backup"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	beginLen = 24
	frameLen = 9
	sizeLen  = 4
)

// reseal makes all checksums of a backup right, in place, as far as its frames
// can be followed.
func reseal(file []byte) { resealFrames(file, true) }

// resealFrames leaves the SHA-256 of the whole as it is, unless it is to be made
// right too.
func resealFrames(file []byte, whole bool) {
	le := binary.LittleEndian
	if len(file) < beginLen {
		return
	}
	le.PutUint32(file[20:], crc32.Checksum(file[:20], castagnoli))
	for at := beginLen; at+frameLen <= len(file); {
		end := at + frameLen + int(le.Uint32(file[at+1:]))
		if end > len(file) || end < at {
			return
		}
		body := file[at+frameLen : end]
		if whole && file[at] == 3 && len(body) == 48 {
			sum := sha256.Sum256(file[:at])
			copy(body[16:], sum[:])
		}
		le.PutUint32(file[at+5:], crc32.Update(crc32.Checksum(file[at:at+5], castagnoli), castagnoli, body))
		at = end
	}
}

// rechunk changes what is in the first chunk of a backup.
func rechunk(t *testing.T, file []byte, change func(chunk []byte)) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at, end := firstChunk(file)
	chunk, err := r.DecodeAll(file[at+sizeLen:end], nil)
	if err != nil {
		t.Fatal(err)
	}
	change(chunk)
	return withChunk(file, 2, pack(t, len(chunk), chunk))
}

// firstChunk is where its body stands.
func firstChunk(file []byte) (at, end int) {
	le := binary.LittleEndian
	at = beginLen + frameLen + int(le.Uint32(file[beginLen+1:])) + frameLen
	return at, at + int(le.Uint32(file[at-frameLen+1:]))
}

// withChunk puts another body in the place of the first chunk.
func withChunk(file []byte, kind byte, body []byte) []byte {
	at, end := firstChunk(file)
	head := append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body))), 0, 0, 0, 0)
	fresh := slices.Concat(file[:at-frameLen], head, body, file[end:])
	reseal(fresh)
	return fresh
}

// pack is the body of a chunk that is said to have so many bytes.
func pack(t *testing.T, size int, chunk []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(chunk, binary.LittleEndian.AppendUint32(nil, uint32(size)))
}

// FuzzRead reads anything, as it is and with checksums that are right. What is
// taken is written, and read, the same again.
func FuzzRead(f *testing.F) {
	file, _, _ := small(f)
	f.Add(file)
	f.Add(file[:beginLen])
	f.Fuzz(func(t *testing.T, data []byte) {
		readAgain(t, data)
		data = bytes.Clone(data)
		reseal(data)
		readAgain(t, data)
	})
}

func readAgain(t *testing.T, data []byte) {
	b, err := backup.Read(context.Background(), bytes.NewReader(data))
	if err != nil {
		return
	}
	var file bytes.Buffer
	if _, err := backup.Write(&file, b.Image, b.Made); err != nil {
		t.Fatal(err)
	}
	again, err := backup.Read(context.Background(), &file)
	if err != nil {
		t.Fatalf("what was read and written is not read: %v", err)
	}
	if again.Mark != b.Mark || again.Requests != b.Requests || !again.Made.Equal(b.Made) {
		t.Errorf("read %+v, and again %+v", b.Summary, again.Summary)
	}
}
