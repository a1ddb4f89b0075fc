package wal

import (
	"fmt"
	"slices"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Info is what there is to say about a store without reading it through.
type Info struct {
	Dir      string         `json:"dir"`
	Identity store.Identity `json:"identity"`
	// Format is the version of the store's own format, PebbleFormat that of
	// Pebble's files. [Log.Upgrade] raises both.
	Format       int `json:"format"`
	PebbleFormat int `json:"pebble_format"`
	// Bytes is what the directory takes on disk, as the files' lengths have it.
	Bytes int64 `json:"bytes"`
	// First is the number of the first record still there, Last the place the
	// log ends at. First is Last.Seq+1 when there is no record.
	First uint64     `json:"first"`
	Last  store.Mark `json:"last"`
	// Checkpoints are the checkpoints, oldest first.
	Checkpoints []Checkpoint `json:"checkpoints"`
	// Losses are the losses of records that were accepted, oldest first.
	Losses []Loss `json:"losses,omitempty"`
	// Witness is how far the witness vouches for the log; zero in a log that
	// was opened for reading and has no witness that can be read.
	Witness store.Mark `json:"witness"`
}

// Checkpoint is a checkpoint in an [Info].
type Checkpoint struct {
	Mark store.Mark `json:"mark"`
	// Bytes is the length of its chunks.
	Bytes uint64 `json:"bytes"`
	// Damage is what is wrong with it, as far as that was noticed.
	Damage string `json:"damage,omitempty"`
}

// Info describes the store.
func (l *Log) Info() (Info, error) {
	v, err := l.beginReading()
	if err != nil {
		return Info{}, fmt.Errorf("describe store %s: %w", l.dir, err)
	}
	defer l.endReading(v)
	i := Info{
		Dir: l.dir, Identity: l.Identity(), Last: v.end,
		PebbleFormat: int(v.db.FormatMajorVersion()),
		Losses:       slices.Clone(l.losses),
	}
	l.mu.Lock()
	i.Format, i.First = int(l.format), l.floor+1
	for _, p := range l.points {
		c := Checkpoint{Mark: p.mark, Bytes: p.bytes}
		if p.err != nil {
			c.Damage = p.err.Error()
		}
		i.Checkpoints = append(i.Checkpoints, c)
	}
	l.mu.Unlock()
	if i.Bytes, err = l.size(l.dir); err != nil {
		return Info{}, fmt.Errorf("describe store %s: %w", l.dir, err)
	}
	if i.Witness, err = l.witnessed(); err != nil {
		return Info{}, fmt.Errorf("describe store %s: %w", l.dir, err)
	}
	return i, nil
}

func (l *Log) witnessed() (store.Mark, error) {
	l.mu.Lock()
	w := l.witness
	l.mu.Unlock()
	if w != nil {
		return w.witnessed(), nil
	}
	t, err := readWitness(l.o.FS, l.dir)
	return t.mark, err
}

// size sums up the files under dir. Files may come and go meanwhile.
func (l *Log) size(dir string) (int64, error) {
	names, err := l.o.FS.List(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		path := l.o.FS.PathJoin(dir, name)
		s, err := l.o.FS.Stat(path)
		switch {
		case absent(err):
		case err != nil:
			return 0, err
		case s.IsDir():
			n, err := l.size(path)
			if err != nil {
				return 0, err
			}
			sum += n
		default:
			sum += s.Size()
		}
	}
	return sum, nil
}
