package mesosjson

import (
	"bytes"
	"math"
	"strconv"
)

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

func appendBool(b []byte, v bool) []byte   { return strconv.AppendBool(b, v) }
func appendInt(b []byte, v int64) []byte   { return strconv.AppendInt(b, v, 10) }
func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

// appendFloat writes a finite double as a master does: the fewest digits that
// read back the same, ".0" behind a whole number, an exponent only from 1e21
// up and below 1e-6.
func appendFloat(b []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return appendExponent(b, f)
	}
	first := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !bytes.ContainsRune(b[first:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

// appendExponent writes 1e21 where strconv has 1e+21, and 1e-7 for 1e-07.
func appendExponent(b []byte, f float64) []byte {
	digits, exponent, _ := bytes.Cut(strconv.AppendFloat(nil, f, 'e', -1, 64), []byte("e"))
	n, err := strconv.Atoi(string(exponent))
	if err != nil {
		panic("mesosjson: exponent of " + string(digits)) // of strconv's own making
	}
	b = append(append(b, digits...), 'e')
	return appendInt(b, int64(n))
}

// appendString writes s in quotes. Only what JSON demands is escaped.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case short[c] != 0:
			b = append(b, '\\', short[c])
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		}
	}
	return append(b, '"')
}

// short has the letter behind the backslash for control characters that have
// one.
var short = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
