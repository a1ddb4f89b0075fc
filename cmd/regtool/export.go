package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
)

// exporters write a registry, by the name of the format.
var exporters = map[string]func(io.Writer, *registry.Registry) error{
	"mesos":  exportMesos,
	"json":   exportJSON,
	"ndjson": exportNDJSON,
}

func newExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a registry as JSON",
		Long: `Export writes the whole registry to standard output:

  json     one document: master, revision, digest and every agent with all that
           is known of it, in the order in which they arrived
  ndjson   the agents alone, each a document on a line of its own
  mesos    what a Mesos master answers at /registrar(1)/registry; agents stand
           in the order in which they came into their state

The mesos form has no place for incarnations, labels and payloads, nor for what
is known of agents that are unreachable or gone; an agent without a port gets
Mesos's default, 5051. What is dropped is told on standard error. What import
takes from such a form comes out the same. Import reads the mesos form only: to
keep a registry as it is, copy its directory while nothing has it open.

Export reads only. It does not open a registry that another process has open:
stop that first, or use what it offers.`,
		Example: `  regtool export --dir /var/lib/registry --format mesos > registry.json
  regtool export --dir /var/lib/registry --format ndjson | grep '"unreachable"'`,
		Args: noArguments,
	}
	dir := dirFlag(cmd)
	format := cmd.Flags().String("format", "json", "json, ndjson or mesos")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		export := exporters[*format]
		if export == nil {
			return usagef("--format %q: there are json, ndjson and mesos", *format)
		}
		r, err := loadDir(cmd, *dir)
		if err != nil {
			return err
		}
		if err := export(cmd.OutOrStdout(), r.Registry); err != nil {
			return fmt.Errorf("export %s: %w", *dir, err)
		}
		if *format != "mesos" {
			return nil
		}
		return warnOfDropped(cmd, r.Registry)
	}
	return cmd
}

func exportMesos(w io.Writer, reg *registry.Registry) error {
	if err := mesosjson.Write(w, reg); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// warnOfDropped says what the mesos form has no place for.
func warnOfDropped(cmd *cobra.Command, reg *registry.Registry) error {
	d, err := droppedOf(reg)
	if text := d.String(); err == nil && text != "" {
		complain(cmd.ErrOrStderr(), cmd, "the mesos form has no place for "+text+"; --format json has all of it")
	}
	return err
}

// dropped counts agents of which the mesos form leaves something out.
type dropped struct{ incarnations, labels, payloads, descriptions int }

func droppedOf(reg *registry.Registry) (d dropped, err error) {
	for e := range reg.Entries() {
		a, err := e.Agent()
		switch {
		case err != nil:
			return d, err
		case e.State() != registry.Admitted:
			d.descriptions += one(!reflect.DeepEqual(a, registry.Agent{ID: a.ID}))
			continue
		}
		d.incarnations += one(a.Incarnation != "")
		d.labels += one(len(a.Labels) > 0)
		d.payloads += one(len(a.Payload) > 0)
	}
	return d, nil
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (d dropped) String() string {
	var parts []string
	for _, p := range []struct {
		what string
		n    int
	}{
		{"the incarnation of %s", d.incarnations}, {"the labels of %s", d.labels}, {"the payload of %s", d.payloads},
		{"what is known of %s unreachable or gone", d.descriptions},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf(p.what, counted(p.n, "agent")))
		}
	}
	return strings.Join(parts, ", ")
}

// exportHead is what stands before the agents in the json format.
type exportHead struct {
	Master   *masterJSON `json:"master"` // null if nobody ever led
	Revision uint64      `json:"revision"`
	Digest   string      `json:"digest"`
}

// exportJSON writes one document, agent by agent.
func exportJSON(w io.Writer, reg *registry.Registry) error {
	head := exportHead{Revision: reg.Revision(), Digest: reg.Digest().String()}
	if m, ok := reg.Master(); ok {
		head.Master = toMasterJSON(m)
	}
	text, err := jsonLine(head)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	out.Write(bytes.TrimSuffix(text, []byte("}")))
	sep, end := `,"agents":[`, "]}\n"
	err = eachJSON(reg, func(line []byte) error {
		out.WriteString(sep + "\n")
		sep, end = ",", "\n]}\n"
		_, err := out.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	if sep != "," {
		out.WriteString(sep)
	}
	out.WriteString(end)
	return out.Flush()
}

func exportNDJSON(w io.Writer, reg *registry.Registry) error {
	out := bufio.NewWriterSize(w, 64<<10)
	err := eachJSON(reg, func(line []byte) error {
		out.Write(line)
		return out.WriteByte('\n')
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// eachJSON calls each with the JSON of every agent.
func eachJSON(reg *registry.Registry, each func([]byte) error) error {
	for e := range reg.Entries() {
		v, err := toEntryJSON(e)
		if err != nil {
			return err
		}
		line, err := jsonLine(v)
		if err != nil {
			return fmt.Errorf("agent %q: %w", e.ID(), err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
	return nil
}

// jsonLine is v on one line, escaped as writeJSON does it.
func jsonLine(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return escapeJSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}
