package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registry"
)

func newInspectPodsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pods",
		Short: "List the pods that are defined",
		Long: `Inspect pods lists the pods that are defined, in the order of their IDs: the
version, which is when the definition was made, the revision at which it last
changed, and how long it is. What became of a pod is no part of the registry:
"regtool pods" asks a running master for that.

With --id it lists that one pod, and fails if there is none. With --json it
prints the definitions too.`,
		Example: `  regtool inspect pods --dir /var/lib/registry
  regtool inspect pods --dir /var/lib/registry --id /web/front --json`,
		Args: noArguments,
	}
	from, asJSON := readingFlags(cmd), jsonFlag(cmd)
	id := cmd.Flags().String("id", "", "list this pod only")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := from.load(cmd)
		if err != nil {
			return err
		}
		picked, err := pickPods(s.Registry, *id)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), picked)
		}
		return writeRows(cmd.OutOrStdout(), []string{"POD", "VERSION", "REVISION", "BYTES"}, podRows(picked))
	}
	return cmd
}

// pickPods is the pods to list. An empty id means all.
func pickPods(r *registry.Registry, id string) ([]podJSON, error) {
	if id != "" {
		p, ok := r.Pod(id)
		if !ok {
			return nil, fmt.Errorf("pod %q is not defined", id)
		}
		return []podJSON{toPodJSON(p)}, nil
	}
	picked := []podJSON{}
	for p := range r.Pods() {
		picked = append(picked, toPodJSON(p))
	}
	return picked, nil
}

func podRows(picked []podJSON) [][]string {
	rows := make([][]string, len(picked))
	for i, p := range picked {
		version := ""
		if p.Version != nil {
			version = p.Version.Format(time.RFC3339Nano)
		}
		bytes := len(p.Definition) + len(p.DefinitionText)
		rows[i] = []string{p.Pod, version, strconv.FormatUint(p.Revision, 10), strconv.Itoa(bytes)}
	}
	return rows
}
