package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// child is a process that a benchmark measures and ends.
type child struct {
	cmd     *exec.Cmd
	stdin   io.Writer // open until the process is gone
	stdout  *bufio.Reader
	trouble strings.Builder
}

// startChild starts a process and waits for the first line that it prints, by
// which it says that it is ready.
func startChild(cmd *exec.Cmd) (c *child, line string, err error) {
	c = &child{cmd: cmd}
	cmd.Stderr = &c.trouble
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	c.stdout = bufio.NewReader(stdout)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	if line, err = c.stdout.ReadString('\n'); err != nil {
		return nil, "", c.died("start", err)
	}
	return c, strings.TrimSpace(line), nil
}

// usage asks a process that runs [ServeMeter].
func (c *child) usage() (u usage, err error) {
	if _, err = io.WriteString(c.stdin, "\n"); err == nil {
		var line string
		if line, err = c.stdout.ReadString('\n'); err == nil {
			err = json.Unmarshal([]byte(line), &u)
		}
	}
	if err != nil {
		err = c.died("ask", err)
	}
	return u, err
}

func (c *child) died(doing string, err error) error {
	c.kill()
	return fmt.Errorf("%s %s: %w (%v): %s", doing, strings.Join(c.cmd.Args, " "), err, c.cmd.ProcessState, strings.TrimSpace(c.trouble.String()))
}

// kill ends the process as a crash would, and waits until it is gone.
func (c *child) kill() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	err := c.cmd.Process.Kill()
	var exit *exec.ExitError
	if end := c.cmd.Wait(); end != nil && !errors.As(end, &exit) {
		err = errors.Join(err, end)
	}
	return err
}
