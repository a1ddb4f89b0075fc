package mesosjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says where the input cannot be read, and why.
type Error struct {
	Path   string // as in "slaves.slaves[12].info.port"; "" is the document
	Offset int64  // bytes of JSON read when it was noticed
	Reason string
	Err    error // the cause, if there is one
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + " ")
	}
	fmt.Fprintf(&b, "(byte %d): %s", e.Offset, e.Reason)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// maxShown is how many bytes of the input an error or a report quotes.
const maxShown = 80

// cut shortens s to what is shown, at the end of a character.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
