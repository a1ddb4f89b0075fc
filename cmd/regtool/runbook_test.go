package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
)

const runbook = "../../docs/operations.md"

var (
	headingLine = regexp.MustCompile("(?m)^##+ (.*)$")
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	linkInPage  = regexp.MustCompile(`\]\(([a-z/]*(?:\.md)?)#([^)]+)\)`)
)

// anchorOf is the name by which a link reaches a heading.
func anchorOf(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}

// headings are the anchors of a page.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(textOf(t, page), -1) {
		all[anchorOf(m[1])] = true
	}
	return all
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunbookHasAHeadingForEachReasonAndError: who is told one finds it.
func TestRunbookHasAHeadingForEachReasonAndError(t *testing.T) {
	there := headings(t, runbook)
	want := append(registrar.Reasons(), reasonCheckpointDamaged)
	for _, err := range []error{
		wal.ErrNotExist, wal.ErrExist, wal.ErrForeign, wal.ErrLocked, wal.ErrMoved, wal.ErrVersion,
		live.ErrNotServed, live.ErrBusy, live.ErrVersion, live.ErrSilent,
		registrar.ErrDiskFull, registrar.ErrOverloaded, registrar.ErrFailed, registrar.ErrTooLarge, registrar.ErrUnknown, registrar.ErrReplaced,
		backup.ErrVersion,
	} {
		want = append(want, err.Error())
	}
	before, _, _ := strings.Cut(live.ErrCut.Error(), ":")
	for _, heading := range append(want, before) {
		if !there[anchorOf(heading)] {
			t.Errorf("there is no heading %q", heading)
		}
	}
}

// TestLinksOfTheRunbookLeadSomewhere: to a heading of a page that is there.
func TestLinksOfTheRunbookLeadSomewhere(t *testing.T) {
	links := linkInPage.FindAllStringSubmatch(textOf(t, runbook), -1)
	if len(links) == 0 {
		t.Fatal("there are none")
	}
	for _, m := range links {
		page := runbook
		if m[1] != "" {
			page = filepath.Join(filepath.Dir(runbook), m[1])
		}
		if !headings(t, page)[m[2]] {
			t.Errorf("%s has no heading #%s", page, m[2])
		}
	}
}

var (
	warning      = regexp.MustCompile(`\.(?:Warn|Error)\("([^"]+)"`)
	quoted       = regexp.MustCompile("`([^`]+)`")
	warningTable = regexp.MustCompile(`(?m)^\| (.*) \|.*\|$`)
)

// TestRunbookExplainsEachWarning: the table of lines in the log names each that the
// source writes, and no other.
func TestRunbookExplainsEachWarning(t *testing.T) {
	_, section, _ := strings.Cut(textOf(t, runbook), "\n## Warnings in the log\n")
	var named []string
	for _, row := range warningTable.FindAllStringSubmatch(section, -1) {
		cell, _, _ := strings.Cut(row[1], " | ")
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			named = append(named, m[1])
		}
	}
	used := map[string]bool{}
	for _, line := range warnings(t) {
		i := slices.IndexFunc(named, func(name string) bool { return strings.HasPrefix(line, name) })
		if i < 0 {
			t.Errorf("it does not tell of the line %q", line)
			continue
		}
		used[named[i]] = true
	}
	for _, name := range named {
		if !used[name] {
			t.Errorf("nothing logs %q", name)
		}
	}
}

// warnings are the lines that a master can log of level WARN and ERROR.
func warnings(t *testing.T) (lines []string) {
	t.Helper()
	for _, dir := range []string{"wal", "etcdstore", "registrar", "master", "cmd/regtool"} {
		err := filepath.WalkDir("../../"+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, m := range warning.FindAllStringSubmatch(textOf(t, path), -1) {
				lines = append(lines, m[1])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) < 20 {
		t.Fatalf("only %d were found", len(lines))
	}
	return lines
}
