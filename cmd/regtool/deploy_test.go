//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

const deploy = "../../deploy/"

// unit is a unit of systemd: the values of each setting.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	settings := map[string][]string{}
	for _, line := range linesOf(t, deploy+"regtool.service") {
		if strings.HasPrefix(line, "[") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%q is no setting", line)
		}
		settings[name] = append(settings[name], value)
	}
	return settings
}

// linesOf are those of a file that are neither empty nor comments.
func linesOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// called is serve as it is called with these arguments and this environment, its
// flags set and found to be in order.
func called(t *testing.T, args, environ []string) *cobra.Command {
	t.Helper()
	root := newRootCommand()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%q: %v, %v", args, cmd.Name(), err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	if err := cmd.PreRunE(cmd, cmd.Flags().Args()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cmd
}

func TestTheUnitCallsServeRightly(t *testing.T) {
	settings := unit(t)
	command := strings.Fields(settings["ExecStart"][0])
	if command[0] != "/usr/local/bin/regtool" {
		t.Fatal(command)
	}
	i := slices.Index(command, "--config")
	if command[i+1] != "/etc/regtool/regtool.yaml" {
		t.Fatalf("settings are in %s", command[i+1])
	}
	command[i+1] = deploy + "regtool.yaml" // which is what is there
	cmd := called(t, command[1:], nil)
	value := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	for name, want := range map[string]string{
		"dir": "/var/lib/" + settings["StateDirectory"][0] + "/registry", "credentials": "/etc/regtool/credentials.yaml",
		flagReadonly: "true", flagReadwrite: "true", flagAgents: "true",
	} {
		if got := value(name); got != want {
			t.Errorf("--%s is %s, want %s", name, got, want)
		}
	}
	agents, _ := strconv.Atoi(value("max-agents"))
	others, _ := strconv.Atoi(value("max-connections"))
	if files, err := strconv.Atoi(settings["LimitNOFILE"][0]); err != nil || files < agents+others+ownFiles {
		t.Errorf("LimitNOFILE=%s, and %d are needed", settings["LimitNOFILE"], agents+others+ownFiles)
	}
	if stop, err := time.ParseDuration(settings["TimeoutStopSec"][0]); err != nil || stop <= defaultStopTimeout {
		t.Errorf("TimeoutStopSec=%s, and stopping may take %v", settings["TimeoutStopSec"], defaultStopTimeout)
	}
	if got := settings["RestartPreventExitStatus"]; !slices.Equal(got, []string{strconv.Itoa(exitUsage)}) {
		t.Errorf("no restart after %s; who was called wrongly ends with %d", got, exitUsage)
	}
	if got := settings["ExecReload"]; !slices.Equal(got, []string{"/bin/kill -HUP $MAINPID"}) {
		t.Errorf("ExecReload=%s", got)
	}
}

func TestTheUnitIsOneForSystemd(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	// The program must be there for it, and the user need not.
	text, err := os.ReadFile(deploy + "regtool.service")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "regtool.service")
	text = []byte(strings.ReplaceAll(string(text), "/usr/local/bin/regtool", filepath.Join(toolDir(t), "regtool")))
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheContainerfileBuildsWhatIsThere(t *testing.T) {
	var images, build []string
	var cmd, entry []string
	for _, line := range linesOf(t, deploy+"Containerfile") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "FROM":
			images = append(images, strings.Fields(rest)[0])
		case "COPY":
			for _, source := range strings.Fields(rest)[:len(strings.Fields(rest))-1] {
				if strings.HasPrefix(rest, "--from") {
					break
				}
				if _, err := os.Stat(filepath.Join("../..", source)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		case "RUN":
			if strings.Contains(rest, "go build") {
				build = strings.Fields(rest)
			}
		case "CMD", "ENTRYPOINT":
			list := map[string]*[]string{"CMD": &cmd, "ENTRYPOINT": &entry}[word]
			if err := json.Unmarshal([]byte(rest), list); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	if len(images) != 2 || images[0] != "docker.io/library/golang:"+version {
		t.Errorf("built in %v, and go.mod says %s", images, version)
	}
	if !slices.Contains(build, "CGO_ENABLED=0") || build[len(build)-1] != "./cmd/regtool" {
		t.Errorf("built by %v", build)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Error}}{{.}}{{end}}{{range .CgoFiles}}{{.}}{{end}}", build[len(build)-1])
	list.Dir, list.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := list.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("without C: %v: %s", err, out)
	}
	if !slices.Equal(entry, []string{"/usr/local/bin/regtool"}) {
		t.Errorf("it starts %v", entry)
	}
	called(t, cmd, []string{"REGTOOL_ADVERTISE_IP=10.0.5.220"})
}

func TestTheContainerCanBeBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an image")
	}
	for _, tool := range []string{"podman", "docker"} {
		if exec.CommandContext(t.Context(), tool, "info").Run() != nil { // it is not there, or its daemon is not
			continue
		}
		build := exec.CommandContext(t.Context(), tool, "build", "-q", "-t", "regtool-test", "-f", "deploy/Containerfile", ".")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := exec.CommandContext(t.Context(), tool, "run", "--rm", "regtool-test", "version").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	t.Skip("neither podman nor docker runs here")
}
