package main

import (
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newScanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scan [TABLE [PREFIX]]",
		Short: "List user tables, or the keys of one",
		Long: `Scan lists the user tables, each with the number of its keys. With TABLE it
lists the keys of that table in the order of their bytes, each with the
revision of its last change; with PREFIX, those that begin with it.

What a terminal would take for a command is shown escaped: "\x1b". Of a long
value only the beginning is shown, its size beside it. Use --json for all of
it; a key or value that is not UTF-8 is then in base64, and "key_encoding" or
"value_encoding" says so.

It reads only. A registry that a process has open is read through that process;
standard error says so, and at which revision.`,
		Example: `  regtool scan --dir /var/lib/registry
  regtool scan --dir /var/lib/registry jobs
  regtool scan --dir /var/lib/registry jobs web/ --json`,
		Args: takes(0, 2, "TABLE and PREFIX at most"),
	}
	from, asJSON := readingFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := from.load(cmd)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return writeTables(cmd.OutOrStdout(), s.Registry, *asJSON)
		}
		prefix := append(args, "")[1]
		return writeKeys(cmd.OutOrStdout(), s.Registry, args[0], prefix, *asJSON)
	}
	return cmd
}

// tableJSON is a user table in short.
type tableJSON struct {
	Table string `json:"table"`
	Keys  int    `json:"keys"`
}

func writeTables(w io.Writer, reg *registry.Registry, asJSON bool) error {
	tables := []tableJSON{}
	var rows [][]string
	for name, keys := range reg.Tables() {
		tables = append(tables, tableJSON{name, keys})
		rows = append(rows, []string{name, strconv.Itoa(keys)})
	}
	if asJSON {
		return writeJSON(w, tables)
	}
	return writeRows(w, []string{"TABLE", "KEYS"}, rows)
}

func writeKeys(w io.Writer, reg *registry.Registry, table, prefix string, asJSON bool) error {
	keys := []keyJSON{}
	var rows [][]string
	for key, item := range reg.Keys(table, prefix) {
		if asJSON {
			keys = append(keys, toKeyJSON(table, key, item))
			continue
		}
		rows = append(rows, []string{
			key, strconv.FormatUint(item.Revision, 10), strconv.Itoa(len(item.Value)), shortened(item.Value),
		})
	}
	if asJSON {
		return writeJSON(w, keys)
	}
	return writeRows(w, []string{"KEY", "REVISION", "BYTES", "VALUE"}, rows)
}

// maxShown is how many bytes of a value a table shows.
const maxShown = 60

// shortened is value, or its beginning and a mark. It does not cut through a
// character.
func shortened(value string) string {
	if len(value) <= maxShown {
		return value
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end] + "…"
}
