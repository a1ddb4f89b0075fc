package master

import (
	"context"
	"sync"
	"time"

	"github.com/eaba02dc/registrar/master/link"
)

// silent is why a stream was ended of which nothing came for too long.
const silent = link.Reason("nothing was heard of the agent for too long")

// pulse sends heartbeats down the streams that stand, and ends those that are
// silent. It has a goroutine of its own: while the loop is busy, agents are to
// hear that their master lives, and none is taken for dead.
type pulse struct {
	interval time.Duration
	patience time.Duration // how long a stream may be silent

	mu    sync.Mutex // guards what follows
	wheel wheel
	// excused is the end of the last time in which this process did not run: what
	// came before may wait to be read, so that silence counts from then on.
	excused time.Duration

	some chan struct{} // says that there are streams after there were none
	done chan struct{} // closed when run has returned
}

func newPulse(o Options) *pulse {
	return &pulse{interval: o.PingTimeout, patience: o.PingTimeout * time.Duration(o.MaxPingTimeouts),
		wheel: newWheel(o.PingTimeout), some: make(chan struct{}, 1), done: make(chan struct{})}
}

func (p *pulse) add(s *Stream, now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wheel.add(s, now)
	if p.wheel.count == 1 {
		select {
		case p.some <- struct{}{}:
		default:
		}
	}
}

func (p *pulse) remove(s *Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wheel.remove(s)
}

// run visits streams until ctx ends. While there are none it sleeps.
func (p *pulse) run(ctx context.Context, m *Master) {
	defer close(p.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var streams []*Stream // whose turn it is
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.some:
		case <-timer.C:
		}
		var next time.Duration
		if streams, next = p.turn(m.now(), streams); next > 0 {
			timer.Reset(max(next-m.now(), time.Millisecond))
		}
	}
}

// turn visits the streams whose turn it is, and says when to come again; 0 means
// when there are some. It does so without the lock, for the loop not to wait:
// one that is over by then is not hurt.
func (p *pulse) turn(now time.Duration, buf []*Stream) (streams []*Stream, next time.Duration) {
	p.mu.Lock()
	if p.wheel.count > 0 && now-p.wheel.due > p.interval {
		p.excused = now
	}
	streams = p.wheel.turn(now, buf[:0])
	if p.wheel.count > 0 {
		next = p.wheel.due
	}
	excused := p.excused
	p.mu.Unlock()
	for _, s := range streams {
		s.keepAlive(now - p.interval/2) // so that no pause is longer than an interval and a half
		if now-max(s.lastHeard(now), excused) >= p.patience {
			s.broke(silent)
		}
	}
	clear(streams)
	return streams, next
}

// wheelSlots is into how many parts the wheel spreads the streams.
const wheelSlots = 64

// wheel goes by all streams that stand once in an interval, a part of them at a
// time. Adding and removing costs O(1), and nothing wakes up for a single agent.
type wheel struct {
	step  time.Duration // from one slot to the next
	due   time.Duration // when the next slot's turn is, by the age of the master
	next  int
	fill  int // the slot for the next stream, so that they spread
	count int
	slots [wheelSlots][]*Stream
}

// slot is a place in the wheel.
type slot struct{ wheel, index int }

func newWheel(interval time.Duration) wheel { return wheel{step: max(interval/wheelSlots, 1)} }

func (w *wheel) add(s *Stream, now time.Duration) {
	if w.count == 0 { // it stood still
		w.due = now + w.step
	}
	s.slot = slot{w.fill, len(w.slots[w.fill])}
	w.slots[w.fill] = append(w.slots[w.fill], s)
	w.fill = (w.fill + 1) % wheelSlots
	w.count++
}

func (w *wheel) remove(s *Stream) {
	all := w.slots[s.slot.wheel]
	last := all[len(all)-1]
	all[s.slot.index], last.slot.index = last, s.slot.index
	all[len(all)-1] = nil
	w.slots[s.slot.wheel] = all[:len(all)-1]
	w.count--
}

// turn adds the streams whose turn it is. After a long wait it goes round once.
func (w *wheel) turn(now time.Duration, to []*Stream) []*Stream {
	for range wheelSlots {
		if w.due > now {
			return to
		}
		to = append(to, w.slots[w.next]...)
		w.next = (w.next + 1) % wheelSlots
		w.due += w.step
	}
	w.due = max(w.due, now+w.step)
	return to
}
