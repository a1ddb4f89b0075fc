package backup

import (
	"time"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
)

// Begin is the place at which a store begins that is made of the backup now. It
// goes on at a revision that was never given to anything:
// [registrar.RevisionsSkipped] further, and one for each microsecond since the
// backup was made. What the original did since then, with revisions that somebody
// may have been told, is not in the backup; nor is what an earlier store did that
// was made of this very backup. No engine decides an operation in a microsecond,
// so neither can have come as far, unless the clocks of the machines disagree by
// more than the first part covers: a quarter of an hour at that pace, or twelve
// days of a thousand changes a second.
func (b *Backup) Begin(now time.Time) store.Mark {
	m := b.Mark
	m.Seq = max(m.Seq, 1)
	m.Revision += registrar.RevisionsSkipped + uint64(max(0, now.Sub(b.Made).Microseconds()))
	return m
}
