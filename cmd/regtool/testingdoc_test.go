package main

import (
	"os"
	"regexp"
	"testing"
)

// TestTestingDocumentNamesTestsThatAre finds every test that docs/testing.md
// names behind a planted bug in the package that it is said to be in.
func TestTestingDocumentNamesTestsThatAre(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("\\| `([a-z/]+)` `(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 20 {
		t.Fatalf("docs/testing.md names %d tests behind planted bugs", len(named))
	}
	for _, m := range named {
		files, err := os.ReadDir("../../" + m[1])
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			source, _ := os.ReadFile("../../" + m[1] + "/" + f.Name())
			found = found || regexp.MustCompile(`func `+m[2]+`\(`).Match(source)
		}
		if !found {
			t.Errorf("there is no %s in %s", m[2], m[1])
		}
	}
}
