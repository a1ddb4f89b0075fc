// Command regtool looks after the durable registry of a cluster: it imports,
// inspects, changes, checks and exports one, and measures the engine.
//
// The result goes to stdout and trouble to stderr. It exits with 0 when all
// is well, 1 when the work failed or found something wrong, and 2 when it was
// called wrongly.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	ctx = mayUseOneCore(ctx, func() { runtime.GOMAXPROCS(1) })
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
