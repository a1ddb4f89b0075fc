package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// envPrefix begins the names of the variables that set flags: REGTOOL_PORT is
// --port.
const envPrefix = "REGTOOL_"

// underscores lets a flag be written as Mesos does, --agent_ping_timeout.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// configure sets the flags that were not given: from the environment, else from
// the file at path, which is YAML that maps names of flags to values; "" is
// none. The environment may say the path too; what is empty there counts as not
// set. What has the prefix there and is a flag of no command is refused, as it is
// in the file; known is whether a name is one of another command.
func configure(flags *pflag.FlagSet, path *string, environ []string, known func(flag string) bool) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	var unknown []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours || value == "" {
			continue
		}
		f := flags.Lookup(strings.ToLower(rest))
		if f == nil && !known(strings.ReplaceAll(strings.ToLower(rest), "_", "-")) {
			unknown = append(unknown, name)
		}
		if f == nil || given[f.Name] {
			continue
		}
		if err := flags.Set(f.Name, value); err != nil {
			return usagef("environment variable %s: %w", name, explainValue(err))
		}
		given[f.Name] = true
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return usagef("environment variables that are no setting: %s", strings.Join(unknown, ", "))
	}
	if *path == "" {
		return nil
	}
	return configureFromFile(flags, *path, given)
}

// flagOf reports whether a command below root has a flag of this name.
func flagOf(root *cobra.Command, name string) bool {
	return root.Flags().Lookup(name) != nil || root.PersistentFlags().Lookup(name) != nil ||
		slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return flagOf(c, name) })
}

func configureFromFile(flags *pflag.FlagSet, path string, given map[string]bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var values map[string]yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the configuration %s: %w", path, err)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f, node := flags.Lookup(name), values[name]
		switch {
		case f == nil || f.Name == configFlag:
			return fmt.Errorf("configuration %s, line %d: there is no setting %q", path, node.Line, name)
		case node.Kind != yaml.ScalarNode:
			return fmt.Errorf("configuration %s, line %d: %s: want one value", path, node.Line, name)
		case seen[f.Name]:
			return fmt.Errorf("configuration %s, line %d: %s is set twice", path, node.Line, name)
		}
		seen[f.Name] = true
		if given[f.Name] {
			continue
		}
		if err := flags.Set(f.Name, node.Value); err != nil {
			return fmt.Errorf("configuration %s, line %d: %w", path, node.Line, explainValue(err))
		}
	}
	return nil
}
