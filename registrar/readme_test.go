package registrar_test

import (
	"os"
	"strings"
	"testing"
)

// The README shows a program; it must be the one that is compiled and run.
func TestReadmeShowsTheExampleAsItIs(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/embed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	shown, _, found := strings.Cut(rest, "```")
	if !found || !strings.HasSuffix(string(example), shown) {
		t.Errorf("the README shows\n%s\nwhich is not the end of examples/embed/main.go", shown)
	}
}

// The first two commands are the whole of what a newcomer needs.
func TestReadmeBeginsWithTheTwoCommands(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```\n")
	block, _, _ := strings.Cut(rest, "```")
	var commands []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimSpace(command))
	}
	if got, want := strings.Join(commands, "; "), "go run ./cmd/regtool demo; go test ./..."; got != want {
		t.Errorf("the README begins with %q, want %q", got, want)
	}
}
