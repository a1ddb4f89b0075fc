package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

func newPutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put TABLE KEY {VALUE|-|--file FILE}",
		Short: "Write a value under a key",
		Long: `Put writes a value under a key of a user table, new or in place of what stands
there, and prints the revision and whether anything changed. The first key makes
a table. The value is the argument VALUE, all of stdin (-), or all of a file
(--file, - for stdin); a value that begins with a dash goes behind " -- ".
Who did it (the user of the operating system) and why (--reason) is logged
with it.

With --if-revision it is a compare-and-set: the key is written only if its last
change was at that revision, as "get --json" shows it, or, with 0, only if it
is not there. Else it is refused: the reason is printed, nothing is changed, and
regtool exits with 1. That DIR was opened for writing is noted in it all the
same.

A table's name has 1 to 64 bytes of UTF-8, a key 1 to 1024 bytes, a value up to
1 MiB. A registry that another process has open is not opened: stop that first,
or use what it offers. An error that begins with "applied at revision N, but" is
of what came after: the key is written.`,
		Example: `  regtool put --dir /var/lib/registry jobs j1 queued --reason "new job"
  regtool put --dir /var/lib/registry jobs j1 running --if-revision 17 --reason "claimed"
  regtool put --dir /var/lib/registry certificates ca --file ca.der --reason "renewed"
  date | regtool put --dir /var/lib/registry config built - --reason "release"`,
		Args: takes(2, 3, "TABLE, KEY and a value"),
	}
	f, flags := newApplyFlags(cmd), newKeyFlags(cmd)
	holds := conditionFlag(cmd, "write only if the key's last change was at this revision; 0: only if it is not there")
	file := cmd.Flags().String("file", "", "read the value from this file, - for stdin")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		table, key, err := flags.name(args)
		if err != nil {
			return err
		}
		value, err := valueOf(cmd, args[2:], *file)
		if err != nil {
			return err
		}
		return f.applyToKey(cmd, table, key, ops.Put{Table: table, Key: key, Value: value, If: holds()})
	}
	return cmd
}

// valueOf is the value, from the one place that was given for it.
func valueOf(cmd *cobra.Command, args []string, name string) (string, error) {
	fromFile := cmd.Flags().Changed("file")
	what, open := "read the value in "+name, func() (io.ReadCloser, error) { return os.Open(name) }
	switch {
	case fromFile == (len(args) > 0):
		return "", usagef("give the value once: as VALUE, - for stdin, or with --file")
	case !fromFile && args[0] != "-":
		return args[0], nil
	case !fromFile || name == "-":
		what, open = "read a value from stdin", func() (io.ReadCloser, error) { return io.NopCloser(cmd.InOrStdin()), nil }
	}
	in := awaited(cmd.Context(), open)
	defer in.Close()
	value, err := readValue(in)
	return value, wrap(what, interrupted(cmd.Context(), err))
}

func readValue(r io.Reader) (string, error) {
	value, err := io.ReadAll(io.LimitReader(r, registry.MaxValue+1))
	if len(value) > registry.MaxValue {
		return "", fmt.Errorf("more than %d bytes, which is the most a value may have", registry.MaxValue)
	}
	return string(value), err
}
