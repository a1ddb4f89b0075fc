package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormatDocumentSaysWhatTheCodeSays compares each block of docs/format.md
// with the comments of the file that it names.
func TestFormatDocumentSaysWhatTheCodeSays(t *testing.T) {
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for part := range strings.SplitSeq(string(text), "```text ") {
		block, _, closed := strings.Cut(part, "\n```\n")
		file, want, _ := strings.Cut(block, "\n")
		if !closed || !strings.HasSuffix(file, ".go") {
			continue
		}
		blocks++
		if !strings.Contains(comments(t, file), "\n\n"+want+"\n\n") {
			t.Errorf("docs/format.md says of %s what is not there, or only a part of a paragraph:\n%s", file, want)
		}
	}
	if blocks < 7 {
		t.Errorf("docs/format.md has %d blocks out of the code", blocks)
	}
}

// comments is the text of all line comments of a file.
func comments(t *testing.T, file string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for line := range strings.Lines(string(source)) {
		text, ok := strings.CutPrefix(line, "//")
		if !ok {
			text = "\n" // a comment ends here
		}
		all.WriteString(strings.TrimPrefix(text, " "))
	}
	return all.String()
}
