package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
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

  json     one document: master, revision, digest, every agent with all that is
           known of it, in the order in which they arrived, and, if there are
           any, the keys of user tables, in order of table and key, and the
           pods that are defined, in order of their IDs
  ndjson   the agents, then the keys, then the pods, each a document on a line
           of its own; a key's is the one with a "table", a pod's with a "pod"
  mesos    what a Mesos master answers at /registrar(1)/registry; agents stand
           in the order in which they came into their state

A key or value that is not UTF-8 stands in base64; "key_encoding" and
"value_encoding" say so. A definition that is not JSON without white space
stands as a text, under "definition_text".

The mesos form has no place for keys of user tables, pods, incarnations, labels
and payloads, nor for what is known of agents that are unreachable or gone; an
agent without a port gets Mesos's default, 5051. What is dropped is told on
standard error. What import takes from such a form comes out the same. Import
reads the mesos form only: to keep a registry as it is, use backup.

Export reads only. A registry that another process has open is read through that
process; standard error says so, and at which revision.`,
		Example: `  regtool export --dir /var/lib/registry --format mesos > registry.json
  regtool export --dir /var/lib/registry --format ndjson | grep '"unreachable"'`,
		Args: noArguments,
	}
	from := readingFlags(cmd)
	format := cmd.Flags().String("format", "json", "json, ndjson or mesos")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		export := exporters[*format]
		if export == nil {
			return usagef("--format %q: there are json, ndjson and mesos", *format)
		}
		r, err := from.load(cmd)
		if err != nil {
			return err
		}
		if err := export(cmd.OutOrStdout(), r.Registry); err != nil {
			return fmt.Errorf("export %s: %w", from.place(), err)
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

// dropped counts agents of which the mesos form leaves something out, and what
// it leaves out as a whole.
type dropped struct{ incarnations, labels, payloads, descriptions, keys, pods int }

func droppedOf(reg *registry.Registry) (d dropped, err error) {
	d.pods = reg.PodsLen()
	for _, keys := range reg.Tables() {
		d.keys += keys
	}
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
	if d.keys > 0 {
		parts = append(parts, countedAs(d.keys, "key of user tables", "keys of user tables"))
	}
	if d.pods > 0 {
		parts = append(parts, counted(d.pods, "pod"))
	}
	return strings.Join(parts, ", ")
}

// exportHead is what stands before the agents in the json format.
type exportHead struct {
	Master   *masterJSON `json:"master"` // null if nobody ever led
	Revision uint64      `json:"revision"`
	Digest   string      `json:"digest"`
}

// exportJSON writes one document, agent by agent, key by key and pod by pod.
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
	out.WriteString(`,"agents":[`)
	if err := exportList(out, eachAgent(reg)); err != nil {
		return err
	}
	if hasKeys(reg) {
		out.WriteString(`,"keys":[`)
		if err := exportList(out, eachKey(reg)); err != nil {
			return err
		}
	}
	if reg.PodsLen() > 0 {
		out.WriteString(`,"pods":[`)
		if err := exportList(out, eachPod(reg)); err != nil {
			return err
		}
	}
	out.WriteString("}\n")
	return out.Flush()
}

func hasKeys(reg *registry.Registry) bool {
	for range reg.Tables() {
		return true
	}
	return false
}

// exportList writes the items of a list, one a line, and its end.
func exportList(out *bufio.Writer, items iter.Seq2[any, error]) error {
	sep, end := "\n", "]"
	err := eachLine(items, func(line []byte) error {
		out.WriteString(sep)
		sep, end = ",\n", "\n]"
		_, err := out.Write(line)
		return err
	})
	out.WriteString(end)
	return err
}

func exportNDJSON(w io.Writer, reg *registry.Registry) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for _, items := range []iter.Seq2[any, error]{eachAgent(reg), eachKey(reg), eachPod(reg)} {
		err := eachLine(items, func(line []byte) error {
			out.Write(line)
			return out.WriteByte('\n')
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// eachAgent yields the JSON form of every agent; an error is a damaged entry.
func eachAgent(reg *registry.Registry) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for e := range reg.Entries() {
			if v, err := toEntryJSON(e); !yield(v, err) {
				return
			}
		}
	}
}

// eachKey yields the JSON form of every key.
func eachKey(reg *registry.Registry) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for table := range reg.Tables() {
			for key, item := range reg.Keys(table, "") {
				if !yield(toKeyJSON(table, key, item), nil) {
					return
				}
			}
		}
	}
}

// eachPod yields the JSON form of every pod.
func eachPod(reg *registry.Registry) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for p := range reg.Pods() {
			if !yield(toPodJSON(p), nil) {
				return
			}
		}
	}
}

// eachLine calls each with every item on a line.
func eachLine(items iter.Seq2[any, error], each func([]byte) error) error {
	for v, err := range items {
		if err != nil {
			return err
		}
		line, err := jsonLine(v)
		if err != nil {
			return err
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
