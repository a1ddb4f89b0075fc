package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// Summary is what there is to say about a whole backup.
type Summary struct {
	// Made is when it was made, by the clock of the machine that did.
	Made time.Time
	// History is that of the store that was backed up, Mark its last place.
	History store.HistoryID
	Mark    store.Mark
	// Requests is how many requests are remembered in it.
	Requests int
	// Bytes is the length of the file, SHA256 the hash of all of it, as
	// sha256sum prints it.
	Bytes  int64
	SHA256 [32]byte
}

// Write writes a backup of an image, made now by the clock of the caller. It
// holds one chunk at a time in memory, beside the image.
func Write(w io.Writer, image *registrar.Image, made time.Time) (Summary, error) {
	out := &writer{to: w, sum: sha256.New()}
	mark := image.Mark
	mark.Epoch = max(mark.Epoch, image.Identity.Epoch)
	if err := out.image(image, mark, made); err != nil {
		return Summary{}, fmt.Errorf("write a backup: %w", err)
	}
	return Summary{
		Made: made, History: image.Identity.History, Mark: mark, Requests: image.Requests(),
		Bytes: out.n, SHA256: [32]byte(out.sum.Sum(nil)),
	}, nil
}

// writer counts and hashes what it writes.
type writer struct {
	to  io.Writer
	sum hash.Hash
	n   int64
}

func (w *writer) write(b []byte) error {
	n, err := w.to.Write(b)
	w.n += int64(n)
	w.sum.Write(b[:n])
	return err
}

func (w *writer) frame(kind byte, body []byte) error {
	if err := w.write(frameHead(kind, body)); err != nil {
		return err
	}
	return w.write(body)
}

func (w *writer) image(image *registrar.Image, mark store.Mark, made time.Time) error {
	if err := w.write(beginning()); err != nil {
		return err
	}
	if err := w.frame(kindHead, putHead(made, image.Identity.History, mark)); err != nil {
		return err
	}
	end, err := w.chunks(image)
	if err != nil {
		return err
	}
	end.sum = [32]byte(w.sum.Sum(nil))
	return w.frame(kindEnd, end.append(nil))
}

func (w *writer) chunks(image *registrar.Image) (end ending, err error) {
	// One core is enough: the others may be a master's.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return end, err
	}
	var body []byte
	for chunk := range image.Chunks() {
		body = binary.LittleEndian.AppendUint32(body[:0], uint32(len(chunk)))
		body = z.EncodeAll(chunk, body)
		kind := byte(kindChunk)
		if len(chunk) > maxRatio*(len(body)-sizeLen) {
			kind, body = kindPlain, append(body[:0], chunk...)
		}
		if err := w.frame(kind, body); err != nil {
			return end, err
		}
		end.chunks++
		end.bytes += uint64(len(chunk))
	}
	return end, nil
}
