// Embed is what a master needs of the registrar: open, admit, read, survive.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: embed DIR")
		os.Exit(2)
	}
	for _, id := range []registry.AgentID{"a1", "a2"} { // each round is a restart
		if err := serve(context.Background(), os.Args[1], id); err != nil {
			log.Fatal(err)
		}
	}
}

func serve(ctx context.Context, dir string, id registry.AgentID) error {
	l, err := wal.Open(dir, wal.Options{})
	if errors.Is(err, wal.ErrNotExist) {
		l, err = wal.Create(dir, wal.Options{})
	}
	if err != nil {
		return err
	}
	r, err := registrar.Open(ctx, l, registrar.Options{})
	if err != nil {
		return err
	}
	fmt.Println("recovered", r.Snapshot().Len(registry.Admitted), "agents")
	_, err = r.Apply(ctx, ops.Readmit{Agent: registry.Agent{ID: id, Hostname: "host-" + string(id)}})
	return errors.Join(err, r.Close()) // nil: the agent is on disk
}
