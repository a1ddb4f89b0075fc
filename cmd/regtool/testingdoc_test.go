package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plantedBug is a row of the table in docs/testing.md: what was broken, the file,
// and the package and name of a test that caught it.
var plantedBug = regexp.MustCompile("^\\| (.+) \\(`([a-z0-9/]+\\.go)`\\) \\| `([a-z0-9/]+)` `(Test[A-Za-z0-9]+)`( \\*\\*\\+\\*\\*)? \\|\n$")

// TestTestingDocumentNamesFilesAndTestsThatAre ties the planted bugs in
// docs/testing.md to the code: every file and every test is there, no bug is
// listed twice, and the text counts them rightly.
func TestTestingDocumentNamesFilesAndTestsThatAre(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| what was broken, and where | caught by |\n|---|---|\n")
	if !found {
		t.Fatal("docs/testing.md has no table of planted bugs")
	}
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		if line == "\n" {
			break
		}
		row := plantedBug.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("not a row of the table: %s", line)
			continue
		}
		if seen[row[1]+row[2]] {
			t.Errorf("listed twice: %s", line)
		}
		seen[row[1]+row[2]] = true
		if _, err := os.Stat("../../" + row[2]); err != nil {
			t.Errorf("%s: %v", row[1], err)
		}
		if !hasTest(t, row[3], row[4]) {
			t.Errorf("%s: there is no %s in %s", row[1], row[4], row[3])
		}
	}
	if want := fmt.Sprintf("Each of these %d bugs", len(seen)); !strings.Contains(string(text), want) {
		t.Errorf("docs/testing.md does not say %q", want)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if function.Match(source) {
			return true
		}
	}
	return false
}
