package registrar

import (
	"context"
	"time"
)

// retention decides how far back the log stays readable. Only the checkpointer,
// and after it Close, use it.
type retention struct {
	looked      bool    // for what was there when the registrar was opened
	places      []place // up to which records may be let go, oldest first
	checkpoints int64   // bytes of those written since
}

// place is behind a record.
type place struct {
	seq     uint64
	written int64         // bytes of records and checkpoints since the registrar was opened
	at      time.Duration // since it was opened
}

// keepAfter is the newest place behind which there is as much as the options
// want kept, or 0: everything is.
func (r *Registrar) keepAfter(ctx context.Context, cur *point) uint64 {
	h := &r.retention
	if !h.looked {
		found, err := r.foundPlaces(ctx)
		if ctx.Err() != nil {
			return 0
		}
		if err != nil { // what lies behind the newest checkpoint was read when it was opened
			r.options.Logger.Warn("history is damaged; what the last checkpoint makes dispensable is let go of as one", "err", err)
			found = []place{{seq: r.recovery.Checkpoint.Seq}}
		}
		h.looked, h.places = true, found
	}
	now := place{cur.mark.Seq, cur.logged + h.checkpoints, time.Since(r.opened)}
	for len(h.places) > 1 && r.options.isEnough(h.places[1], now) {
		h.places = h.places[1:]
	}
	keep := uint64(0)
	if len(h.places) > 0 && r.options.isEnough(h.places[0], now) {
		keep = h.places[0].seq
	}
	h.places = append(h.places, now)
	return keep
}

// isEnough says whether what was written from one place to another is all that
// must be kept.
func (o *Options) isEnough(from, to place) bool {
	return to.seq-from.seq >= o.HistoryRecords || to.written-from.written >= o.HistoryBytes || to.at-from.at >= o.HistoryAge
}

// foundPlaces reads the log that was there when the registrar was opened, once,
// for places that are not too close to each other.
func (r *Registrar) foundPlaces(ctx context.Context) ([]place, error) {
	var places []place
	const apart = 64 // of these to the whole history
	last, written := place{seq: r.store.Oldest().Seq}, int64(0)
	checkpoints := map[uint64]int64{}
	for _, p := range r.store.Places() {
		checkpoints[p.Seq] = p.Bytes
	}
	for rec, err := range r.store.Records(ctx, last.seq) {
		if err != nil {
			return nil, err
		}
		if rec.Seq > r.recovery.Mark.Seq {
			break
		}
		written += int64(len(rec.Data)) + checkpoints[rec.Seq]
		p := place{seq: rec.Seq, written: written}
		if p.written-last.written > r.options.HistoryBytes/apart || p.seq-last.seq > r.options.HistoryRecords/apart {
			places = append(places, p)
			last = p
		}
	}
	for i := range places {
		places[i].written -= written // what is written from now on begins at 0
	}
	return places, nil
}
