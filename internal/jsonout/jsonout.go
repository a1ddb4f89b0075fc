// Package jsonout appends JSON to a buffer, to the byte as a Mesos master
// writes it (RapidJSON's writer, since Mesos 1.7): no spaces, as few escapes as
// JSON allows, doubles in their shortest form and never without a point.
package jsonout

import (
	"bytes"
	"math"
	"strconv"
)

// List appends an array of what one appends for each element.
func List[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

// Bool appends true or false.
func Bool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// Int appends a whole number.
func Int(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// Uint appends a whole number.
func Uint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

// Float appends a finite double: the fewest digits that read back the same,
// ".0" behind a whole number, an exponent only from 1e21 up and below 1e-6.
func Float(b []byte, f float64) []byte {
	if n, ok := thousandths(f); ok {
		return appendThousandths(b, n)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return exponent(b, f)
	}
	first := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if bytes.IndexByte(b[first:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// thousandths is f as so many of them, if it is that and they are few enough for
// their digits to be the fewest that read back the same. Nearly all that is shown
// of a cluster is, and such a number costs a tenth.
func thousandths(f float64) (n uint64, ok bool) {
	if !(f >= 0 && f < 1e12) || math.Signbit(f) {
		return 0, false
	}
	n = uint64(math.Round(f * 1000))
	return n, float64(n)/1000 == f
}

func appendThousandths(b []byte, n uint64) []byte {
	b = append(Uint(b, n/1000), '.')
	switch n %= 1000; {
	case n%100 == 0:
		return append(b, '0'+byte(n/100))
	case n%10 == 0:
		return append(b, '0'+byte(n/100), '0'+byte(n/10%10))
	default:
		return append(b, '0'+byte(n/100), '0'+byte(n/10%10), '0'+byte(n%10))
	}
}

// exponent appends 1e21 where strconv has 1e+21, and 1e-7 for 1e-07.
func exponent(b []byte, f float64) []byte {
	digits, exponent, _ := bytes.Cut(strconv.AppendFloat(nil, f, 'e', -1, 64), []byte("e"))
	n, err := strconv.Atoi(string(exponent))
	if err != nil {
		panic("jsonout: exponent of " + string(digits)) // of strconv's own making
	}
	b = append(append(b, digits...), 'e')
	return Int(b, int64(n))
}

// String appends s in quotes. Only what JSON demands is escaped.
func String[S ~string](b []byte, s S) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	start := 0 // of what needs no escape
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch {
		case c >= ' ':
			b = append(b, '\\', c)
		case short[c] != 0:
			b = append(b, '\\', short[c])
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// short has the letter behind the backslash for control characters that have
// one.
var short = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
