package wal_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/eaba02dc/registrar/internal/storetest"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// The decoders of everything that is read from a disk. Each target takes bytes
// as they are, where next to nothing passes the checksum, and once more with a
// checksum that is right, so that what lies behind it is reached. What is
// accepted is written again as it was. A decoder allocates a copy of its input
// at most: it reads no length from it.

func FuzzGetRecord(f *testing.F) {
	key, frame := row(storetest.Rec(7, 2, 40))
	f.Add(key, frame)
	f.Add(key, frame[5:])
	f.Add(key, frame[5:20])
	f.Add(key[:3], frame[:20])
	f.Fuzz(func(t *testing.T, key, b []byte) {
		for _, frame := range [][]byte{b, wal.Sealed(key, b, wal.FrameRecord)} {
			r, err := wal.GetRecord(key, frame)
			if err != nil {
				continue
			}
			if k, v := row(r); !bytes.Equal(k, key) || !bytes.Equal(v, frame) {
				t.Fatalf("%x %x is read as %+v, which is written as %x %x", key, frame, r, k, v)
			}
		}
	})
}

func FuzzGetTrailer(f *testing.F) {
	key := wal.ChunkKey(nil, 7, 1<<32-1)
	f.Add(key, make([]byte, 56))
	f.Add(key, wal.Sealed(key, make([]byte, 56), wal.FrameTrailer))
	f.Add(key[:4], []byte("short"))
	f.Fuzz(func(t *testing.T, key, b []byte) {
		for _, frame := range [][]byte{b, wal.Sealed(key, b, wal.FrameTrailer)} {
			if again, err := wal.TrailerAgain(key, frame); err == nil && !bytes.Equal(again, frame) {
				t.Fatalf("trailer %x is written again as %x", frame, again)
			}
		}
	})
}

func FuzzGetSlot(f *testing.F) {
	slot := wal.PutSlot(store.HistoryID{1, 2}, 9, storetest.MarkAt(7, 2))
	f.Add(slot)
	f.Add(slot[12:100])
	f.Add(slot[:50])
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, slot := range [][]byte{b, wal.SlotSealed(b)} {
			again, err := wal.SlotAgain(slot)
			// Zeros fill the slot, and nobody looks at them.
			if n := len(again); err == nil && binary.LittleEndian.Uint32(slot[8:]) == 1 && !bytes.Equal(again, slot[:n]) {
				t.Fatalf("slot %x is written again as %x", slot[:n], again)
			}
		}
	})
}

func FuzzGetLoss(f *testing.F) {
	key, frame := wal.PutLoss(2, wal.Loss{
		History: store.HistoryID{3}, From: 21, Quarantine: 1, Reason: "a reason",
		Left: storetest.MarkAt(20, 1), Witnessed: storetest.MarkAt(60, 2),
	})
	f.Add(uint64(2), key, frame)
	f.Add(uint64(2), key, frame[5:])
	f.Add(uint64(1), key, frame[:30])
	f.Fuzz(func(t *testing.T, n uint64, key, b []byte) {
		for _, key := range [][]byte{key, wal.LossKey(n)} {
			for _, frame := range [][]byte{b, wal.Sealed(key, b, wal.FrameLoss)} {
				l, err := wal.GetLoss(n, key, frame)
				if err != nil {
					continue
				}
				if k, v := wal.PutLoss(n, l); !bytes.Equal(k, key) || !bytes.Equal(v, frame) {
					t.Fatalf("%x %x is read as %+v, which is written as %x %x", key, frame, l, k, v)
				}
			}
		}
	})
}

// The text of STORE is for people, and there are several ways to write a
// number: what is accepted names the same history when it is written again.
func FuzzParseStore(f *testing.F) {
	text := string(wal.StoreText(store.HistoryID{1, 2, 3}, 1))
	f.Add(text)
	f.Add(text[:len(text)-len("crc 00000000\n")])
	f.Add("registrar store\nformat 2\n")
	f.Add("registrar store\nformat 1\nhistory 00\n")
	table := crc32.MakeTable(crc32.Castagnoli)
	f.Fuzz(func(t *testing.T, b string) {
		for _, text := range []string{b, fmt.Sprintf("%scrc %08x\n", b, crc32.Checksum([]byte(b), table))} {
			h, format, err := wal.ParseStore(text)
			if err != nil {
				continue
			}
			if again, f, err := wal.ParseStore(string(wal.StoreText(h, format))); err != nil || again != h || f != format {
				t.Fatalf("%q names history %s, which is written again as %s, error %v", text, h, again, err)
			}
		}
	})
}

// TestWhatIsWrittenIsReadAgain: the other direction.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	want := wal.Loss{
		History: store.HistoryID{3}, From: 21, Quarantine: 4, Reason: "a reason",
		Left: storetest.MarkAt(20, 1), Witnessed: storetest.MarkAt(60, 2),
	}
	key, frame := wal.PutLoss(2, want)
	if got, err := wal.GetLoss(2, key, frame); err != nil || got != want {
		t.Errorf("loss is read as %+v, error %v; want %+v", got, err, want)
	}
	if _, err := wal.GetLoss(3, key, frame); err == nil {
		t.Error("the second loss is read as the third")
	}
	h := store.HistoryID{1, 2, 3}
	if got, format, err := wal.ParseStore(string(wal.StoreText(h, 1))); err != nil || got != h || format != 1 {
		t.Errorf("history is read as %s, error %v; want %s", got, err, h)
	}
	for i := range frame {
		frame[i] ^= 1
		if _, err := wal.GetLoss(2, key, frame); err == nil {
			t.Errorf("byte %d of a loss flipped, and nobody noticed", i)
		}
		frame[i] ^= 1
	}
}
