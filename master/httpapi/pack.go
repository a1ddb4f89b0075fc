package httpapi

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// minPacked is the size from which an answer is worth packing.
const minPacked = 1024

// takesGzip reports whether a client asks for gzip (RFC 9110, 12.5.3), of which x-gzip
// is the older name (8.4.1.3). Of both the first counts.
func takesGzip(r *http.Request) bool {
	takes := false
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		named := name == "gzip" || name == "x-gzip"
		if !named && name != "*" {
			continue
		}
		q, is := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q=")
		v, err := strconv.ParseFloat(q, 64)
		takes = !is || err == nil && v > 0
		if named {
			return takes
		}
	}
	return takes
}

// gzipped is an answer as one member of gzip (RFC 1952): between its header and its
// trailer stand the parts, each deflated by itself and ended at a whole byte, so
// that those of leaves are packed once and then joined.
func gzipped(parts []part) []part {
	sum, size := crc32.NewIEEE(), 0
	all := make([]part, 0, len(parts)+2)
	all = append(all, part{bytes: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}}) // by the fastest method, on no system
	for _, p := range parts {
		if p.len() == 0 {
			continue
		}
		copyPart(sum, p)
		size += p.len()
		if p.of != nil {
			all = append(all, part{bytes: p.of.Packed(deflated)})
		} else {
			all = append(all, part{bytes: deflated(p.bytes)})
		}
	}
	end := []byte{1, 0, 0, 0xff, 0xff} // a last block, of nothing
	end = binary.LittleEndian.AppendUint32(end, sum.Sum32())
	return append(all, part{bytes: binary.LittleEndian.AppendUint32(end, uint32(size))})
}

// deflaters pack at the fastest level: a state is text that repeats itself, which
// it makes ten times smaller, and the others hardly more.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic("httpapi: " + err.Error()) // of our own level
	}
	return w
}}

func deflated(b []byte) []byte {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	w.Write(b) // to memory, which does not fail
	w.Flush()
	return bytes.Clone(out.Bytes())
}

// packing packs what is written, of an answer whose parts are not all there.
func packing(w io.Writer) *gzip.Writer {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic("httpapi: " + err.Error()) // of our own level
	}
	return z
}
