package master

import "sync"

// mailbox is a queue without a bound, for one taker. What is put in is bounded
// by whoever puts it in.
type mailbox[T any] struct {
	mu    sync.Mutex
	queue []T
	// ready says that there may be something.
	ready chan struct{}
}

func newMailbox[T any]() *mailbox[T] {
	return &mailbox[T]{ready: make(chan struct{}, 1)}
}

func (b *mailbox[T]) put(v T) {
	b.mu.Lock()
	b.queue = append(b.queue, v)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take takes all there is.
func (b *mailbox[T]) take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.queue
	b.queue = nil
	return all
}
