package main

import (
	"encoding/base64"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
)

// keyFlags are those of commands that name one key.
type keyFlags struct{ base64 *bool }

func newKeyFlags(cmd *cobra.Command) keyFlags {
	return keyFlags{cmd.Flags().Bool("base64-key", false, "KEY is given in base64, as JSON shows keys that are not UTF-8")}
}

// name is what the first two arguments name.
func (f keyFlags) name(args []string) (table, key string, err error) {
	if !*f.base64 {
		return args[0], args[1], nil
	}
	raw, err := base64.StdEncoding.DecodeString(args[1])
	if err != nil {
		return "", "", usagef("KEY %q: %w", args[1], err)
	}
	return args[0], string(raw), nil
}

// conditionFlag gives cmd the flag of a compare-and-set.
func conditionFlag(cmd *cobra.Command, usage string) func() ops.Condition {
	revision := cmd.Flags().Uint64("if-revision", 0, usage)
	return func() ops.Condition {
		if !cmd.Flags().Changed("if-revision") {
			return ops.Condition{}
		}
		return ops.AtRevision(*revision)
	}
}

// applyToKey makes an operation on a key. What no registry accepts is refused
// before one is opened.
func (f *applyFlags) applyToKey(cmd *cobra.Command, table, key string, op ops.Preparer) error {
	if _, err := op.Prepare(); err != nil {
		return err
	}
	name := toKeyName(table, key)
	return f.apply(cmd, outcome{Operation: cmd.Name(), keyName: &name}, always(op))
}
