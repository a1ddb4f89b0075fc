package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show how two registries differ",
		Long: `Diff shows what must change in registry A to make it registry B: the agents that
were added, removed or changed, field by field, and what else differs. A and B
are directories, each with @REVISION behind it to take it as it was then.

It reads only, and exits with 0 also if there are differences.`,
		Example: `  regtool diff /var/lib/registry@4711 /var/lib/registry
  regtool diff backup/registry /var/lib/registry --json`,
		Args: takes(2, 2, "two registries, DIR or DIR@REVISION"),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var sides [2]*registry.Registry
		for i, arg := range args {
			s, err := loadPlace(cmd, arg)
			if err != nil {
				return err
			}
			sides[i] = s.Registry
		}
		all, err := differences(sides[0], sides[1])
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), all)
		}
		return writeRows(cmd.OutOrStdout(), []string{"CHANGE", "WHAT", "FIELD", "A", "B"}, differenceRows(all))
	}
	return cmd
}

// loadPlace loads DIR or DIR@REVISION. A directory may have an @ in its name.
func loadPlace(cmd *cobra.Command, place string) (*stored, error) {
	if _, err := os.Stat(place); err != nil {
		if i := strings.LastIndexByte(place, '@'); i >= 0 {
			revision, err := strconv.ParseUint(place[i+1:], 10, 64)
			if err != nil {
				return nil, usagef("%s: %q behind the @ is not a revision", place, place[i+1:])
			}
			return reading{dir: place[:i], at: revision}.load(cmd)
		}
	}
	return loadDir(cmd, place)
}

// difference is an entry that is not the same in both registries.
type difference struct {
	Change string                `json:"change"` // "added", "removed" or "changed"
	Table  string                `json:"table"`
	Key    string                `json:"key,omitzero"` // of agents the ID
	Of     *keyName              `json:"of,omitempty"` // of user tables
	Fields map[string]fieldSides `json:"fields"`       // what differs, by the path of the field
}

// what names the entry for people.
func (d difference) what() string {
	if d.Of != nil {
		return d.Table + " " + d.Of.table + " " + d.Of.key
	}
	return strings.TrimSpace(d.Table + " " + d.Key)
}

// fieldSides is a field's JSON on both sides; null where it is missing.
type fieldSides struct {
	A any `json:"a"`
	B any `json:"b"`
}

// differences are in the order of A, what B has beyond it behind that.
func differences(a, b *registry.Registry) ([]difference, error) {
	c := comparison{all: []difference{}}
	c.add(difference{Table: "master"}, masterSide(a), masterSide(b))
	for e := range a.Entries() {
		if other, known := b.Entry(e.ID()); !known {
			c.agents(e.ID(), &e, nil)
		} else if other != e {
			c.agents(e.ID(), &e, &other)
		}
	}
	for e := range b.Entries() {
		if _, known := a.Entry(e.ID()); !known {
			c.agents(e.ID(), nil, &e)
		}
	}
	c.keys(a, b)
	return c.all, c.err
}

// comparison gathers what differs. After an error it does nothing more.
type comparison struct {
	all []difference
	err error
}

// add compares the JSON of an entry on both sides, nil where it is not there,
// but for the fields in same: its key, and what depends on the history.
func (c *comparison) add(d difference, a, b any, same ...string) {
	if c.err != nil {
		return
	}
	d.Change = "changed"
	switch {
	case a == nil:
		d.Change = "added"
	case b == nil:
		d.Change = "removed"
	}
	inA, errA := fieldsOf(a, same)
	inB, errB := fieldsOf(b, same)
	if c.err = errors.Join(errA, errB); c.err != nil {
		c.err = fmt.Errorf("%s: %w", d.what(), c.err)
		return
	}
	d.Fields = map[string]fieldSides{}
	for path, v := range inA {
		if w, there := inB[path]; !there || w != v {
			d.Fields[path] = fieldSides{v, w}
		}
	}
	for path, w := range inB {
		if _, there := inA[path]; !there {
			d.Fields[path] = fieldSides{nil, w}
		}
	}
	if len(d.Fields) > 0 {
		c.all = append(c.all, d)
	}
}

func (c *comparison) agents(id registry.AgentID, a, b *registry.Entry) {
	c.add(difference{Table: "agents", Key: string(id)}, c.agentSide(a), c.agentSide(b), "id", "since", "agent.id")
}

func (c *comparison) agentSide(e *registry.Entry) any {
	if e == nil {
		return nil
	}
	v, err := toEntryJSON(*e)
	c.err = cmp.Or(c.err, err)
	return v
}

// keys compares the user tables.
func (c *comparison) keys(a, b *registry.Registry) {
	for table := range a.Tables() {
		for key, item := range a.Keys(table, "") {
			if other, known := b.Key(table, key); !known {
				c.key(table, key, &item, nil)
			} else if other.Value != item.Value {
				c.key(table, key, &item, &other)
			}
		}
	}
	for table := range b.Tables() {
		for key, item := range b.Keys(table, "") {
			if _, known := a.Key(table, key); !known {
				c.key(table, key, nil, &item)
			}
		}
	}
}

func (c *comparison) key(table, key string, a, b *registry.Item) {
	side := func(item *registry.Item) any {
		if item == nil {
			return nil
		}
		return toKeyJSON(table, key, *item)
	}
	name := toKeyName(table, key)
	c.add(difference{Table: "keys", Of: &name}, side(a), side(b), "table", "key", "key_encoding", "revision")
}

func masterSide(r *registry.Registry) any {
	if m, ok := r.Master(); ok {
		return toMasterJSON(m)
	}
	return nil
}

// fieldsOf is the simple values in the JSON of v, each by its path, without
// those that stand for the same on both sides.
func fieldsOf(v any, same []string) (map[string]any, error) {
	fields := map[string]any{}
	if v == nil {
		return fields, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	flatten(fields, "", tree)
	for _, path := range same {
		delete(fields, path)
	}
	return fields, nil
}

func flatten(fields map[string]any, path string, tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for name, sub := range v {
			flatten(fields, joinPath(path, name), sub)
		}
	case []any:
		for i, name := range itemNames(v) {
			flatten(fields, joinPath(path, name), v[i])
		}
	default:
		fields[path] = v
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// itemNames names the items of an array: by the name that each has of itself,
// numbered from the second of that name on, or by its place if it has none.
func itemNames(items []any) []string {
	names, seen := make([]string, len(items)), map[string]int{}
	for i, item := range items {
		names[i] = strconv.Itoa(i)
		fields, _ := item.(map[string]any)
		if name, ok := fields["name"].(string); ok {
			names[i] = name
			if seen[name]++; seen[name] > 1 {
				names[i] += "#" + strconv.Itoa(seen[name])
			}
		}
	}
	return names
}

func differenceRows(all []difference) [][]string {
	var rows [][]string
	for _, d := range all {
		what := d.what()
		if d.Change != "changed" {
			rows = append(rows, []string{d.Change, what, "", "", ""})
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(d.Fields)) {
			rows = append(rows, []string{d.Change, what, path, sideText(d.Fields[path].A), sideText(d.Fields[path].B)})
		}
	}
	return rows
}

func sideText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
