package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

// agentFlags describe an agent: in a file, or field by field.
type agentFlags struct {
	id          string
	file        string
	incarnation string
	hostname    string
	port        uint16
	region      string
	zone        string
	checkpoint  bool
	attributes  []string
	resources   []string
	labels      []string

	given func(name string) bool
}

func newAgentFlags(cmd *cobra.Command) *agentFlags {
	f := &agentFlags{given: func(name string) bool { return cmd.Flags().Changed(name) }}
	set := cmd.Flags()
	set.StringVar(&f.id, "id", "", "ID of the agent")
	set.StringVar(&f.file, "file", "", "read the agent from this JSON file, - for stdin; it is then described in full")
	set.StringVar(&f.incarnation, "incarnation", "", "what tells this boot of the machine from another")
	set.StringVar(&f.hostname, "hostname", "", "name of the agent's machine")
	set.Uint16Var(&f.port, "port", 0, "port on which the agent listens")
	set.StringVar(&f.region, "region", "", "region the agent stands in")
	set.StringVar(&f.zone, "zone", "", "zone of the region the agent stands in")
	set.BoolVar(&f.checkpoint, "checkpoint", false, "tasks outlive a restart of the agent")
	set.StringArrayVar(&f.attributes, "attribute", nil, "attribute NAME=VALUE, as rack=r12; may be repeated, also with one name")
	set.StringArrayVar(&f.resources, "resource", nil, "resource NAME=VALUE, as cpus=4, ports=[31000-32000] or disks={sda,sdb}; may be repeated, each name once")
	set.StringArrayVar(&f.labels, "label", nil, "label KEY=VALUE; may be repeated, each key once")
	for _, name := range fieldFlags {
		cmd.MarkFlagsMutuallyExclusive("file", name)
	}
	cmd.MarkFlagsOneRequired("id", "file")
	return f
}

// fieldFlags describe single fields and do not go with --file.
var fieldFlags = []string{
	"incarnation", "hostname", "port", "region", "zone", "checkpoint", "attribute", "resource", "label",
}

// agent is what the flags describe, in full (fromFile) or as changes to the
// agent of that ID that is known already.
func (f *agentFlags) agent(cmd *cobra.Command) (a registry.Agent, fromFile bool, err error) {
	if f.file == "" {
		a.ID = registry.AgentID(f.id)
		return a, false, f.change(&a)
	}
	a, err = readAgentFile(cmd.Context(), f.file, cmd.InOrStdin())
	if err == nil && f.id != "" && f.id != string(a.ID) {
		err = usagef("--id is %q, but the agent in %s is %q", f.id, f.file, string(a.ID))
	}
	return a, true, err
}

func readAgentFile(ctx context.Context, name string, stdin io.Reader) (registry.Agent, error) {
	what, open := "read the agent in "+name, func() (io.ReadCloser, error) { return os.Open(name) }
	if name == "-" {
		what, open = "read an agent from stdin", func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
	}
	in := awaited(ctx, open)
	defer in.Close()
	a, err := readAgent(in)
	return a, wrap(what, interrupted(ctx, err))
}

// wrap is nil for a nil err.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// change makes a what the flags say and leaves the rest of it. An attribute,
// resource or label takes the place of all of its name.
func (f *agentFlags) change(a *registry.Agent) error {
	set(f, "incarnation", &a.Incarnation, f.incarnation)
	set(f, "hostname", &a.Hostname, f.hostname)
	set(f, "port", &a.Port, f.port)
	set(f, "region", &a.Domain.Region, f.region)
	set(f, "zone", &a.Domain.Zone, f.zone)
	set(f, "checkpoint", &a.Checkpoint, f.checkpoint)
	if err := f.changeAttributes(a); err != nil {
		return err
	}
	if err := f.changeResources(a); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, text := range f.labels {
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return usagef("--label %q: use KEY=VALUE", text)
		case seen[key]:
			return usagef("--label %s is given twice", key)
		}
		seen[key] = true
		if a.Labels == nil {
			a.Labels = map[string]string{}
		}
		a.Labels[key] = value
	}
	return nil
}

func set[T any](f *agentFlags, name string, field *T, value T) {
	if f.given(name) {
		*field = value
	}
}

func (f *agentFlags) changeAttributes(a *registry.Agent) error {
	pairs, err := parsePairs("attribute", f.attributes)
	if err != nil {
		return err
	}
	a.Attributes = slices.DeleteFunc(a.Attributes, func(old registry.Attribute) bool {
		return slices.ContainsFunc(pairs, func(p pair) bool { return p.name == old.Name })
	})
	for _, p := range pairs {
		a.Attributes = append(a.Attributes, registry.Attribute{Name: p.name, Value: p.value})
	}
	return nil
}

func (f *agentFlags) changeResources(a *registry.Agent) error {
	pairs, err := parsePairs("resource", f.resources)
	if err != nil {
		return err
	}
	a.Resources = slices.DeleteFunc(a.Resources, func(old registry.Resource) bool {
		return slices.ContainsFunc(pairs, func(p pair) bool { return p.name == old.Name })
	})
	for i, p := range pairs {
		switch {
		case strings.ContainsAny(p.name, "()"):
			return usagef("--resource %q: what is reserved for a role is described with --file, as reservations", f.resources[i])
		case p.value.Kind == registry.KindText:
			return usagef("--resource %s=%s: a resource is a number, [ranges] or a {set}", p.name, p.value.Text)
		case slices.ContainsFunc(pairs[:i], func(other pair) bool { return other.name == p.name }):
			return usagef("--resource %s is given twice", p.name)
		}
		a.Resources = append(a.Resources, registry.Resource{Name: p.name, Value: p.value})
	}
	return nil
}

type pair struct {
	name  string
	value registry.Value
}

func parsePairs(flag string, texts []string) ([]pair, error) {
	pairs := make([]pair, len(texts))
	for i, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--%s %q: use NAME=VALUE", flag, text)
		}
		v, err := parseValue(value)
		if err != nil {
			return nil, usagef("--%s %q: %w", flag, text, err)
		}
		pairs[i] = pair{name, v}
	}
	return pairs, nil
}
