package link

// Reason says why a link ended. A caller may use reasons of its own.
type Reason string

// Reasons that every table knows.
const (
	Exited      Reason = "exited"                        // the process ended
	Lost        Reason = "connection lost"               // a connection that was made broke
	Unreachable Reason = "no connection could be made"   // an attempt failed
	Absent      Reason = "no connection at time of link" // the table gives it itself
)

// Notice tells a linker that a peer is gone.
type Notice struct {
	Linker     *Process
	Address    string // where the linkee was; "" for a process of ours
	Linkee     string // its ID
	Generation uint64 // of the process or the connection that ended; 0 if there was none
	Reason     Reason
}

// Inbox is where notices wait for the one goroutine that takes them. It has no
// bound: there are never more notices than links were made.
type Inbox struct {
	table *Table
	ready chan struct{}

	first, last *edge // waiting, oldest first, a list by nextOut; guarded by table.mu
	taken       *edge // taken from there by the reader, and the reader's alone
}

// NewInbox returns an empty inbox. One may serve any number of processes.
func (t *Table) NewInbox() *Inbox {
	return &Inbox{table: t, ready: make(chan struct{}, 1)}
}

// Ready says that there may be a notice. Whoever receives from it must then call
// Next until it returns false, before waiting again.
func (b *Inbox) Ready() <-chan struct{} { return b.ready }

// Next takes the oldest notice, or returns false if there is none. Only one
// goroutine at a time may call it.
func (b *Inbox) Next() (Notice, bool) {
	for b.taken != nil || b.take() {
		e := b.taken
		b.taken = e.nextOut
		e.nextOut = nil // a notice that is still in use must not keep the others
		if !e.linker.gone.Load() {
			return e.notice(), true
		}
	}
	return Notice{}, false
}

// take moves all that waits to the reader, so that one lock serves them all.
func (b *Inbox) take() bool {
	b.table.mu.Lock()
	defer b.table.mu.Unlock()
	b.taken, b.first, b.last = b.first, nil, nil
	return b.taken != nil
}

// push adds an edge that ended. It needs the lock, and never waits.
func (b *Inbox) push(e *edge) {
	if b.first != nil {
		b.last.nextOut, b.last = e, e
		return
	}
	b.first, b.last = e, e
	select {
	case b.ready <- struct{}{}:
	default: // the reader was told, and has not looked yet
	}
}

func (e *edge) notice() Notice {
	n := Notice{Linker: e.linker, Linkee: e.linkee.id, Generation: e.linkee.generation, Reason: e.linkee.reason}
	if e.linkee.node != nil {
		n.Address = e.linkee.node.address
	}
	return n
}
