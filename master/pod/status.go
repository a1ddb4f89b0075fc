package pod

import (
	"iter"
	"sync"
	"time"
)

// Status is what is said of a pod. It does not change once somebody else has it.
type Status struct {
	Definition *Definition
	// Instances are those that are known, each derived by [Show] from this
	// definition; nil is none.
	Instances iter.Seq[*InstanceStatus]
	// Deleted says that the pod is on its way out.
	Deleted bool
	// Updated is when this was last anything else. Emptied is when the last
	// instance left, zero if there never was one.
	Updated, Emptied time.Time
	// Ended is the last instance that failed, nil if none is known.
	Ended *InstanceStatus
	// Version tells this apart from what is said of the pod at other times.
	Version uint64

	deriving, rendering sync.Once
	state               State
	since               time.Time
	text                []byte
}

// State is TERMINAL for a pod that is on its way out, STABLE with as many stable
// instances as there are to be, and else DEGRADED.
func (s *Status) State() State {
	s.deriving.Do(s.derive)
	return s.state
}

// Since is when an instance changed last, or when the last one left, or when the
// definition was made.
func (s *Status) Since() time.Time {
	s.deriving.Do(s.derive)
	return s.since
}

func (s *Status) derive() {
	stable, any := int32(0), false
	for i := range s.instances() {
		any = true
		if i.State == InstanceStable {
			stable++
		}
		if i.Since.After(s.since) {
			s.since = i.Since
		}
	}
	if !any {
		s.since = s.Definition.Version.Time
		if s.Emptied.After(s.since) {
			s.since = s.Emptied
		}
	}
	switch {
	case s.Deleted:
		s.state = Terminal
	case stable >= s.Definition.Scaling.Instances:
		s.state = Stable
	default:
		s.state = Degraded
	}
}

func (s *Status) instances() iter.Seq[*InstanceStatus] {
	if s.Instances == nil {
		return func(func(*InstanceStatus) bool) {}
	}
	return s.Instances
}

// JSON is the status as GET /v2/pods/{id}::status has it. Nobody may change it.
func (s *Status) JSON() []byte {
	s.rendering.Do(func() { s.text = s.append(make([]byte, 0, 2048)) })
	return s.text
}

// JSON is the same for an instance.
func (s *InstanceStatus) JSON() []byte {
	s.once.Do(func() { s.text = s.append(make([]byte, 0, 1024)) })
	return s.text
}
