package httpapi

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/leaves"
)

// warming is the work of rendering the leaves of a state that changed since they
// were rendered last.
type warming struct {
	jobs []func(room *atomic.Int64, scratch []byte) []byte
}

// warm renders what an endpoint shows of a state. What does not fit into most
// bytes is not remembered, and rendered when it is sent.
func warm(s *master.State, e *endpoint, q *question, most int64) {
	var w warming
	if e.agents != nil && !q.Has("slave_id") {
		gather(&w, s.AgentLeaves(), e.agents)
		gather(&w, s.RecoveredLeaves(), recoveredInState)
	}
	if e.frameworks {
		for f := range everyFramework(s) {
			if !q.asksFor("framework_id", f.Info.ID) || !q.seesFramework(&f.Info) {
				continue
			}
			gather(&w, f.TaskLeaves(), tasksInState)
			gather(&w, f.UnreachableLeaves(), pastInState)
			gather(&w, f.CompletedLeaves(), pastInState)
			gather(&w, f.ExecutorLeaves(), executorsInState)
		}
	}
	if len(w.jobs) > 0 {
		w.run(most - held(s))
	}
}

// gather notes which leaves are to be rendered.
func gather[V comparable](w *warming, all iter.Seq[*leaves.Leaf[V]], k *kind[V]) {
	for l := range all {
		if l.Remembered(k.form) != nil {
			continue
		}
		w.jobs = append(w.jobs, func(room *atomic.Int64, scratch []byte) []byte {
			r, scratch := l.Render(k.form, k.room(scratch, l), k.one)
			if n := k.stillNoted(l); n != nil {
				r.SetNote(n)
			}
			if room.Add(-int64(r.Size())) >= 0 {
				l.Remember(k.form, r)
			}
			return scratch
		})
	}
}

// room is scratch with room for what a leaf looks like, if all of it is to be
// rendered.
func (k *kind[V]) room(scratch []byte, l *leaves.Leaf[V]) []byte {
	if _, old := l.Before(k.form); old != nil {
		return scratch
	}
	size := 0
	for _, v := range l.Values() {
		size += k.size(v)
	}
	return slices.Grow(scratch[:0], size)
}

// run renders what there is room for, on all cores if it is much.
func (w *warming) run(free int64) {
	var room atomic.Int64
	room.Store(free)
	var next atomic.Int64
	var panicked atomic.Pointer[any] // by a worker; it is the caller's
	work := func() {
		defer func() {
			if cause := recover(); cause != nil {
				panicked.Store(&cause)
			}
		}()
		var scratch []byte
		for i := next.Add(1) - 1; i < int64(len(w.jobs)) && room.Load() > 0; i = next.Add(1) - 1 {
			scratch = w.jobs[i](&room, scratch)
		}
	}
	workers := runtime.GOMAXPROCS(0)
	const few = 64 // are done before another goroutine has begun
	if len(w.jobs) <= few {
		workers = 1
	}
	var done sync.WaitGroup
	for range workers - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
	if cause := panicked.Load(); cause != nil {
		panic(*cause)
	}
}

// held is how many bytes the leaves of a state remember: those that a question is not
// about, too.
func held(s *master.State) int64 {
	n := sizeOfLeaves(s.AgentLeaves()) + sizeOfLeaves(s.RecoveredLeaves())
	for f := range everyFramework(s) {
		n += sizeOfLeaves(f.TaskLeaves()) + sizeOfLeaves(f.UnreachableLeaves()) +
			sizeOfLeaves(f.CompletedLeaves()) + sizeOfLeaves(f.ExecutorLeaves())
	}
	return n
}

func sizeOfLeaves[V comparable](all iter.Seq[*leaves.Leaf[V]]) (n int64) {
	for l := range all {
		n += int64(l.Size())
	}
	return n
}

// forget drops what the leaves of a state remember.
func forget(s *master.State) {
	drop(s.AgentLeaves())
	drop(s.RecoveredLeaves())
	for f := range everyFramework(s) {
		drop(f.TaskLeaves())
		drop(f.UnreachableLeaves())
		drop(f.CompletedLeaves())
		drop(f.ExecutorLeaves())
	}
}

func drop[V comparable](all iter.Seq[*leaves.Leaf[V]]) {
	for l := range all {
		l.Forget()
	}
}
