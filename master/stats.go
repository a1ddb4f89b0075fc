package master

import (
	"sync/atomic"
	"time"
)

// Stats counts what a master has done since it was started; the names are those
// of Mesos's metrics where it has the thing. It is a copy.
type Stats struct {
	// Registrations are new agents; Reregistrations came back, but for those
	// that had not been away; Reconnections are the latter.
	Registrations, Reregistrations, Reconnections uint64
	// Removals are all that left, for one of these reasons; RecoveryRemovals are
	// those of the unhealthy that had not come back since a failover.
	Removals, RemovalsUnhealthy, RemovalsUnregistered, RemovalsGone, RemovalsOperator uint64
	RecoveryRemovals                                                                  uint64
	// Of the agents that were to be marked unreachable, so many were, or came
	// back in time.
	UnreachableScheduled, UnreachableCompleted, UnreachableCanceled uint64
	// UnreachableWaiting are between the two now.
	UnreachableWaiting int
	// FrozenSince is since when none, or none of some fault domain, is marked
	// unreachable, because there were too many; zero while all is well. See
	// [State.Frozen].
	FrozenSince time.Time
	// Pruned agents were forgotten after they had been unreachable or gone.
	Pruned uint64
	// Drained agents became empty.
	Drained uint64
	// Disconnections are streams that broke, or whose agents were silent.
	Disconnections uint64

	// TasksFinished and the others are tasks that ended so.
	TasksFinished, TasksFailed, TasksKilled, TasksError, TasksLost, TasksDropped, TasksGone, TasksGoneByOperator uint64
	// TasksUnreachable counts tasks that became so.
	TasksUnreachable uint64
	// TasksStaging and the others are in this state now, in all frameworks;
	// TasksAway were on agents that are unreachable, and may come back.
	TasksStaging, TasksStarting, TasksRunning, TasksKilling, TasksAway int

	// DroppedMessages came from agents that were not members, or on a stream
	// that was not theirs any more. Refused and Postponed are subscriptions.
	DroppedMessages, Refused, Postponed uint64
	// MessagesUpdate, MessagesUnregister and MessagesHeartbeat came.
	MessagesUpdate, MessagesUnregister, MessagesHeartbeat uint64
	// QueuedCalls wait for the master now.
	QueuedCalls int
	// ConnectedAgents have a stream now.
	ConnectedAgents int
}

// traffic is counted where it comes in, without the loop.
type traffic struct{ updates, unregisters, heartbeats, dropped atomic.Uint64 }

// Stats returns what the master has done so far.
func (m *Master) Stats() Stats {
	m.mu.Lock()
	s := m.stats
	m.mu.Unlock()
	s.MessagesUpdate = m.traffic.updates.Load()
	s.MessagesUnregister = m.traffic.unregisters.Load()
	s.MessagesHeartbeat = m.traffic.heartbeats.Load()
	s.DroppedMessages += m.traffic.dropped.Load()
	s.QueuedCalls = len(m.calls)
	return s
}
