package etcdstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/eaba02dc/registrar/registrar/store"
)

// The keys in etcd, below the prefix. SEQ is the number of a record and N counts
// from 0, in hexadecimal digits, 16 and 8 of them, so that they sort.
//
//	format | since | change            | read by
//	1      | v0.1  | the first format  | all
//
//	store           what this is, as text: the format, the history
//	last            the last record's place
//	oldest          the place before the first record that is kept
//	record/SEQ      a record: its place, and the first part of its data
//	part/SEQ/N      the other parts of its data, written before it
//	checkpoint/SEQ  the checkpoint that covers record SEQ: without this key there
//	                is none
//	chunk/SEQ/N     the parts of its chunks, written before it
//	leader/LEASE    a candidate: the one whose key was created first leads
//
// Every value but the text and a candidate's is body and CRC-32C(4); the checksum
// covers the key below the prefix, then the body: a value under a wrong key is as
// damaged as a wrong value. Integers are little-endian. Bodies:
//
//	last, oldest  place
//	record        place first(8) parts(4) bytes(8) data
//	part, chunk   data
//	checkpoint    place parts(4) bytes(8) chunks(8)
//
// A place is seq(8) epoch(8) revision(8) count(8) digest(16). parts is how many
// keys part/ or chunk/ there are, bytes how long the data is in all, or what the
// chunks take. The parts of a checkpoint, put together, are its chunks one after
// another, each behind its length(4).
const (
	// Format is the version that this package writes, and the newest that it reads.
	Format = 1

	keyStore        = "store"
	keyLast         = "last"
	keyOldest       = "oldest"
	underRecord     = "record/"
	underPart       = "part/"
	underCheckpoint = "checkpoint/"
	underChunk      = "chunk/"
	underLeader     = "leader/"

	placeLen      = 4*8 + 16
	recordFixed   = placeLen + 8 + 4 + 8
	checkpointLen = placeLen + 4 + 8 + 8
	sumLen        = 4

	// maxPart is the most data under one key: etcd takes 1.5 MiB in a request,
	// unless it is told otherwise (--max-request-bytes).
	maxPart = 1 << 20
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errChecksum = errors.New("its checksum does not match its bytes")
	errLength   = errors.New("it has another length than its format gives it")
)

func seqKey(under string, seq uint64) string { return fmt.Sprintf("%s%016x", under, seq) }

func partKey(under string, seq uint64, n int) string {
	return fmt.Sprintf("%s%016x/%08x", under, seq, n)
}

// keySeq is the number in a key that seqKey made.
func keySeq(key, under string) (uint64, error) {
	digits, ok := strings.CutPrefix(key, under)
	seq, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || key != seqKey(under, seq) {
		return 0, fmt.Errorf("%q is no key of the registry's", key)
	}
	return seq, nil
}

// seal adds the checksum to a body.
func seal(key string, body []byte) string {
	return string(le.AppendUint32(body, sum(key, body)))
}

func sum(key string, body []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, body)
}

// unseal proves a value whole and returns its body.
func unseal(key string, value []byte) ([]byte, error) {
	if len(value) < sumLen {
		return nil, errLength
	}
	body := value[:len(value)-sumLen]
	if le.Uint32(value[len(body):]) != sum(key, body) {
		return nil, errChecksum
	}
	return body, nil
}

func appendPlace(b []byte, m store.Mark) []byte {
	for _, n := range [...]uint64{m.Seq, m.Epoch, m.Revision, m.Count} {
		b = le.AppendUint64(b, n)
	}
	return append(b, m.Digest[:]...)
}

func getPlace(b []byte) (m store.Mark) {
	m.Seq, m.Epoch, m.Revision, m.Count = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	copy(m.Digest[:], b[32:])
	return m
}

func sealPlace(key string, m store.Mark) string { return seal(key, appendPlace(nil, m)) }

func unsealPlace(key string, value []byte) (store.Mark, error) {
	body, err := unseal(key, value)
	if err == nil && len(body) != placeLen {
		err = errLength
	}
	if err != nil {
		return store.Mark{}, err
	}
	return getPlace(body), nil
}

// pieces cuts data into what goes under one key each: one piece at least.
func pieces(data []byte) [][]byte {
	cut := [][]byte{data[:min(len(data), maxPart)]}
	for rest := data[len(cut[0]):]; len(rest) > 0; {
		n := min(len(rest), maxPart)
		cut, rest = append(cut, rest[:n]), rest[n:]
	}
	return cut
}

// sealRecord is the value of a record whose data are these pieces.
func sealRecord(key string, r store.Record, cut [][]byte) string {
	b := make([]byte, 0, recordFixed+len(cut[0])+sumLen)
	b = appendPlace(b, r.Mark)
	b = le.AppendUint64(b, r.First)
	b = le.AppendUint32(b, uint32(len(cut)-1))
	b = le.AppendUint64(b, uint64(len(r.Data)))
	return seal(key, append(b, cut[0]...))
}

// recordHead is a record without the parts of its data that follow.
type recordHead struct {
	store.Record
	parts int
	bytes int
}

func unsealRecord(key string, value []byte) (h recordHead, err error) {
	seq, err := keySeq(key, underRecord)
	if err != nil {
		return h, err
	}
	b, err := unseal(key, value)
	if err != nil {
		return h, err
	}
	if len(b) < recordFixed {
		return h, errLength
	}
	h.Mark, h.First = getPlace(b), le.Uint64(b[placeLen:])
	parts, bytes := le.Uint32(b[placeLen+8:]), le.Uint64(b[placeLen+12:])
	h.Data = b[recordFixed:]
	switch {
	case h.Seq != seq:
		return h, fmt.Errorf("it says that it is record %d", h.Seq)
	case bytes > store.MaxData || int(bytes) < len(h.Data) || int(parts) != (int(bytes)-len(h.Data)+maxPart-1)/maxPart:
		return h, errLength
	}
	h.parts, h.bytes = int(parts), int(bytes)
	return h, nil
}

// trailer is what makes a checkpoint.
type trailer struct {
	store.Mark
	parts  int
	bytes  int64 // of the chunks
	chunks int64
}

func sealCheckpoint(key string, t trailer) string {
	b := appendPlace(nil, t.Mark)
	b = le.AppendUint32(b, uint32(t.parts))
	b = le.AppendUint64(b, uint64(t.bytes))
	return seal(key, le.AppendUint64(b, uint64(t.chunks)))
}

func unsealCheckpoint(key string, value []byte) (t trailer, err error) {
	seq, err := keySeq(key, underCheckpoint)
	if err != nil {
		return t, err
	}
	b, err := unseal(key, value)
	if err == nil && len(b) != checkpointLen {
		err = errLength
	}
	if err != nil {
		return t, err
	}
	t.Mark = getPlace(b)
	parts, bytes, chunks := le.Uint32(b[placeLen:]), le.Uint64(b[placeLen+4:]), le.Uint64(b[placeLen+12:])
	const beyond = 1 << 50 // more than etcd can hold
	if t.Seq != seq || bytes > beyond || chunks > beyond || int64(parts) != (int64(bytes)+4*int64(chunks)+maxPart-1)/maxPart {
		return t, errors.New("its numbers do not fit together")
	}
	t.parts, t.bytes, t.chunks = int(parts), int64(bytes), int64(chunks)
	return t, nil
}

const storeTitle = "registrar store on etcd\n"

// storeText is for people too, who find it with etcdctl.
func storeText(h store.HistoryID) string {
	s := fmt.Sprintf("%sformat %d\nhistory %v\n", storeTitle, Format, h)
	return fmt.Sprintf("%scrc %08x\n", s, crc32.Checksum([]byte(s), castagnoli))
}

// parseStore reads what storeText wrote. The format number stands before
// everything that another format may have changed.
func parseStore(text string) (h store.HistoryID, err error) {
	var format int
	if _, err := fmt.Sscanf(text, storeTitle+"format %d\n", &format); err != nil {
		return h, errors.New("it does not begin as it should")
	}
	if format > Format {
		return h, fmt.Errorf("%w: it has format %d, this program reads up to %d", ErrVersion, format, Format)
	}
	body, crc, ok := strings.Cut(text, "crc ")
	if !ok || crc != fmt.Sprintf("%08x\n", crc32.Checksum([]byte(body), castagnoli)) {
		return h, errChecksum
	}
	var id string
	if _, err := fmt.Sscanf(body, storeTitle+"format %d\nhistory %s\n", &format, &id); err != nil {
		return h, errors.New("it names no history")
	}
	return h, h.UnmarshalText([]byte(id))
}
