package wal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal/live"
)

// serveReaders lets other processes of this user read the store meanwhile. A log
// can do without.
func (l *Log) serveReaders() {
	if _, ok := l.o.FS.(disk); !ok || l.o.NoSocket {
		return
	}
	s, err := live.Serve(l.dir, source{l}, l.log)
	if err != nil {
		l.log.Warn("regtool cannot look at the store while it is open here", "dir", l.dir, "err", err)
		return
	}
	l.socket = s
}

// endReaders cuts off who reads through the socket.
func (l *Log) endReaders() {
	if l.socket == nil {
		return
	}
	if err := l.socket.Close(); err != nil {
		l.log.Warn("the socket of the store was not removed", "dir", l.dir, "err", err)
	}
}

// source is a log as package live asks for it.
type source struct{ *Log }

var _ live.Source = source{}

func (s source) Describe() (store.Mark, json.RawMessage, error) {
	i, err := s.Info()
	if err != nil {
		return store.Mark{}, nil, err
	}
	about, err := json.Marshal(i)
	return i.Last, about, err
}

func (s source) Look(ctx context.Context, report func(json.RawMessage)) error {
	var failed error
	err := s.Check(ctx, func(f Finding) {
		text, err := json.Marshal(f)
		failed = errors.Join(failed, err)
		report(text)
	})
	return errors.Join(err, failed)
}

// kindCorrupt is the kind of a [CorruptError] on its way to another process.
const kindCorrupt = "corrupt"

type corruptDetail struct {
	Dir     string `json:"dir"`
	Place   string `json:"place"`
	Seq     uint64 `json:"seq"`
	Problem string `json:"problem"`
}

func (s source) Explain(err error) (kind string, detail json.RawMessage) {
	var e *CorruptError
	if !errors.As(err, &e) {
		return "", nil
	}
	detail, err = json.Marshal(corruptDetail{e.Dir, e.Place, e.Seq, e.Err.Error()})
	if err != nil {
		return "", nil
	}
	return kindCorrupt, detail
}

// explained is the other end of Explain.
func explained(kind string, detail json.RawMessage) error {
	var d corruptDetail
	if kind != kindCorrupt || json.Unmarshal(detail, &d) != nil {
		return nil
	}
	return &CorruptError{Dir: d.Dir, Place: d.Place, Seq: d.Seq, Err: errors.New(d.Problem)}
}

// Live is a store that another process has open for writing, read through the
// socket in its directory: what was durable when this was opened, and nothing
// later. It is a [store.Store] that cannot be written to. An answer of [live]'s
// that tells of a passing trouble ([live.ErrCut], [live.ErrBusy]) may be asked for
// anew, with another Live.
type Live struct {
	*live.Store
	info Info
}

// OpenLive asks the process that has the store in dir open; Open has said that one
// does ([ErrLocked]). The error is [live.ErrNotServed] where that process lets
// nobody read: it is still opening the store, was told not to
// ([Options.NoSocket]), or could not make the socket.
func OpenLive(ctx context.Context, dir string) (*Live, error) {
	s, err := live.Open(ctx, dir, explained)
	if err != nil {
		return nil, err
	}
	l := &Live{Store: s}
	if err := json.Unmarshal(s.About(), &l.info); err != nil {
		return nil, errors.Join(fmt.Errorf("read what the process says of store %s: %w", dir, err), s.Close())
	}
	return l, nil
}

// Info is what the other process said of its store when this was opened.
func (l *Live) Info() (Info, error) { return l.info, nil }

// Check has the other process check its store, as [Log.Check] does.
func (l *Live) Check(ctx context.Context, report func(Finding)) error {
	var failed error
	err := l.Look(ctx, func(text json.RawMessage) {
		var f Finding
		if err := json.Unmarshal(text, &f); err != nil {
			failed = errors.Join(failed, err)
			return
		}
		report(f)
	})
	return errors.Join(err, failed)
}
