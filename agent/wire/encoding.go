package wire

import (
	"fmt"
	"mime"
	"strconv"
	"strings"
)

// Encoding is how a record stands in bytes.
type Encoding uint8

// The encodings. Everything can be said in both.
const (
	JSON    Encoding = iota // what agents speak unless they are told otherwise
	Msgpack                 // shorter, and dearer to read and write
)

// ContentType is the media type of the encoding, as HTTP names it.
func (e Encoding) ContentType() string {
	switch e {
	case JSON:
		return "application/json"
	case Msgpack:
		return "application/msgpack"
	}
	panic(fmt.Sprintf("wire: encoding %d", e))
}

// String is the short name of the encoding, for logs.
func (e Encoding) String() string { return strings.TrimPrefix(e.ContentType(), "application/") }

// ParseContentType finds the encoding that a Content-Type header names. It
// reports false for a type that is not ours, which HTTP answers with 415.
func ParseContentType(header string) (Encoding, bool) {
	name, _, err := mime.ParseMediaType(header)
	if err != nil {
		return 0, false
	}
	for _, e := range []Encoding{JSON, Msgpack} {
		if name == e.ContentType() {
			return e, true
		}
	}
	return 0, false
}

// Negotiate finds the encoding that an Accept header likes best, and of equals
// asked, that of the request. No header accepts everything. It reports false if
// neither is acceptable, which HTTP answers with 406.
func Negotiate(accept string, asked Encoding) (Encoding, bool) {
	if strings.TrimSpace(accept) == "" {
		return asked, true
	}
	liked := [2]quality{} // by encoding
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue // of a list, what can be read counts
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		for e := range liked {
			liked[e] = liked[e].or(quality{matches(name, Encoding(e)), q})
		}
	}
	best, other := asked, JSON+Msgpack-asked
	if liked[other].q > liked[best].q {
		best = other
	}
	return best, liked[best].q > 0
}

// quality is how much a header likes an encoding, by the most exact name it has
// for it.
type quality struct {
	exact int // 0 if the header does not name it
	q     float64
}

func (a quality) or(b quality) quality {
	if b.exact > a.exact {
		return b
	}
	return a
}

func matches(name string, e Encoding) int {
	switch name {
	case e.ContentType():
		return 3
	case "application/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}
