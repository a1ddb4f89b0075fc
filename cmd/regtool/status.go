package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
)

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether a master or a registry is well, and what is not",
		Long: `Status asks a running master how it is (GET /ready), or, with --dir, looks at a
registry, without reading it through: check does that. Where a process has the
registry open, it says how its storage is; how its own work goes only GET /ready
tells.
It prints the state and a line for each reason:

  latched            the engine has stopped for good: start the master again
  disk_full          nothing is added; what removes is done
  disk_low           it will soon be full
  stalled            records wait for room in the memory of the store
  background_errors  the store cannot write its tables, and tries again
  slow               records take long to become durable
  checkpoint_late    the log grows, and so does the next recovery
  witness_behind     a loss of records could go unnoticed
  checkpoint_damaged a checkpoint cannot be read, the one before is used (--dir)

It exits with 0 if all is well, and with 1 if anything is not, or if nobody
answers. docs/operations.md says what to do about each reason.`,
		Example: `  regtool status
  regtool status --master https://10.0.5.220:5050 --ca-cert ca.pem --json
  regtool status --dir /var/lib/registry`,
		Args: noArguments,
	}
	s := &statusCommand{}
	f := cmd.Flags()
	f.StringVar(&s.master, "master", "http://127.0.0.1:5050", "URL of the master")
	f.StringVar(&s.dir, "dir", "", "directory of a registry")
	cmd.MarkFlagDirname("dir")
	cmd.MarkFlagsMutuallyExclusive("dir", "master")
	f.BoolVar(&s.json, "json", false, "print JSON for programs instead of a table for people")
	s.entrance.add(f, "who asks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("dir") {
			return s.ofDir(cmd)
		}
		if err := s.entrance.validate(s.master); err != nil {
			return err
		}
		if _, err := masterURL(s.master); err != nil {
			return err
		}
		if err := s.entrance.read(); err != nil {
			return err
		}
		return s.ofMaster(cmd)
	}
	return cmd
}

type statusCommand struct {
	master, dir string
	json        bool
	entrance    entrance
}

func (s *statusCommand) ofMaster(cmd *cobra.Command) error {
	said, err := s.ask(cmd.Context())
	if err != nil {
		return err
	}
	if s.json {
		err = writeJSON(cmd.OutOrStdout(), said)
	} else {
		err = writeFacts(cmd.OutOrStdout(), masterFacts(said))
	}
	switch {
	case err != nil:
		return err
	case !said.Ready:
		return fmt.Errorf("%s is not ready: %s", s.master, said.Why)
	case said.FrozenSince != nil:
		return fmt.Errorf("%s is %s, and marks no agents unreachable", s.master, said.State)
	}
	return unwell(s.master, said.State, said.Reasons)
}

// ask gets what the master says of itself, whether it is ready or not.
func (s *statusCommand) ask(ctx context.Context) (*httpapi.Readiness, error) {
	client, err := newMasterClient(s.master, &s.entrance, 1)
	if err != nil {
		return nil, err
	}
	answer, refused := client.ask(ctx, http.MethodGet, "/ready", nil, nil)
	if refused != nil && answer.status != http.StatusServiceUnavailable {
		return nil, refused
	}
	said := new(httpapi.Readiness)
	if err := json.Unmarshal(answer.body, said); err != nil || said.State == "" {
		if refused != nil { // it recovers
			return nil, refused
		}
		return nil, fmt.Errorf("%s does not say how it is: a master of another version, or none", s.master)
	}
	return said, nil
}

// unwell is nil, or says what is not well.
func unwell(what string, state registrar.State, reasons []httpapi.ReadyReason) error {
	if len(reasons) == 0 {
		return nil
	}
	var names []string
	for _, r := range reasons {
		names = append(names, r.Name)
	}
	return fmt.Errorf("%s is %s: %s", what, state, strings.Join(names, ", "))
}

func masterFacts(r *httpapi.Readiness) []fact {
	facts := []fact{{"state", r.State}, {"ready", "yes"}}
	if !r.Ready {
		facts[1].value = "no: " + r.Why
	}
	if r.FrozenSince != nil {
		facts = append(facts, fact{"frozen", "since " + r.FrozenSince.Format(time.RFC3339)})
	}
	facts = append(facts, reasonFacts(r.Reasons)...)
	return append(facts, []fact{
		{"disk", diskText(r.DiskFreeBytes, r.DiskSizeBytes)},
		{"unsynced", fmt.Sprintf("for %s", seconds(r.OldestUnsyncedSeconds))},
		{"checkpoint", fmt.Sprintf("%s ago, %d bytes of log since", seconds(r.CheckpointAgeSeconds), r.CheckpointBehindBytes)},
		{"witness", fmt.Sprintf("%s and %s behind", seconds(r.WitnessBehindSeconds), counted(r.WitnessBehindRecords, "record"))},
		{"background errors", r.BackgroundErrors},
	}...)
}

func reasonFacts(reasons []httpapi.ReadyReason) (facts []fact) {
	for _, r := range reasons {
		facts = append(facts, fact{r.Name, r.Text})
	}
	return facts
}

func diskText(free, size uint64) string {
	if size == 0 {
		return "not known"
	}
	const mib = 1 << 20
	return fmt.Sprintf("%d MiB of %d MiB are free", free/mib, size/mib)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}
