package registry

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// DigestVersion says how a digest is made. It changes when the input of the
// hash does, which need not be when the codec changes; digests of different
// versions cannot be compared.
const DigestVersion = 1

// Digest stands for the content of a registry: the sum, modulo 2^128, of an
// XXH3-128 hash of each entry of each table. A sum has no order, so registries
// of equal content have equal digests whatever their history, and it is kept
// up at the cost of the change alone. The input for an entry is its row
// without the revision: table, key, body (see codec.go). The digest finds
// damage and bugs; it is no defence against somebody who forges entries.
type Digest [16]byte

// String is the digest in hexadecimal, as logs, JSON and commands show it.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// sum is a Digest being added up.
type sum struct{ hi, lo uint64 }

// hashRow is the share of one entry; row starts at its table.
func hashRow(row []byte) sum {
	h := xxh3.Hash128(row)
	return sum{h.Hi, h.Lo}
}

func (s *sum) add(o sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi, _ = bits.Add64(s.hi, o.hi, carry)
}

func (s *sum) sub(o sum) {
	var borrow uint64
	s.lo, borrow = bits.Sub64(s.lo, o.lo, 0)
	s.hi, _ = bits.Sub64(s.hi, o.hi, borrow)
}

func (s sum) digest() (d Digest) {
	binary.BigEndian.PutUint64(d[:8], s.hi)
	binary.BigEndian.PutUint64(d[8:], s.lo)
	return d
}
