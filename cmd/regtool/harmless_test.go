package main

import "testing"

func TestHarmlessShowsWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"host-1.example.net":    "host-1.example.net",
		"zürich 東京":             "zürich 東京",
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"a\nb\tc\rd":            `a\nb\tc\rd`,
		"bell\a back\b del\x7f": `bell\a back\b del\x7f`,
		"c1 \u009b31m":          `c1 \u009b31m`,
		"\u202etxt.exe":         `\u202etxt.exe`, // turns the direction of writing
		"zero\u200bwidth":       `zero\u200bwidth`,
		"no\u00a0break":         `no\u00a0break`,
		"bad \xff\xfe utf8":     `bad \xff\xfe utf8`,
		"real \ufffd":           "real \ufffd",
		`C:\new`:                `C:\\new`, // not the same as a line end
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHarmlessLinesKeepsLinesAndBackslashes(t *testing.T) {
	const in = "agent \"\\x1b\" of C:\\\n\tis \x1b[2J gone"
	const want = "agent \"\\x1b\" of C:\\\n\tis \\x1b[2J gone"
	if got := harmlessLines(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
