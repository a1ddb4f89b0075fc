package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

func TestValuesAreExactForProgramsAndHarmlessForPeople(t *testing.T) {
	for value, person := range map[string]string{
		"":                 "\n",
		"one":              "one\n",
		"one\ntwo\n":       "one\ntwo\n",
		"one\n\n":          "one\n\n",
		"\x1b[2J\xff C:\\": `\x1b[2J\xff C:\` + "\n",
	} {
		var exact, shown bytes.Buffer
		if err := writeValue(&exact, value, false); err != nil || exact.String() != value {
			t.Errorf("a program gets %q, %v; want %q", &exact, err, value)
		}
		if err := writeValue(&shown, value, true); err != nil || shown.String() != person {
			t.Errorf("a person sees %q, %v; want %q", &shown, err, person)
		}
	}
}

func TestLongValuesAreShortenedBetweenCharacters(t *testing.T) {
	for value, want := range map[string]string{
		strings.Repeat("x", 60):            strings.Repeat("x", 60),
		strings.Repeat("x", 61):            strings.Repeat("x", 60) + "…",
		strings.Repeat("x", 59) + "ü":      strings.Repeat("x", 59) + "…",
		strings.Repeat("x", 58) + "ü more": strings.Repeat("x", 58) + "ü…",
		strings.Repeat("\xbf", 99):         strings.Repeat("\xbf", 56) + "…", // no characters at all
	} {
		if got := shortened(value); got != want {
			t.Errorf("%q is shortened to %q, want %q", value, got, want)
		}
	}
}

// TestReasonsThatTheEngineRefusesOpenNothing holds the bound of the tool against
// that of the engine: the longest it lets through is taken.
func TestReasonsThatTheEngineRefusesOpenNothing(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	for _, command := range [][]string{
		{"apply", "admit", "--id", "a1"}, {"put", "jobs", "j1", "queued"}, {"delete", "jobs", "j1"},
	} {
		for reason, want := range map[string]string{
			strings.Repeat("x", maxReason+1): "--reason has 4097 bytes, at most 4096 are allowed",
			"\xff":                           "--reason is not valid UTF-8",
		} {
			code, _, stderr := call(t, t.Context(), append(command, "--dir", dir, "--reason", reason)...)
			if code != exitUsage || !strings.Contains(stderr, want) {
				t.Errorf("%v: exit code %d, stderr %q, want %q", command, code, stderr, want)
			}
		}
	}
	if after := files(t, dir); after != before {
		t.Errorf("the store was written to: it was\n%s\nand is\n%s", before, after)
	}
	for _, command := range [][]string{
		{"apply", "admit", "--id", "a1"}, {"put", "jobs", "j1", "queued"}, {"delete", "jobs", "j1"},
	} {
		code, _, stderr := call(t, t.Context(), append(command, "--dir", dir, "--reason", strings.Repeat("x", maxReason))...)
		if code != exitFine {
			t.Errorf("%v with the longest reason: exit code %d, stderr %q", command, code, stderr)
		}
	}
}

// files is the names and bytes of all files in a directory and below.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + " " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestLargestValueGoesInAndOneByteMoreIsRefused(t *testing.T) {
	dir, l := newStore(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	name := filepath.Join(t.TempDir(), "value")
	value := bytes.Repeat([]byte("v"), registry.MaxValue+1)
	put := []string{"put", "--dir", dir, "jobs", "j1", "--file", name, "--reason", "test"}
	if err := os.WriteFile(name, value, 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call(t, t.Context(), put...)
	if code != exitFailed || !strings.Contains(stderr, "more than 1048576 bytes") || files(t, dir) != before {
		t.Errorf("a byte too many: exit code %d, stderr %q", code, stderr)
	}
	if err := os.WriteFile(name, value[1:], 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call(t, t.Context(), put...); code != exitFine {
		t.Errorf("the largest value: exit code %d, stderr %q", code, stderr)
	}
	if code, stdout, _ := call(t, t.Context(), "get", "--dir", dir, "jobs", "j1"); code != exitFine || stdout != string(value[1:]) {
		t.Errorf("exit code %d, a value of %d bytes came back", code, len(stdout))
	}
}
