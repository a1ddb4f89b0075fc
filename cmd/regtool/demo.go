package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

const (
	demoAgents    = 10_000
	demoKillAfter = 5_000
)

func newDemoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show that a killed registry loses nothing it acknowledged",
		Long: `Demo imports the state of a cluster into a new registry, admits 10,000 more
agents from a child process, kills that process (SIGKILL) in the middle,
recovers, and proves that every acknowledged admission is there and nothing is
half done.

It works in a temporary directory, which it names. The directory is removed in
the end, unless --keep is given or something went wrong.`,
		Example: `  regtool demo
  regtool demo --keep`,
		Args: noArguments,
	}
	keep := cmd.Flags().Bool("keep", false, "keep the registry, to look at it with the other commands")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		parent, err := os.MkdirTemp("", "regtool-demo-")
		if err != nil {
			return err
		}
		d := &demo{ctx: cmd.Context(), out: cmd.OutOrStdout(), cmd: cmd, dir: filepath.Join(parent, "registry")}
		if err := d.run(*keep); err != nil {
			return d.failed(interrupted(d.ctx, err))
		}
		if *keep {
			return nil
		}
		return os.RemoveAll(parent)
	}
	return cmd
}

// demo tells one story, step by step.
type demo struct {
	ctx context.Context
	out io.Writer
	cmd *cobra.Command
	dir string
}

func (d *demo) run(keep bool) error {
	fate := "removed at the end; --keep keeps it"
	if keep {
		fate = "kept"
	}
	d.say("store", "%s (%s)", d.dir, fate)
	before, err := d.importCluster()
	if err != nil {
		return err
	}
	answered, err := d.killWriter()
	if err != nil {
		return err
	}
	if err := d.recover(before, answered); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	return d.next(keep)
}

// failed adds to err where the registry is, if there is one.
func (d *demo) failed(err error) error {
	if _, missing := os.Stat(d.dir); missing != nil {
		return errors.Join(err, os.RemoveAll(filepath.Dir(d.dir)))
	}
	return fmt.Errorf("%w; its registry is kept in %s", err, d.dir)
}

// say prints a line of the story: what step it belongs to, and what happened.
func (d *demo) say(step, format string, args ...any) {
	fmt.Fprintf(d.out, "%-9s %s\n", step, fmt.Sprintf(format, args...))
}

func (d *demo) importCluster() (*registry.Registry, error) {
	start := time.Now()
	if err := importShippedCluster(d.cmd, d.dir); err != nil {
		return nil, err
	}
	took := time.Since(start)
	s, err := loadDir(d.cmd, d.dir)
	if err != nil {
		return nil, err
	}
	admitted, unreachable, gone := s.Len(registry.Admitted), s.Len(registry.Unreachable), s.Len(registry.Gone)
	d.say("import", "a cluster of %d agents (%d admitted, %d unreachable, %d gone) in %v",
		admitted+unreachable+gone, admitted, unreachable, gone, short(took))
	return s.Registry, nil
}

// killWriter starts the writer and kills it in the middle of its work. It
// returns the IDs of all admissions that were acknowledged.
func (d *demo) killWriter() (map[registry.AgentID]bool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	writer := exec.CommandContext(d.ctx, self)
	writer.Args = []string{os.Args[0], "demo-writer", "--dir", d.dir, "--count", strconv.Itoa(demoAgents)}
	var trouble strings.Builder
	writer.Stderr = &trouble
	lines, err := writer.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := writer.Start(); err != nil {
		return nil, fmt.Errorf("start the writer: %w", err)
	}
	d.say("admit", "process %d admits %d more; it is killed after %d acknowledgements", writer.Process.Pid, demoAgents, demoKillAfter)
	answered, err := readAnswers(lines, func() { writer.Process.Kill() })
	end := writer.Wait()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read from the writer: %w", err)
	case len(answered) < demoKillAfter:
		err := fmt.Errorf("the writer ended (%v) after %d acknowledgements", end, len(answered))
		if text := strings.TrimSpace(trouble.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, err
	case len(answered) == demoAgents:
		return nil, errors.New("the writer was done before it could be killed; run the demo again")
	}
	d.say("kill", "SIGKILL: %d admissions were acknowledged, %d were under way or not begun", len(answered), demoAgents-len(answered))
	return answered, nil
}

// readAnswers reads IDs, a line each, until the writer's end of the pipe is
// closed; on the way it calls kill once. A last line without its end was cut
// off by the kill and does not count.
func readAnswers(lines io.Reader, kill func()) (map[registry.AgentID]bool, error) {
	answered := map[registry.AgentID]bool{}
	in := bufio.NewReader(lines)
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return answered, nil
		}
		if err != nil {
			return nil, err
		}
		answered[registry.AgentID(strings.TrimSuffix(line, "\n"))] = true
		if len(answered) == demoKillAfter {
			kill()
		}
	}
}

func (d *demo) recover(before *registry.Registry, answered map[registry.AgentID]bool) error {
	start := time.Now()
	r, err := openDir(d.ctx, d.dir, wal.Options{Logger: logger(d.cmd)})
	if err != nil {
		return err
	}
	defer r.Close()
	took, after := time.Since(start), r.Snapshot()
	d.say("recover", "%d entries at revision %d in %v, %d records replayed",
		after.Count(), after.Revision(), short(took), r.Recovery().Records)
	p, err := prove(before, after, answered, demoAgents)
	if err != nil {
		return err
	}
	d.say("proof", "all %d acknowledged admissions are there; of the others %d are there whole, %d not at all", p.Answered, p.Whole, p.Absent)
	d.say("", "digest %v and count %d are those of a registry that never crashed", after.Digest(), after.Count())
	start = time.Now()
	if err := admitDemoAgents(d.ctx, r, demoAgents-p.Absent, demoAgents, io.Discard); err != nil {
		return fmt.Errorf("admit the rest: %w", err)
	}
	d.say("go on", "the %d that were not there are admitted in %v", p.Absent, short(time.Since(start)))
	return r.Close()
}

func (d *demo) check() error {
	start := time.Now()
	v, err := checkDir(d.ctx, d.dir, false)
	if err != nil {
		return err
	}
	if !v.Sound {
		return fmt.Errorf("check found %d things wrong, the first: %s: %s", len(v.Findings), v.Findings[0].Place, v.Findings[0].Problem)
	}
	d.say("check", "sound: %d entries, digest %s, in %v", v.Entries, v.Digest, short(time.Since(start)))
	return nil
}

func (d *demo) next(keep bool) error {
	me := selfName()
	if !keep {
		_, err := fmt.Fprintf(d.out, "\nTry next: %s demo --keep, then inspect, apply, check and export on its store.\n", me)
		return err
	}
	_, err := fmt.Fprintf(d.out, `
Try next:
  %[1]s inspect --dir %[2]s
  %[1]s inspect agents --dir %[2]s --filter attr=rack:r007
  %[1]s apply drain --dir %[2]s --id demo-agent-000007 --grace 1h --reason "disk swap"
  %[1]s check --dir %[2]s
  rm -r %[3]s
`, me, d.dir, filepath.Dir(d.dir))
	return err
}

// selfName is what the user types to run this program: "go run" builds it in
// a directory of that name.
func selfName() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/regtool"
	}
	return "regtool"
}

// short is a duration for people: three digits are enough.
func short(d time.Duration) time.Duration {
	unit := time.Microsecond
	for unit*1000 < d {
		unit *= 10
	}
	return d.Round(unit)
}
