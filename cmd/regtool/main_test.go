package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	if testing.Short() { // the others start hundreds of processes in which one goroutine does one thing
		files = slices.DeleteFunc(files, func(name string) bool { return !strings.Contains(textOf(t, name), "regtool serve") })
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", os.Getenv("GORACE")) // how long each regtool waits for races when it ends
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"hashtree":  hashTree,
			"flip":      flip,
			"freeport":  freePortFor,
			"get":       get,
			"pod":       changePod,
			"oldpebble": oldPebble,
		},
	})
}

// exits CODE COMMAND ARG... runs a command, which must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	got := 0
	var end *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &end) {
		got = end.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// hashtree DIR FILE writes the names of all files under DIR and hashes of
// their bytes to FILE, to see whether any has changed.
func hashTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hashtree dir file")
	}
	var list strings.Builder
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&list, "%s %x\n", strings.TrimPrefix(path, root), sha256.Sum256(data))
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(list.String()), 0o666))
}

// flip GLOB OFFSET turns over the bits of one byte of each file.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip glob offset")
	}
	offset, err := strconv.Atoi(args[1])
	ts.Check(err)
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file matches %s", args[0])
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		ts.Check(err)
		data[offset] ^= 0xff
		ts.Check(os.WriteFile(name, data, 0o666))
	}
}
