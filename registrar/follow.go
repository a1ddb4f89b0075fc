package registrar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Follower keeps the registry of another process that writes to the same store,
// so that taking over costs the records since the last look, and not a full
// [Load]: hand it to [Open] in Options.Follower. Its methods may be called from any
// number of goroutines.
type Follower struct {
	options Options
	store   store.Store
	current atomic.Pointer[registry.Registry]

	mu     sync.Mutex
	loader *loader // nil once it was handed over
}

// Follow reads and proves the registry in s, which is open for reading, as Load
// does. Options are those that it will be opened with. The store remains the
// caller's.
func Follow(ctx context.Context, s store.Store, o Options) (*Follower, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("follow the registry: %w", err)
	}
	f := &Follower{options: o.withDefaults(), store: s}
	if err := f.begin(ctx); err != nil {
		return nil, fmt.Errorf("follow the registry: %w", err)
	}
	return f, nil
}

// begin reads everything.
func (f *Follower) begin(ctx context.Context) error {
	f.loader = newLoader(f.store, math.MaxUint64, newRequests(f.options.MaxRequests))
	reg, _, err := f.loader.load(ctx, f.store)
	if err == nil {
		f.current.Store(reg)
	}
	return err
}

// CatchUp reads and proves the records that have come since the last look; all of
// the registry, if too many have come. After an error, one of Load's, the registry
// is as it was, and the next CatchUp reads all of it afresh.
func (f *Follower) CatchUp(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loader == nil {
		return fmt.Errorf("follow the registry: %w", ErrClosed)
	}
	reg, _, err := f.loader.load(ctx, f.store)
	switch {
	case err == nil:
		f.current.Store(reg)
		return nil
	case errors.Is(err, store.ErrCompacted):
		err = f.begin(ctx)
	}
	if err != nil {
		// What a broken-off reading leaves is no registry.
		f.loader = newLoader(f.store, math.MaxUint64, newRequests(f.options.MaxRequests))
		return fmt.Errorf("follow the registry: %w", err)
	}
	return nil
}

// Snapshot is the registry as it was at the last look.
func (f *Follower) Snapshot() *registry.Registry { return f.current.Load() }

// handOver gives what was read to whoever opens s for writing, if s holds that.
func (f *Follower) handOver(ctx context.Context, s store.Store) (*loader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.loader
	f.loader = nil
	if l == nil {
		return nil, fmt.Errorf("take over from the follower: %w", ErrClosed)
	}
	there, err := l.standsIn(ctx, s)
	if err != nil {
		return nil, err
	}
	if !there {
		f.options.Logger.Warn("the store does not hold what was followed; everything is read afresh",
			"history", l.found.Identity.History, "record", l.found.Mark.Seq)
		return newLoader(s, math.MaxUint64, newRequests(f.options.MaxRequests)), nil
	}
	l.found.Identity = s.Identity()
	return l, nil
}

// standsIn reports whether the place that l has come to is one of s.
func (l *loader) standsIn(ctx context.Context, s store.Store) (bool, error) {
	mark := l.found.Mark
	if s.Identity().History != l.found.Identity.History {
		return false, nil
	}
	if mark.Seq == 0 {
		return true, nil
	}
	for rec, err := range s.Records(ctx, mark.Seq-1) {
		if errors.Is(err, store.ErrCompacted) {
			break
		}
		return rec.Mark == mark, err
	}
	for _, place := range s.Places() {
		if place.Mark == mark {
			return true, nil
		}
	}
	return false, nil
}
