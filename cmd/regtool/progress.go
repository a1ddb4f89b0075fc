package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far long work has come. It stays silent
// when nobody looks, and in the first second: most work is over by then.
// It belongs to one goroutine.
type progress struct {
	bar  *progressbar.ProgressBar // nil while silent
	make func() *progressbar.ProgressBar
	from time.Time
	done int64
}

// newProgress counts up to total; a negative total means that the end is not
// known. The bar goes to w, which is stderr.
func newProgress(w io.Writer, what string, total int64) *progress {
	p := &progress{from: time.Now()}
	if terminal(w) {
		p.make = func() *progressbar.ProgressBar {
			return progressbar.NewOptions64(total,
				progressbar.OptionSetWriter(w),
				progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(),
			)
		}
	}
	return p
}

// Add says that n more units are done.
func (p *progress) Add(n int64) {
	p.done += n
	if p.make == nil {
		return
	}
	if p.bar == nil {
		if time.Since(p.from) < time.Second {
			return
		}
		p.bar = p.make()
	}
	p.bar.Set64(p.done)
}

// Done takes the bar off the terminal.
func (p *progress) Done() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
