package main

import (
	"bytes"
	"os"
	"testing"
)

func Example() {
	dir, err := os.MkdirTemp("", "embed")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Args = []string{"embed", dir}
	main()
	// Output:
	// recovered 0 agents
	// recovered 1 agents
}

func TestExampleIsShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 40 {
		t.Errorf("main.go has %d lines; it is to show in 40 how little it takes", lines)
	}
}
