package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// checkDeep rebuilds the registry a second time, from the oldest place that is
// kept and through every record since, and compares the two entry by entry:
// digests have no part in revisions, and could agree by a fault of their own.
func (d *diagnosis) checkDeep(ctx context.Context, l readable, r *registry.Registry) error {
	again, found, err := registrar.LoadFromOldest(ctx, l)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if passing(err) {
			return err
		}
		if !d.explains(err) {
			d.damage("history", err)
		}
		return nil
	}
	d.Replayed = found.Records
	return d.compare(again, r)
}

// compare reports where r is not what the records since the oldest checkpoint
// amount to.
func (d *diagnosis) compare(want, r *registry.Registry) error {
	all, err := differences(want, r)
	if err != nil {
		return err
	}
	for _, diff := range all {
		fields := make([]string, 0, len(diff.Fields))
		for path := range diff.Fields {
			fields = append(fields, path)
		}
		slices.Sort(fields)
		d.damage("history", fmt.Errorf("%s: it is %s against what the records amount to: %s", diff.what(), diff.Change, strings.Join(fields, ", ")))
	}
	d.compareRevisions(want, r)
	return nil
}

func (d *diagnosis) compareRevisions(want, r *registry.Registry) {
	for e := range r.Entries() {
		if other, known := want.Entry(e.ID()); known && other.Since() != e.Since() {
			d.damage("history", fmt.Errorf("agents %s: it is in its state since revision %d, by the records since %d", e.ID(), e.Since(), other.Since()))
		}
	}
	for table := range r.Tables() {
		for key, item := range r.Keys(table, "") {
			if other, known := want.Key(table, key); known && other.Revision != item.Revision {
				d.damage("history", fmt.Errorf("keys %s %s: it changed last at revision %d, by the records at %d", table, key, item.Revision, other.Revision))
			}
		}
	}
	for p := range r.Pods() {
		if other, known := want.Pod(p.ID); known && other.Revision != p.Revision {
			d.damage("history", fmt.Errorf("pods %s: it changed last at revision %d, by the records at %d", p.ID, p.Revision, other.Revision))
		}
	}
}
