package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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

A field is named by its path. In a list of things that have names, the second
of a name is called name#2; a name in which that or the path could be mistaken
stands in quotes. Where all fields are the same, and yet the entry is not, as
when two attributes have changed places, "(order or encoding)" differs.

It reads only, and exits with 0 also if there are differences.`,
		Example: `  regtool diff /var/lib/registry@4711 /var/lib/registry
  regtool diff backup/registry /var/lib/registry --json`,
		Args: takes(2, 2, "two registries, DIR or DIR@REVISION"),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sides, err := loadPlaces(cmd, args)
		if err != nil {
			return err
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

// loadPlaces loads both arguments, once both are known to make sense.
func loadPlaces(cmd *cobra.Command, args []string) (sides [2]*registry.Registry, err error) {
	var places [2]reading
	for i, arg := range args {
		if places[i], err = placeOf(arg); err != nil {
			return sides, err
		}
	}
	for i, place := range places {
		s, err := place.load(cmd)
		if err != nil {
			return sides, err
		}
		sides[i] = s.Registry
	}
	return sides, nil
}

// placeOf reads DIR or DIR@REVISION. A directory may have an @ in its name.
func placeOf(arg string) (reading, error) {
	dir, text, found := arg, "", false
	if _, err := os.Stat(arg); err != nil {
		if i := strings.LastIndexByte(arg, '@'); i >= 0 {
			dir, text, found = arg[:i], arg[i+1:], true
		}
	}
	if dir == "" {
		return reading{}, usagef("%q names no directory: give DIR or DIR@REVISION", arg)
	}
	if !found {
		return reading{dir: dir}, nil
	}
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return reading{}, usagef("%s: %q behind the @ is not a revision", arg, text)
	}
	return reading{dir: dir, at: &revision}, nil
}

// difference is an entry that is not the same in both registries.
type difference struct {
	Change string                `json:"change"` // "added", "removed" or "changed"
	Table  string                `json:"table"`
	Key    string                `json:"key,omitzero"` // of agents and pods the ID
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
		c.agent(e.ID(), a, b)
	}
	for e := range b.Entries() {
		if _, known := a.Entry(e.ID()); !known {
			c.agent(e.ID(), a, b)
		}
	}
	c.keys(a, b)
	c.pods(a, b)
	return c.all, c.err
}

// side is an entry as one registry has it. Bytes decide whether it differs, its
// JSON only says in what: no way of naming fields can hide a difference.
type side struct {
	bytes string // but for its key, and what depends on the history
	json  func() (any, error)
}

// String tells sides of an entry apart that have the same JSON.
func (s *side) String() string {
	sum := sha256.Sum256([]byte(s.bytes))
	return fmt.Sprintf("%s, sha256 %x…", counted(len(s.bytes), "byte"), sum[:8])
}

// comparison gathers what differs. After an error it does nothing more.
type comparison struct {
	all []difference
	err error
}

// inNoField stands for what differs where no field does.
const inNoField = "(order or encoding)"

// add compares an entry on both sides, nil where it is not there. The fields in
// same are not in the bytes of a side either.
func (c *comparison) add(d difference, a, b *side, same ...string) {
	switch {
	case c.err != nil, a == nil && b == nil:
		return
	case a == nil:
		d.Change = "added"
	case b == nil:
		d.Change = "removed"
	case a.bytes == b.bytes:
		return
	default:
		d.Change = "changed"
	}
	inA, errA := fieldsOf(a, same)
	inB, errB := fieldsOf(b, same)
	if c.err = errors.Join(errA, errB); c.err != nil {
		c.err = fmt.Errorf("%s: %w", d.what(), c.err)
		return
	}
	d.Fields = differing(inA, inB)
	if d.Change == "changed" && len(d.Fields) == 0 {
		d.Fields[inNoField] = fieldSides{a.String(), b.String()}
	}
	c.all = append(c.all, d)
}

// differing are the fields that are not the same.
func differing(a, b map[string]any) map[string]fieldSides {
	fields := map[string]fieldSides{}
	for path, v := range a {
		if w, there := b[path]; !there || w != v {
			fields[path] = fieldSides{v, w}
		}
	}
	for path, w := range b {
		if _, there := a[path]; !there {
			fields[path] = fieldSides{nil, w}
		}
	}
	return fields
}

func (c *comparison) agent(id registry.AgentID, a, b *registry.Registry) {
	c.add(difference{Table: "agents", Key: string(id)}, agentSide(a, id), agentSide(b, id), "id", "since", "agent.id")
}

func agentSide(r *registry.Registry, id registry.AgentID) *side {
	e, known := r.Entry(id)
	if !known {
		return nil
	}
	return &side{e.Body(), func() (any, error) { return toEntryJSON(e) }}
}

// keys compares the user tables.
func (c *comparison) keys(a, b *registry.Registry) {
	for table := range a.Tables() {
		for key := range a.Keys(table, "") {
			c.key(table, key, a, b)
		}
	}
	for table := range b.Tables() {
		for key := range b.Keys(table, "") {
			if _, known := a.Key(table, key); !known {
				c.key(table, key, a, b)
			}
		}
	}
}

func (c *comparison) key(table, key string, a, b *registry.Registry) {
	name := toKeyName(table, key)
	c.add(difference{Table: "keys", Of: &name}, keySide(a, table, key), keySide(b, table, key),
		"table", "key", "key_encoding", "revision")
}

func keySide(r *registry.Registry, table, key string) *side {
	item, known := r.Key(table, key)
	if !known {
		return nil
	}
	return &side{item.Value, func() (any, error) { return toKeyJSON(table, key, item), nil }}
}

// pods compares the pods that are defined.
func (c *comparison) pods(a, b *registry.Registry) {
	for p := range a.Pods() {
		c.pod(p.ID, a, b)
	}
	for p := range b.Pods() {
		if _, known := a.Pod(p.ID); !known {
			c.pod(p.ID, a, b)
		}
	}
}

func (c *comparison) pod(id string, a, b *registry.Registry) {
	c.add(difference{Table: "pods", Key: id}, podSide(a, id), podSide(b, id), "pod", "revision")
}

func podSide(r *registry.Registry, id string) *side {
	p, known := r.Pod(id)
	if !known {
		return nil
	}
	text := p.Version.Format(time.RFC3339Nano) + " " + string(p.Definition)
	return &side{text, func() (any, error) { return toPodJSON(p), nil }}
}

func masterSide(r *registry.Registry) *side {
	m, known := r.Master()
	if !known {
		return nil
	}
	return &side{fmt.Sprintf("%#v", m), func() (any, error) { return toMasterJSON(m), nil }}
}

// fieldsOf is the simple values in the JSON of a side, each by its path, without
// those that stand for the same on both sides.
func fieldsOf(s *side, same []string) (map[string]any, error) {
	fields := map[string]any{}
	if s == nil {
		return fields, nil
	}
	v, err := s.json()
	if err != nil {
		return nil, err
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

// flatten gives every simple value of the tree a path of its own.
func flatten(fields map[string]any, path string, tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for name, sub := range v {
			flatten(fields, joinPath(path, fieldName(name)), sub)
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

// fieldName is how a name stands in a path: in quotes if it could be taken for
// something else there, such as two names, a place in a list, or a numbered name.
func fieldName(name string) string {
	if strings.Trim(name, "0123456789") == "" || strings.ContainsAny(name, `.#"`) {
		return strconv.Quote(name)
	}
	return name
}

// itemNames names the items of an array: by the name that each has of itself,
// numbered from the second of that name on, or by its place if it has none.
func itemNames(items []any) []string {
	names, seen := make([]string, len(items)), map[string]int{}
	for i, item := range items {
		names[i] = strconv.Itoa(i)
		fields, _ := item.(map[string]any)
		if name, ok := fields["name"].(string); ok {
			names[i] = fieldName(name)
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
