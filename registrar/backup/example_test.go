package backup_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// A running registrar is backed up without anybody waiting for it, and a new
// store made of the backup.
func Example() {
	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	r, err := registrar.Open(ctx, store.NewMemory(), registrar.Options{Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Apply(ctx, ops.Admit{Agent: registry.Agent{ID: "a1", Hostname: "host-1"}}); err != nil {
		log.Fatal(err)
	}

	var file bytes.Buffer
	if _, err := backup.Write(&file, r.Image(), time.Now()); err != nil {
		log.Fatal(err)
	}

	b, err := backup.Read(ctx, &file)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := wal.CreateAt(ctx, filepath.Join(dir, "registry"), wal.Options{}, b.Begin(time.Now()), b.Image.Chunks())
	if err != nil {
		log.Fatal(err)
	}
	restored, err := registrar.Open(ctx, l, registrar.Options{Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	fmt.Println("the same content:", restored.Snapshot().Digest() == r.Snapshot().Digest())
	fmt.Println("revisions skipped:", restored.Snapshot().Revision()-r.Snapshot().Revision() >= registrar.RevisionsSkipped)
	// Output:
	// the same content: true
	// revisions skipped: true
}
