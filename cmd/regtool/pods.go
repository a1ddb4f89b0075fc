package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

func newPodsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pods",
		Short: "Show what became of the pods that are defined",
		Long: `Pods asks a running master for the status of its pods and prints one a line: how
many of the instances it should have are stable, since when that is so, and what
the others are. A pod that is defined is DEGRADED until agents report that its
instances run: the master launches nothing.

With --watch it asks again each second, and prints them anew when something has
changed, until it is interrupted. The master may go away meanwhile, and come
back.

The file of --credential is YAML or JSON:

  principal: operator
  secret: the password

"regtool inspect pods" lists the definitions without a master.`,
		Example: `  regtool pods
  regtool pods --watch
  regtool pods --master https://10.0.5.220:5050 --ca-cert ca.pem --credential operator.yaml --json`,
		Args: noArguments,
	}
	p := &podsCommand{}
	f := cmd.Flags()
	f.StringVar(&p.master, "master", "http://127.0.0.1:5050", "URL of the master")
	f.BoolVar(&p.watch, "watch", false, "go on, and print them anew when something has changed")
	f.BoolVar(&p.json, "json", false, "print JSON for programs instead of a table; with --watch a document a line")
	p.entrance.add(f, "who asks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.entrance.validate(p.master); err != nil {
			return err
		}
		if _, err := masterURL(p.master); err != nil {
			return err
		}
		if err := p.entrance.read(); err != nil {
			return err
		}
		return p.run(cmd)
	}
	return cmd
}

// podsCommand shows the pods of a master.
type podsCommand struct {
	master      string
	watch, json bool
	entrance    entrance

	client *masterClient
	tag    string // of the last answer
	shown  bool   // something was printed
}

func (p *podsCommand) run(cmd *cobra.Command) (err error) {
	if p.client, err = newMasterClient(p.master, &p.entrance, 1); err != nil {
		return err
	}
	if err := p.show(cmd.Context(), cmd.OutOrStdout()); err != nil || !p.watch {
		return err
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	return p.follow(cmd, look.C)
}

// follow looks at them again and again until ctx ends, which is how one stops it.
// What goes wrong is told once, until something else does.
func (p *podsCommand) follow(cmd *cobra.Command, look <-chan time.Time) error {
	told := ""
	for ctx := cmd.Context(); ; {
		select {
		case <-look:
		case <-ctx.Done():
			return nil
		}
		err := p.show(ctx, cmd.OutOrStdout())
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			told = ""
		case err.Error() != told:
			told = err.Error()
			complain(cmd.ErrOrStderr(), cmd, told)
		}
	}
}

// show asks for the pods, and prints them unless they are as they were.
func (p *podsCommand) show(ctx context.Context, out io.Writer) error {
	header := http.Header{}
	if p.tag != "" {
		header.Set("If-None-Match", p.tag)
	}
	answer, err := p.client.ask(ctx, http.MethodGet, "/v2/pods/::status", header, nil)
	if err != nil || answer.status == http.StatusNotModified {
		return err
	}
	var pods []podStatus
	if err := json.Unmarshal(answer.body, &pods); err != nil {
		return fmt.Errorf("%s/v2/pods/::status: the answer is no list of pods: %w", p.client.master.Redacted(), err)
	}
	p.tag = answer.header.Get("ETag")
	return p.print(out, pods)
}

func (p *podsCommand) print(out io.Writer, pods []podStatus) error {
	again := p.shown
	p.shown = true
	switch {
	case p.json && p.watch:
		line, err := jsonLine(toPodStatusJSON(pods))
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		return err
	case p.json:
		return writeJSON(out, toPodStatusJSON(pods))
	}
	if again {
		between := "\n"
		if terminal(out) && os.Getenv("TERM") != "dumb" {
			between = "\x1b[H\x1b[2J" // in place of what is there
		}
		if _, err := io.WriteString(out, between); err != nil {
			return err
		}
	}
	header, rows := dropEmpty([]string{"POD", "STATUS", "STABLE", "SINCE", "OTHERS"}, podStatusRows(pods))
	return writeRows(out, header, rows)
}
