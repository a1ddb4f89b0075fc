package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newInspectAgentsCommand(name string, state registry.State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: fmt.Sprintf("List the %s agents", state),
		Long: fmt.Sprintf(`Inspect %s lists the %s agents in order of arrival.

With --id it lists that one agent, and fails if there is none. With --filter
it lists the agents that pass: hostname=HOST, attr=NAME (has such an
attribute) or attr=NAME:VALUE. Given more than once, an agent must pass all.

What a terminal would take for a command (an agent may call itself anything)
is shown escaped: "\x1b". Use --json for the exact text.`, name, state),
		Example: fmt.Sprintf(`  regtool inspect %[1]s --dir /var/lib/registry
  regtool inspect %[1]s --dir /var/lib/registry --id a1 --json
  regtool inspect %[1]s --dir /var/lib/registry --filter hostname=host-1 --filter attr=rack`, name),
		Args: noArguments,
	}
	from, asJSON := readingFlags(cmd), jsonFlag(cmd)
	id := cmd.Flags().String("id", "", "list this agent only")
	filters := cmd.Flags().StringArray("filter", nil, "list agents that pass: hostname=HOST, attr=NAME or attr=NAME:VALUE")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		passes, err := parseFilters(*filters)
		if err != nil {
			return usagef("%w", err)
		}
		s, err := from.load(cmd)
		if err != nil {
			return err
		}
		picked, err := pick(s.Registry, state, registry.AgentID(*id), passes)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeFoundJSON(cmd.OutOrStdout(), picked)
		}
		if len(picked) == 0 { // not on stdout, where programs count lines
			complain(cmd.ErrOrStderr(), cmd, fmt.Sprintf("no %s agents", state))
			return nil
		}
		return writeFound(cmd.OutOrStdout(), picked)
	}
	return cmd
}

// found is an entry with its agent decoded.
type found struct {
	registry.Entry
	agent registry.Agent
}

// pick decodes the agents of a state that pass. An empty id means any.
func pick(r *registry.Registry, state registry.State, id registry.AgentID, passes filter) ([]found, error) {
	candidates := r.Entries(state)
	if id != "" {
		e, ok := r.Entry(id)
		if !ok {
			return nil, fmt.Errorf("agent %q is not known", id)
		}
		if e.State() != state {
			return nil, fmt.Errorf("agent %q is %v, not %v", id, e.State(), state)
		}
		candidates = slices.Values([]registry.Entry{e})
	}
	var picked []found
	for e := range candidates {
		a, err := e.Agent()
		if err != nil {
			return nil, err
		}
		if passes(a) {
			picked = append(picked, found{e, a})
		}
	}
	return picked, nil
}

func writeFoundJSON(w io.Writer, picked []found) error {
	entries := make([]entryJSON, len(picked))
	for i, f := range picked {
		entries[i] = entryAndAgentJSON(f.Entry, f.agent)
	}
	return writeJSON(w, entries)
}

func writeFound(w io.Writer, picked []found) error {
	header := []string{"ID", "HOSTNAME", "PORT", "SINCE", "AT", "DRAIN", "ATTRIBUTES", "RESOURCES", "LABELS"}
	rows := make([][]string, len(picked))
	for i, f := range picked {
		rows[i] = f.row()
	}
	header, rows = dropEmpty(header, rows)
	return writeRows(w, header, rows)
}

func (f found) row() []string {
	status, at, port := f.Status(), "", ""
	if !status.At.IsZero() {
		at = status.At.UTC().Format(time.RFC3339)
	}
	if f.agent.Port != 0 {
		port = strconv.Itoa(int(f.agent.Port))
	}
	return []string{
		string(f.ID()), f.agent.Hostname, port, strconv.FormatUint(f.Since(), 10), at, drainText(status),
		attributesText(f.agent.Attributes), resourcesText(f.agent.Resources), labelsText(f.agent.Labels),
	}
}

func drainText(s registry.Status) string {
	switch {
	case s.Drain.State != 0:
		return strings.ToLower(s.Drain.State.String())
	case s.Deactivated:
		return "deactivated"
	}
	return ""
}

// dropEmpty leaves out the columns in which no row has anything, except the
// first two: most fleets use few of them.
func dropEmpty(header []string, rows [][]string) ([]string, [][]string) {
	var keep []int
	for c := range header {
		used := c < 2
		for _, row := range rows {
			used = used || row[c] != ""
		}
		if used {
			keep = append(keep, c)
		}
	}
	choose := func(row []string) []string {
		out := make([]string, len(keep))
		for i, c := range keep {
			out[i] = row[c]
		}
		return out
	}
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = choose(row)
	}
	return choose(header), out
}
