package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrTooLong is why a record is refused that is longer than the limit of its
// [Reader]. The stream cannot go on after it.
var ErrTooLong = errors.New("record is longer than allowed")

// FieldError says which field of a record is missing or of no use, and why.
type FieldError struct {
	Field  string // as in "subscribe.tasks[3].state"; "record" is all of it
	Reason string // "is missing"
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// SyntaxError says where a record, or the line before it, cannot be read at all.
type SyntaxError struct {
	Offset int // bytes of the record, or of the line, before the place
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// Reasons that stand in many an error.
const (
	missing = "is missing"
	empty   = "is empty"
	notUTF8 = "is not valid UTF-8"
)

// Shorten returns what an error or a line of a log quotes of a text that somebody
// else has made: its first 64 bytes, up to the end of a character, and "…".
func Shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
