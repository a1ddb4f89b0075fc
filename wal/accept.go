package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Loss is a loss of records that was accepted: see [Options.AcceptLoss].
//
// How that is done, each step durable before the next:
//
//  1. what tells of the loss is copied to quarantine/N (quarantine);
//  2. Pebble gets the row of the loss and a new history, in one batch (accept);
//  3. WITNESS gets the new history and the place that is left (adopt);
//  4. STORE gets the new history (adopt).
//
// A crash before the end of step 2 leaves a loss, to be refused or accepted
// anew. After it Pebble's rows hold: as long as STORE names a history that
// ended, whoever opens the store sees through that (acceptedBefore), and whoever
// opens it for writing takes steps 3 and 4 before anything is appended.
type Loss struct {
	// History is the one that ended with it.
	History store.HistoryID `json:"history"`
	// From is the first revision that was lost. Where a checkpoint outlived the
	// records before it, that is one of theirs: what was in the registry at the
	// checkpoint is not lost, but how it came about is. Reason says so.
	From uint64 `json:"from"`
	// Left is the place up to which the store could still be read, Witnessed
	// the place it once proved; zero when no witness could be read.
	Left      store.Mark `json:"left"`
	Witnessed store.Mark `json:"witnessed"`
	// Quarantine is the number of the directory in quarantine that holds a
	// copy of the files as they were.
	Quarantine uint64 `json:"quarantine"`
	// Reason says how the loss was noticed.
	Reason string `json:"reason"`
}

// String says what was lost and where to look for it.
func (l Loss) String() string {
	return fmt.Sprintf("a loss was accepted, and history %s ended with it: %s: %s; the files as they were are in %s/%d",
		l.History, whatIsLost(l.From, l.Witnessed.Revision), l.Reason, dirQuarantine, l.Quarantine)
}

// earlier are the histories that ended. Where a later loss went back behind an
// earlier one, that one keeps no more than is left now.
func earlier(losses []Loss) []store.Earlier {
	if len(losses) == 0 {
		return nil
	}
	list := make([]store.Earlier, len(losses))
	until := losses[len(losses)-1].Left.Seq
	for i := len(losses) - 1; i >= 0; i-- {
		until = min(until, losses[i].Left.Seq)
		list[i] = store.Earlier{History: losses[i].History, Until: until}
	}
	return list
}

// acceptedBefore reports whether a crash came between steps 2 and 4: then
// nothing was appended since, and the witness is still that of the loss, or not
// there if that was the loss. Any other disagreement is a loss of its own.
func (l *Log) acceptedBefore(t testimony) bool {
	if l.stored == l.history || l.durable != l.losses[len(l.losses)-1].Left {
		return false
	}
	return !t.readable() || l.ended(t.history)
}

// accept writes the loss down. The flush is what Create does too: the rows are
// not left to the end of Pebble's log, where a disk that loses records once
// may lose them again, and the file STORE would name a history unknown here.
func (l *Log) accept(db *pebble.DB) error {
	l.mu.Lock()
	history, n := l.history, len(l.losses)
	loss := l.losses[n-1]
	l.mu.Unlock()
	key, frame := putLoss(uint64(n), loss)
	err := l.watch.run(func() error {
		err := commit(db, func(b *pebble.Batch) error {
			return errors.Join(b.Set(key, frame, nil), b.Set(metaKey("history"), history[:], nil))
		})
		if err != nil {
			return err
		}
		return l.watch.flush(db)
	})
	if err != nil {
		return fmt.Errorf("accept loss in store %s: %w", l.dir, err)
	}
	l.log.Warn("loss accepted; the store goes on with a new history", "dir", l.dir,
		"history", history, "ended", loss.History, "left", loss.Left.Seq, "quarantine", loss.Quarantine)
	return nil
}

// keepEvidence copies what tells of the last loss, and notes where.
func (l *Log) keepEvidence() error {
	n, err := quarantine(l.o.FS, l.dir)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses[len(l.losses)-1].Quarantine = n
	return nil
}

// adopt makes WITNESS and STORE, in this order, files of the history that goes
// on. It returns what the witness says then.
func (l *Log) adopt(g *gate) (testimony, error) {
	err := replaceWitness(g, l.dir, l.history, l.durable)
	if err == nil {
		err = replaceFile(g, l.dir, fileStore, fileStoreNew, storeText(l.history, l.format))
	}
	if err != nil {
		return testimony{}, fmt.Errorf("complete the acceptance of a loss in store %s: %w", l.dir, err)
	}
	l.stored = l.history
	return testimony{mark: l.durable, history: l.history, gen: 2}, nil
}
