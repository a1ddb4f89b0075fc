package main

import (
	"context"
	"log"
	"os"
	"strings"
	"testing"
)

func Example() {
	dir, err := os.MkdirTemp("", "keys-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 { // the second round finds what the first wrote
		if err := serve(context.Background(), dir+"/registry"); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// web/1 is with w2 since revision 2
	// web/1 is with w2 since revision 4
}

// The README shows assign; it must be the one that is compiled and run.
func TestReadmeShowsTheExampleAsItIs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n// assign")
	shown, _, found := strings.Cut(rest, "```")
	if !found || !strings.HasSuffix(string(example), "// assign"+shown) {
		t.Errorf("the README shows\n%s\nwhich is not the end of main.go", shown)
	}
}
