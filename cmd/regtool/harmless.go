package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// harmless makes s safe to print on a terminal, in one cell of a table: what
// cannot be seen (control characters, escape sequences, line ends, marks that
// turn the direction of writing, bytes that are not UTF-8) is written as Go
// writes it in a string, "\x1b". Other text stays as it is; a backslash is
// doubled, so that no two strings look the same.
func harmless(s string) string { return escapeUnless(s, unicode.IsPrint) }

// harmlessLines is harmless for a message of one or more lines: it keeps line
// ends and tabs, and a backslash stays single.
func harmlessLines(s string) string {
	return escapeUnless(s, func(r rune) bool {
		return r == '\n' || r == '\t' || unicode.IsPrint(r)
	}, '\\')
}

func escapeUnless(s string, seen func(rune) bool, keep ...rune) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case r == '\\' && len(keep) == 0:
			b.WriteString(`\\`)
		case seen(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
