// Keys is what a master needs to keep durable keys of its own beside the agents.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/wal"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: keys DIR")
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, dir string) error {
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
	for _, worker := range []string{"w1", "w2"} {
		err = errors.Join(err, assign(ctx, r, "web/1", worker))
	}
	for key, item := range r.Snapshot().Keys("jobs", "web/") {
		fmt.Println(key, "is with", item.Value, "since revision", item.Revision)
	}
	return errors.Join(err, r.Close())
}

// assign gives a job to a worker, unless somebody else does so meanwhile.
func assign(ctx context.Context, r *registrar.Registrar, job, worker string) error {
	was, _ := r.Snapshot().Key("jobs", job) // revision 0 if it is not there
	_, err := r.Apply(ctx, ops.Put{Table: "jobs", Key: job, Value: worker, If: ops.AtRevision(was.Revision)})
	if errors.Is(err, ops.ErrRevision) {
		return nil // somebody was faster, and nothing was changed
	}
	return err
}
