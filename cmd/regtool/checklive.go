package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/wal"
)

// checkLive checks a registry that a process has open: that process looks at the
// bytes, this one at what they amount to at one revision.
func checkLive(ctx context.Context, dir string, o wal.Options, deep bool) (*diagnosis, error) {
	for n := 1; ; n++ {
		from, err := openReadable(ctx, dir, o)
		if err != nil {
			return nil, err
		}
		d := &diagnosis{Findings: []wal.Finding{}, Live: seenBy(from)}
		err = from.Check(ctx, d.add)
		if err == nil {
			err = d.checkContent(ctx, from, deep)
		}
		if err = errors.Join(err, from.Close()); err == nil {
			d.noteLive()
			return d, nil
		}
		if n == attempts || !passing(err) {
			return nil, err
		}
	}
}

// noteLive says what was not checked. Nothing of it where the process ended in
// between, and the files could be opened.
func (d *diagnosis) noteLive() {
	if d.Live == nil {
		return
	}
	d.add(wal.Finding{Severity: wal.SeverityNote, Place: "live", Problem: fmt.Sprintf(
		"process %d has it open: all that is durable at revision %d was checked, but not whether its files would open afresh (STORE, and the storage engine's MANIFEST and log); check it again when that process has ended",
		d.Live.PID, d.Live.Revision)})
}
