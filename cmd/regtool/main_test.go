package main

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata/script")

// TestMain makes the test binary the tool itself, for scripts that call
// regtool, and the writer that the crash test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(crashWriterEnv); dir != "" {
		fmt.Fprintln(os.Stderr, crashWriter(dir))
		os.Exit(exitFailed)
	}
	testscript.Main(leakFree{m}, map[string]func(){"regtool": main})
}

// leakFree fails a run of tests that leaves goroutines behind.
type leakFree struct{ *testing.M }

func (m leakFree) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
