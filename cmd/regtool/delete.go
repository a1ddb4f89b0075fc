package main

import (
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/ops"
)

func newDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete TABLE KEY",
		Short: "Forget a key",
		Long: `Delete forgets a key of a user table, and prints the revision and whether
anything changed: deleting what is not there changes nothing and is no error.
With its last key a table is gone. Who did it (the user of the operating
system) and why (--reason) is logged with it.

With --if-revision the key is forgotten only if its last change was at that
revision, as "get --json" shows it. Else it is refused: the reason is printed,
nothing is changed, and regtool exits with 1. That DIR was opened for writing is
noted in it all the same.

A registry that another process has open is not opened: stop that first, or use
what it offers. An error that begins with "applied at revision N, but" is of
what came after: the key is forgotten.`,
		Example: `  regtool delete --dir /var/lib/registry jobs j1 --reason "done"
  regtool delete --dir /var/lib/registry jobs j1 --if-revision 17 --reason "done"`,
		Args: takes(2, 2, "TABLE and KEY"),
	}
	f, flags := newApplyFlags(cmd), newKeyFlags(cmd)
	holds := conditionFlag(cmd, "delete only if the key's last change was at this revision")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		table, key, err := flags.name(args)
		if err != nil {
			return err
		}
		return f.applyToKey(cmd, table, key, ops.Delete{Table: table, Key: key, If: holds()})
	}
	return cmd
}
