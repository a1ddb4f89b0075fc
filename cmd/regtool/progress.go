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
			return newBar(w, what, total, progressbar.OptionShowCount(), progressbar.OptionThrottle(tick))
		}
	}
	return p
}

// patience is how long work may take before it is shown, tick how often what
// is shown changes.
const (
	patience = time.Second
	tick     = 100 * time.Millisecond
)

func newBar(w io.Writer, what string, total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append(more,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(harmless(what)),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionClearOnFinish())...)
}

// Add says that n more units are done.
func (p *progress) Add(n int64) {
	p.done += n
	if p.make == nil {
		return
	}
	if p.bar == nil {
		if time.Since(p.from) < patience {
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

// busy shows on a terminal, after the first second, that work whose extent is
// not known goes on. The returned function ends that, and waits for its end.
func busy(w io.Writer, what string) (done func()) {
	if !terminal(w) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		spin(w, what, stop)
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

func spin(w io.Writer, what string, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	case <-time.After(patience):
	}
	bar := newBar(w, what, -1, progressbar.OptionSpinnerType(14))
	defer bar.Clear()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		bar.Add(1)
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
	}
}
