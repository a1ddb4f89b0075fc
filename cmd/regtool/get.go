package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get TABLE KEY",
		Short: "Print what stands under a key",
		Long: `Get prints the value of a key of a user table, and fails if there is none.

To a file or a pipe it writes the bytes of the value and nothing else. On a
terminal, what that would take for a command is shown escaped: "\x1b". With
--json it prints the revision of the last change too; a value that is not UTF-8
is then in base64, and "value_encoding" says so.

It reads only. A registry that a process has open is read through that process;
standard error says so, and at which revision.`,
		Example: `  regtool get --dir /var/lib/registry jobs j1
  regtool get --dir /var/lib/registry jobs j1 --json`,
		Args: takes(2, 2, "TABLE and KEY"),
	}
	from, asJSON, flags := readingFlags(cmd), jsonFlag(cmd), newKeyFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		table, key, err := flags.name(args)
		if err == nil {
			err = registry.ValidateKey(table, key)
		}
		if err != nil {
			return err
		}
		s, err := from.load(cmd)
		if err != nil {
			return err
		}
		item, ok := s.Key(table, key)
		if !ok {
			return fmt.Errorf("key %q is not in table %q", key, table)
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), gotJSON{toKeyJSON(table, key, item), s.Live})
		}
		return writeValue(cmd.OutOrStdout(), item.Value, terminal(cmd.OutOrStdout()))
	}
	return cmd
}

// gotJSON is a key, and which process told of it, if one has the registry open.
type gotJSON struct {
	keyJSON
	Live *seenLive `json:"live,omitempty"`
}

// writeValue writes exactly value, unless a person looks at it.
func writeValue(w io.Writer, value string, person bool) error {
	if person {
		value = strings.TrimSuffix(harmlessLines(value), "\n") + "\n"
	}
	_, err := io.WriteString(w, value)
	return err
}
