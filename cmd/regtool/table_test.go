package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestJSONHidesNothingAndStaysTheSame(t *testing.T) {
	const want = "zürich \x1b[2J \x7f \u009b31m \u202e \u2028 \U000e0001 <&> \\u0041 \ufffd"
	var text bytes.Buffer
	if err := writeJSON(&text, want); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q has a hidden character at %d", text.String(), i)
	}
	if !strings.Contains(text.String(), "zürich") || !strings.Contains(text.String(), `\u202e \u2028 \udb40\udc01 <&>`) {
		t.Errorf("got %s", text.String())
	}
	var got string
	if err := json.Unmarshal(text.Bytes(), &got); err != nil || got != want {
		t.Errorf("comes back as %q, %v", got, err)
	}
}

func TestTableHasNoColourWhereNobodyLooks(t *testing.T) {
	var out bytes.Buffer
	if err := writeRows(&out, []string{"ID", "HOSTNAME"}, [][]string{{"a1", "h"}, {"a2", "\x1b[1m"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "ID  HOSTNAME\na1  h\na2  \\x1b[1m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
