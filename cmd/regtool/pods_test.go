package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// changePod is the script command
//
//	pod put DIR ID VERSION DEFINITION
//	pod remove DIR ID
//
// which does what a master does that embeds the registry in DIR: no command
// defines pods without one.
func changePod(ts *testscript.TestScript, neg bool, args []string) {
	var op ops.Operation
	switch {
	case !neg && len(args) == 5 && args[0] == "put":
		version, err := time.Parse(time.RFC3339, args[3])
		ts.Check(err)
		op = ops.PutPod{Pod: registry.Pod{ID: args[2], Version: version, Definition: []byte(args[4])}}
	case !neg && len(args) == 3 && args[0] == "remove":
		op = ops.RemovePod{ID: args[2]}
	default:
		ts.Fatalf("usage: pod put dir id version definition, or pod remove dir id")
	}
	ts.Check(applyIn(ts.MkAbs(args[1]), op))
}

func applyIn(dir string, op ops.Operation) error {
	quiet := slog.New(slog.DiscardHandler)
	r, err := openDir(context.Background(), dir, wal.Options{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := r.Apply(context.Background(), registrar.Request{Operation: op, Principal: "master", Reason: "asked"}); err != nil {
		return fmt.Errorf("%T: %w", op, err)
	}
	return r.Close()
}
