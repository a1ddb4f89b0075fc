package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const manual = "../../docs/regtool.md"

// TestManualTellsTheTruth runs every command of the console blocks of each page,
// one after another in a directory of the page's own, and holds what it prints
// against the page. There, "…" stands for text that differs from run to run. A
// page has its own port.
func TestManualTellsTheTruth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the demo and a benchmark")
	}
	path := toolDir(t) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, page := range []string{"regtool", "operations", "pods", "etcd"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("etcd"); page == "etcd" && err != nil {
				t.Skipf("this page needs etcd (Debian: apt-get install etcd-server): %v", err)
			}
			tellsTheTruth(t, "../../docs/"+page+".md", append(os.Environ(), "PATH="+path, "NO_COLOR=1"))
		})
	}
}

func tellsTheTruth(t *testing.T, page string, env []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() { endAll(filepath.Join(dir, "*.pid")) })
	commands := consoleCommands(string(text))
	if len(commands) == 0 {
		t.Fatal("it has no commands")
	}
	for _, c := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", c.line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("$ %s\n%s%v", c.line, out, err)
		}
		if !c.matches(string(out)) {
			t.Errorf("$ %s\nprints\n%s\nbut the page says\n%s", c.line, out, c.output)
		}
	}
}

// endAll ends what a page has started, should the page not have done so.
func endAll(pidFiles string) {
	names, _ := filepath.Glob(pidFiles)
	for _, name := range names {
		text, _ := os.ReadFile(name)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
}

// toolDir is a directory with this test binary in it under the name regtool.
func toolDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "regtool")); err != nil {
		t.Fatal(err)
	}
	return dir
}

type consoleCommand struct{ line, output string }

func consoleCommands(text string) []consoleCommand {
	var all []consoleCommand
	inside := false
	for line := range strings.Lines(text) {
		last := len(all) - 1
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
		case !inside:
		case isCommand:
			all = append(all, consoleCommand{line: strings.TrimSpace(command)})
		case strings.HasSuffix(all[last].line, `\`):
			all[last].line = strings.TrimSuffix(all[last].line, `\`) + strings.TrimSpace(line)
		default:
			all[last].output += line
		}
	}
	return all
}

func (c consoleCommand) matches(out string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(c.output)), "…", ".*")
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(strings.TrimSpace(out))
}

// everyCommand calls f with each command that users see.
func everyCommand(f func(cmd *cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		f(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand())
}

func TestManualShowsEveryCommand(t *testing.T) {
	var lines []string
	for _, page := range []string{manual, "../../docs/etcd.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range consoleCommands(string(text)) {
			lines = append(lines, c.line)
		}
	}
	everyCommand(func(cmd *cobra.Command) {
		if !strings.Contains(strings.Join(lines, " \n")+" ", cmd.CommandPath()+" ") && cmd.HasParent() {
			t.Errorf("the manual does not run %q", cmd.CommandPath())
		}
	})
}

func TestEveryCommandExplainsItself(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: it needs a short and a long description and an example", cmd.CommandPath())
		}
		if strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short description ends with a period", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Long, "\n") {
			if len([]rune(line)) > 80 {
				t.Errorf("%s: a line of the description is longer than 80 characters: %s", cmd.CommandPath(), line)
			}
		}
	})
}

// The shell parts of an example (pipes, redirections) end what regtool sees.
var shellParts = regexp.MustCompile(`\s[|<>&].*$`)

func TestExamplesAreCalledRightly(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			_, call, ok := strings.Cut(strings.TrimSpace(line), "regtool ")
			if !ok {
				t.Errorf("%s: example %q does not call regtool", cmd.CommandPath(), line)
				continue
			}
			if err := calledRightly(shellWords(shellParts.ReplaceAllString(call, ""))); err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
		}
	})
}

// calledRightly is run up to where the command's own work would begin.
func calledRightly(args []string) error {
	cmd, rest, err := newRootCommand().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil {
		err = cmd.ValidateRequiredFlags()
	}
	if err == nil {
		err = cmd.ValidateFlagGroups()
	}
	return err
}

var shellWord = regexp.MustCompile(`"([^"]*)"|(\S+)`)

func shellWords(line string) []string {
	var words []string
	for _, m := range shellWord.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
