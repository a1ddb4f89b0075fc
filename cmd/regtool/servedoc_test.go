package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var flagInText = regexp.MustCompile("`--([a-z-]+)`")

// TestServeDocumentHasEveryFlagOnce ties the table of settings in docs/serve.md to
// the command: every flag is in its first column, and no other.
func TestServeDocumentHasEveryFlagOnce(t *testing.T) {
	text, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| flag | default | what it does |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/serve.md has no table of flags")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var got, want []string
	for line := range strings.Lines(table) {
		for _, m := range flagInText.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			got = append(got, m[1])
		}
	}
	newServeCommand().Flags().VisitAll(func(f *pflag.Flag) { want = append(want, f.Name) })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("docs/serve.md has the flags\n%q\nserve has\n%q", got, want)
	}
}
