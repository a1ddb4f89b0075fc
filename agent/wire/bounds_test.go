package wire_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/agent/wire"
)

func TestRolesAreThoseOfMesos(t *testing.T) {
	for role, want := range map[string]string{
		"*": "", "a": "", "a/b-c/d.e": "", "größe": "", "a/..b": "", "**": "", long(255) + "/" + long(255): "",
		strings.Repeat("a/", 31) + "a": "",
		"":                             "is empty",
		".":                            `has a part that is "."`,
		"a/./b":                        `has a part that is "."`,
		"..":                           `has a part that is ".."`,
		"a/*":                          `has a part that is "*"`,
		"/a":                           "begins or ends with a slash",
		"a/":                           "begins or ends with a slash",
		"/":                            "begins or ends with a slash",
		"a//b":                         "has a part that is empty",
		"-":                            `has a part that begins with a dash, "-"`,
		"a/-b":                         `has a part that begins with a dash, "-b"`,
		"a b":                          `contains the character ' '`,
		"a\tb":                         `contains the character '\t'`,
		"a\x00":                        `contains the character '\x00'`,
		"a/b\x08":                      `contains the character '\b'`,
		"a\x7f":                        `contains the character '\x7f'`,
		long(256):                      "has a part of 256 bytes, at most 255 are allowed",
		strings.Repeat("a/", 32) + "a": "has 33 parts, at most 32 are allowed",
		strings.Repeat("abcd/", 205):   "has 1025 bytes, at most 1024 are allowed",
		"-" + strings.Repeat("é", 100): `has a part that begins with a dash, "-` + strings.Repeat("é", 31) + `…"`,
	} {
		info := wire.FrameworkInfo{ID: "f", Name: "n", User: "u", Roles: []string{role}}
		_, err := wire.AppendCall(nil, wire.JSON, &wire.Update{Frameworks: []wire.FrameworkInfo{info}})
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "update.frameworks[0].roles[0]: ")
		}
		if got != want {
			t.Errorf("%.40q: error is %q, want %q", role, got, want)
		}
	}
}

func TestQuotesAreShort(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		long(64):                 long(64),
		long(65):                 long(64) + "…",
		long(63) + "é":           long(63) + "…",
		strings.Repeat("é", 999): strings.Repeat("é", 32) + "…",
		"\x80" + long(99):        "\x80" + long(63) + "…",
	} {
		if got := wire.Shorten(text); got != want || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%.80q is shortened to %q, want %q", text, got, want)
		}
	}
}
