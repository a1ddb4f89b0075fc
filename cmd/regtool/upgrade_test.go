package main

import (
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rogpeppe/go-internal/testscript"
)

// oldPebble DIR gives the store in DIR the oldest format that Pebble knows.
func oldPebble(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oldpebble dir")
	}
	dir := ts.MkAbs(args[0]) + "/pebble"
	from, err := pebble.Open(dir, &pebble.Options{ReadOnly: true, Logger: mute{}})
	ts.Check(err)
	to, err := pebble.Open(dir+".old", &pebble.Options{FormatMajorVersion: pebble.FormatMinSupported, Logger: mute{}})
	ts.Check(err)
	it, err := from.NewIter(nil)
	ts.Check(err)
	for ok := it.First(); ok; ok = it.Next() {
		ts.Check(to.Set(it.Key(), it.Value(), nil))
	}
	ts.Check(errors.Join(it.Close(), to.Flush(), to.Close(), from.Close(), os.RemoveAll(dir), os.Rename(dir+".old", dir)))
}

type mute struct{}

func (mute) Infof(string, ...any)  {}
func (mute) Errorf(string, ...any) {}
func (mute) Fatalf(string, ...any) {}
