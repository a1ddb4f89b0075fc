package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/eaba02dc/registrar/registrar/store"
)

// The names in a store's directory.
const (
	fileStore      = "STORE"
	fileStoreNew   = "STORE.new"
	fileWitness    = "WITNESS"
	fileWitnessNew = "WITNESS.new"
	fileCreating   = "CREATING"
	fileCheckpoint = "CHECKPOINT.new"
	fileLock       = "LOCK" // only on file systems that cannot lock a directory
	dirPebble      = "pebble"
	dirQuarantine  = "quarantine" // see quarantine.go
)

// state is what a directory turns out to be.
type state int

const (
	stateAbsent state = iota
	stateEmpty
	stateUnfinished // Create was interrupted: it may be repeated
	stateStore
)

// survey says what dir is. It reads names only.
func survey(f vfs.FS, dir string) (state, error) {
	if dir == "" { // as from a variable that is not set; it would mean the working directory
		return 0, errors.New("no directory is named for the store")
	}
	names, err := f.List(dir)
	switch {
	case absent(err):
		return stateAbsent, nil
	case errors.Is(err, syscall.ENOTDIR):
		return 0, fmt.Errorf("%s: %w: it is a file, not a directory", dir, ErrForeign)
	case err != nil:
		return 0, fmt.Errorf("look into %s: %w", dir, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == fileLock })
	switch {
	case slices.Contains(names, fileStore):
		return stateStore, nil
	case slices.Contains(names, fileCreating):
		return stateUnfinished, onlyOurs(dir, names)
	case len(names) == 0:
		return stateEmpty, nil
	case slices.Contains(names, fileWitness):
		return 0, &CorruptError{Dir: dir, Place: "store", Err: fmt.Errorf("the file %s is missing", fileStore)}
	}
	return 0, fmt.Errorf("%s: %w: it holds %q%s", dir, ErrForeign, slices.Min(names), nearby(f, dir, names))
}

// nearby says where a store is that was meant, if one is right below dir or
// dir is in one.
func nearby(f vfs.FS, dir string, names []string) string {
	there := func(dir string) bool {
		_, err := f.Stat(f.PathJoin(dir, fileStore))
		return err == nil
	}
	slices.Sort(names)
	for _, n := range names[:min(len(names), 1000)] {
		if there(f.PathJoin(dir, n)) {
			return fmt.Sprintf("; %s is a store", f.PathJoin(dir, n))
		}
	}
	if there(f.PathJoin(dir, "..")) {
		return "; it is a part of one, the directory above it"
	}
	return ""
}

// onlyOurs keeps Create from clearing away what it did not make.
func onlyOurs(dir string, names []string) error {
	for _, n := range names {
		if !slices.Contains([]string{fileCreating, fileStoreNew, fileCheckpoint, fileWitness, dirPebble}, n) {
			return fmt.Errorf("%s: %w: an interrupted creation, and %q besides", dir, ErrForeign, n)
		}
	}
	return nil
}

// The file STORE is text, so that whoever looks into the directory learns
// what it is. Its last line is the CRC-32C of the lines before.
const (
	storeTitle  = "registrar store\n"
	storeAdvice = "Leave this directory to regtool. Do not rely on a copy made while it is in use:\nit may lack what was acknowledged, or not open.\n"
)

func storeText(h store.HistoryID, format uint32) []byte {
	s := fmt.Sprintf("%sformat %d\nhistory %x\n%s", storeTitle, format, h[:], storeAdvice)
	return fmt.Appendf(nil, "%scrc %08x\n", s, crc32.Checksum([]byte(s), castagnoli))
}

// readStore reads the file STORE. The format number stands before everything
// that another format may have changed.
func readStore(f vfs.FS, dir string) (h store.HistoryID, format uint32, err error) {
	text, err := readFile(f, f.PathJoin(dir, fileStore), 4096)
	if err != nil {
		return h, 0, fmt.Errorf("read %s of store %s: %w", fileStore, dir, err)
	}
	h, format, err = parseStore(string(text))
	switch {
	case errors.Is(err, ErrVersion):
		return h, 0, fmt.Errorf("store %s: %w", dir, err)
	case err != nil:
		return h, 0, &CorruptError{Dir: dir, Place: "store", Err: fmt.Errorf("file %s: %w", fileStore, err)}
	}
	return h, format, nil
}

func parseStore(text string) (h store.HistoryID, format uint32, err error) {
	if _, err := fmt.Sscanf(text, storeTitle+"format %d\n", &format); err != nil {
		return h, 0, errors.New("it does not begin as it should")
	}
	if format > formatVersion {
		return h, 0, fmt.Errorf("%w: it has format %d, this program reads up to %d", ErrVersion, format, formatVersion)
	}
	body, sum, ok := strings.Cut(text, "crc ")
	if !ok || sum != fmt.Sprintf("%08x\n", crc32.Checksum([]byte(body), castagnoli)) {
		return h, 0, errChecksum
	}
	var id []byte
	if _, err := fmt.Sscanf(body, storeTitle+"format %d\nhistory %x\n", &format, &id); err != nil || len(id) != len(h) {
		return h, 0, errors.New("it names no history")
	}
	return store.HistoryID(id), format, nil
}

// readFile reads a whole file of at most limit bytes.
func readFile(f vfs.FS, name string, limit int64) ([]byte, error) {
	s, err := f.Stat(name)
	if err == nil && !s.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name) // opening a pipe would wait for ever
	}
	if err != nil {
		return nil, err
	}
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(file, limit))
	return b, errors.Join(err, file.Close())
}

// writeFile makes a file durable; its name is so only after a syncDir.
func writeFile(f vfs.FS, name string, b []byte) error {
	file, err := f.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Sync(), file.Close())
}

// replaceFile makes a file whose name and bytes are durable, or changes
// nothing but fresh, the name that it has before.
func replaceFile(f vfs.FS, dir, name, fresh string, b []byte) error {
	if err := writeFile(f, f.PathJoin(dir, fresh), b); err != nil {
		return err
	}
	if err := f.Rename(f.PathJoin(dir, fresh), f.PathJoin(dir, name)); err != nil {
		return err
	}
	return syncDir(f, dir)
}

// removeIfThere removes a file that may be absent.
func removeIfThere(f vfs.FS, name string) error {
	if err := f.Remove(name); err != nil && !absent(err) {
		return err
	}
	return nil
}
