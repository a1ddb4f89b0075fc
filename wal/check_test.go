package wal_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/eaba02dc/registrar/wal"
)

// TestNobodyWritesBetweenACheckAndWhatLooksFurther: both see one store, also
// where records were lost, and what looks further has the last word.
func TestNobodyWritesBetweenACheckAndWhatLooksFurther(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	fill(t, whole, 40)
	lossy := afterCrash(t, 40)
	remove(t, newestFile(t, lossy, "*.log"))
	for dir, want := range map[string]struct {
		last     uint64
		findings int
	}{whole: {40, 0}, lossy: {20, 1}} {
		errSaid := errors.New("said by what looks further")
		findings := 0
		err := wal.Check(context.Background(), dir, wal.Options{Logger: quiet},
			func(wal.Finding) { findings++ },
			func(l *wal.Log) error {
				if _, err := wal.Open(dir, wal.Options{Logger: quiet}); !errors.Is(err, wal.ErrLocked) {
					t.Errorf("a writer got error %v, want %v", err, wal.ErrLocked)
				}
				return errors.Join(errSaid, wantRecordsTo(l, want.last))
			})
		if err == nil || err.Error() != errSaid.Error() || findings != want.findings {
			t.Errorf("%d findings, error %v; want %d and %v", findings, err, want.findings, errSaid)
		}
	}
}

func TestNothingLooksFurtherIntoAStoreThatDoesNotOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fill(t, dir, 3)
	remove(t, newestFile(t, dir, "*.sst"))
	findings := 0
	err := wal.Check(context.Background(), dir, wal.Options{Logger: quiet},
		func(wal.Finding) { findings++ }, func(*wal.Log) error { return errors.New("called") })
	if err != nil || findings != 1 {
		t.Errorf("%d findings, error %v; want one finding", findings, err)
	}
}
