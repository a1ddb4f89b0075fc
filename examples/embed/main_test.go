package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestMain makes the test binary the program itself, called without arguments.
func TestMain(m *testing.M) {
	if os.Getenv("EMBED_ALONE") != "" {
		os.Args = os.Args[:1]
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestWithoutADirectoryItSaysHowToCallIt(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EMBED_ALONE=1")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 || string(out) != "usage: embed DIR\n" {
		t.Errorf("%v, exit code %d, printed %q", err, code, out)
	}
}

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
	if lines := bytes.Count(text, []byte("\n")); lines > 44 {
		t.Errorf("main.go has %d lines; it is to show in 44 how little it takes", lines)
	}
}
