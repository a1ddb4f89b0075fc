package main

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/wal"
)

// version is what the version command knows of the binary.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"vcs_revision,omitempty"`
	Modified bool   `json:"vcs_modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Pebble   string `json:"pebble"`
	// Format and PebbleFormat are those of the stores that this build makes;
	// it reads all older ones.
	Format       int `json:"format"`
	PebbleFormat int `json:"pebble_format"`
}

func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the tool and of the formats it reads",
		Long: `Version prints which build this is: the version of the module, the Go and the
Pebble it was built with, and the formats it writes.`,
		Example: `  regtool version
  regtool version --json`,
		Args: noArguments,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		info, _ := debug.ReadBuildInfo()
		v := versionOf(info)
		made, err := formats()
		if err != nil {
			return err
		}
		v.Format, v.PebbleFormat = made.Format, made.PebbleFormat
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), v)
		}
		return writeFacts(cmd.OutOrStdout(), []fact{
			{"version", v.Version},
			{"go", v.Go},
			{"platform", v.Platform},
			{"pebble", v.Pebble},
			{"format", fmt.Sprintf("%d on Pebble format %d", v.Format, v.PebbleFormat)},
		})
	}
	return cmd
}

// formats asks a store that is made in memory.
func formats() (info wal.Info, err error) {
	l, err := wal.Create("store", wal.Options{FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.Info()
}

// versionOf reads what the linker left in the binary; info may be nil.
func versionOf(info *debug.BuildInfo) version {
	v := version{
		Version: "(devel)", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Pebble: "unknown",
	}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/cockroachdb/pebble/v2" {
			v.Pebble = dep.Version
		}
	}
	return v
}
