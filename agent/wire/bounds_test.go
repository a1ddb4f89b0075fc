package wire_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/agent/wire"
)

func TestRolesAreThoseOfMesos(t *testing.T) {
	for role, want := range map[string]string{
		"*": "", "a": "", "a/b-c/d.e": "", "größe": "", "a/..b": "", "**": "", long(255) + "/" + long(255): "",
		strings.Repeat("a/", 7) + "a":  "",
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
		strings.Repeat("a/", 8) + "a":  "has 9 parts, at most 8 are allowed",
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

func TestAFrameworkIsInAThousandRolesAtMost(t *testing.T) {
	for n, want := range map[int]string{
		1000: "",
		1001: "update.frameworks[0].roles: has 1001 roles, at most 1000 are allowed",
	} {
		body := updateOf(`"frameworks":[{"id":{"value":"f"},"name":"n","user":"u","roles":["r"` + strings.Repeat(`,"r"`, n-1) + `]}]`)
		refused(t, fmt.Sprintf("%d roles read", n), want, func() error { _, err := wire.DecodeCall(wire.JSON, []byte(body)); return err })
		refused(t, fmt.Sprintf("%d roles written", n), want, func() error {
			info := wire.FrameworkInfo{ID: "f", Name: "n", User: "u", Roles: slices.Repeat([]string{"r"}, n)}
			_, err := wire.AppendCall(nil, wire.JSON, &wire.Update{Sequence: 1, Frameworks: []wire.FrameworkInfo{info}})
			return err
		})
	}
}

// refused wants an error of these words; "" is none.
func refused(t *testing.T, what, want string, do func() error) {
	t.Helper()
	got := ""
	if err := do(); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: error is %q, want %q", what, got, want)
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

// What a record becomes in memory is bounded by its own bytes.
func TestRecordsDoNotGrowInMemory(t *testing.T) {
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	packed := func(item string, n int) string {
		return string([]byte{0xdd, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + strings.Repeat(item, n)
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s":""`, strconv.FormatInt(int64(i), 36))
		}
		return "{" + b.String()[1:] + "}"
	}
	const (
		json    = `{"type":"UPDATE","sequence":1,"update":{"tasks":[{"name":"","task_id":{"value":"t"},"framework_id":{"value":"f"},"state":"",`
		msgpack = "\x83\xa4type\xa6UPDATE\xa8sequence\x01\xa6update\x81\xa1x"
		listed  = "is more than there may be: what a record lists may take 6 times its bytes in memory"
	)
	for name, test := range map[string]struct {
		encoding wire.Encoding
		of       func(n int) string // a record with n of them
		want     string
	}{
		"statuses": {
			wire.JSON, func(n int) string { return json + `"statuses":` + list(`{"state":""}`, n) + `}]}}` },
			listed,
		},
		"labels": {
			wire.JSON, func(n int) string { return subscribe(`"hostname":"h","labels":` + members(n)) },
			listed,
		},
		"nothing but false": {
			wire.Msgpack, func(n int) string { return msgpack + packed("\xc2", n) },
			"the record is more than 4 times as long in JSON",
		},
		"nothing but no bytes": {
			wire.Msgpack, func(n int) string { return msgpack + packed("\xc4\x00", n) },
			"the record is more than 4 times as long in JSON",
		},
	} {
		if _, err := wire.DecodeCall(test.encoding, []byte(test.of(300))); err != nil {
			t.Errorf("300 of %s: %v", name, err)
		}
		if _, err := wire.DecodeCall(test.encoding, []byte(test.of(46_000))); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("46000 of %s: error is %v, want %q", name, err, test.want)
		}
	}
}
