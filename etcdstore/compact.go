package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Compact stores a checkpoint and lets go of what is older. What it lets go of is
// deleted; etcd keeps deleted values until its own history is compacted, which
// Compact has it do up to the checkpoint before: who follows has the time between
// two checkpoints to catch up.
func (s *Store) Compact(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	if err := s.compact(ctx, covers, chunks, keepAfter); err != nil {
		return fmt.Errorf("store checkpoint %d in etcd: %w", covers.Seq, explain(err))
	}
	return nil
}

func (s *Store) compact(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte], keepAfter uint64) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	_, err := s.look(ctx) // a try before may have got further than it was told
	if err == nil && s.lead == nil {
		err = store.ErrReadOnly
	}
	there := false
	if err == nil {
		there, err = s.mayCover(covers)
	}
	if err != nil {
		return err
	}
	if !there {
		if err := s.writeCheckpoint(ctx, covers, chunks); err != nil {
			return err
		}
	}
	return s.letGo(ctx, keepAfter)
}

// mayCover reports whether the checkpoint is there already.
func (s *Store) mayCover(m store.Mark) (there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Seq == 0 || m.Seq > s.found.last.Seq {
		return false, fmt.Errorf("the last durable record is %d", s.found.last.Seq)
	}
	n := len(s.found.checkpoints)
	if n == 0 || s.found.checkpoints[n-1].Seq < m.Seq {
		return false, nil
	}
	if newest := s.found.checkpoints[n-1].Mark; newest != m {
		return false, fmt.Errorf("checkpoint %d is there already", newest.Seq)
	}
	return true, nil
}

func (s *Store) writeCheckpoint(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte]) error {
	t, err := s.writeChunks(ctx, covers, chunks)
	if err != nil {
		return err
	}
	key := seqKey(underCheckpoint, covers.Seq)
	if err := s.asLeader(ctx, clientv3.OpPut(s.o.Prefix+key, sealCheckpoint(key, t))); err != nil {
		return err
	}
	return s.refresh(ctx)
}

// writeChunks puts the chunks of a checkpoint, several parts at once, in place of
// those that a broken-off try left.
func (s *Store) writeChunks(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte]) (trailer, error) {
	t := trailer{Mark: covers}
	from := s.o.Prefix + seqKey(underChunk, covers.Seq)
	if err := s.asLeader(ctx, clientv3.OpDelete(from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(from)))); err != nil {
		return t, err
	}
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(maxParts)
	var part []byte
	send := func() {
		n, whole := t.parts, part
		t.parts, part = t.parts+1, nil
		g.Go(func() error { return s.writePart(writing, underChunk, covers.Seq, n, whole) })
	}
	add := func(b []byte) {
		for len(b) > 0 {
			n := min(len(b), maxPart-len(part))
			part, b = append(part, b[:n]...), b[n:]
			if len(part) == maxPart {
				send()
			}
		}
	}
	for chunk := range chunks {
		if writing.Err() != nil || s.mayUse(ctx) != nil {
			break
		}
		t.chunks++
		t.bytes += int64(len(chunk))
		add(le.AppendUint32(nil, uint32(len(chunk))))
		add(chunk)
	}
	if len(part) > 0 {
		send()
	}
	if err := g.Wait(); err != nil {
		return t, err
	}
	return t, s.mayUse(ctx)
}

// letGo deletes what keepAfter does not need: first what says that it is there,
// then the rest in slices, so that nothing takes etcd's time for long.
func (s *Store) letGo(ctx context.Context, keepAfter uint64) error {
	s.mu.Lock()
	checkpoints, oldest, p := s.found.checkpoints, s.found.oldest, s.o.Prefix
	s.mu.Unlock()
	n := len(checkpoints)
	if n < 2 {
		return nil
	}
	limit := min(keepAfter, checkpoints[n-2].Seq)
	i := 0
	for i+1 < n && checkpoints[i+1].Seq <= limit {
		i++
	}
	base := checkpoints[i].Mark
	if base.Seq > limit || base.Seq <= oldest.Seq {
		return nil
	}
	err := s.asLeader(ctx,
		clientv3.OpPut(p+keyOldest, sealPlace(keyOldest, base)),
		clientv3.OpDelete(p+seqKey(underCheckpoint, 0), clientv3.WithRange(p+seqKey(underCheckpoint, base.Seq))))
	if err == nil {
		err = s.refresh(ctx)
	}
	if err == nil {
		err = s.deleteUpTo(ctx, base.Seq)
	}
	if err != nil {
		return err
	}
	s.compactEtcd(ctx)
	return nil
}

// deletePerRequest is how many records go in one request.
const deletePerRequest = 1000

// deleteUpTo deletes the records up to seq, and the chunks of the checkpoints
// before it.
func (s *Store) deleteUpTo(ctx context.Context, seq uint64) error {
	p := s.o.Prefix
	before := seqKey(underChunk, seq)
	if err := s.asLeader(ctx, clientv3.OpDelete(p+underChunk, clientv3.WithRange(p+before))); err != nil {
		return err
	}
	for {
		resp, err := s.client.Get(ctx, p+underRecord, clientv3.WithRange(p+seqKey(underRecord, seq+1)), clientv3.WithLimit(deletePerRequest), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		n := len(resp.Kvs)
		if n == 0 {
			break
		}
		to := string(resp.Kvs[n-1].Key) + "\x00"
		if err := s.asLeader(ctx, clientv3.OpDelete(p+underRecord, clientv3.WithRange(to))); err != nil {
			return err
		}
	}
	return s.asLeader(ctx, clientv3.OpDelete(p+underPart, clientv3.WithRange(p+seqKey(underPart, seq+1))))
}

// compactEtcd has etcd forget what keys held before the last time this was done.
func (s *Store) compactEtcd(ctx context.Context) {
	revision := s.forget
	s.mu.Lock()
	s.forget = s.found.revision
	s.mu.Unlock()
	if revision == 0 {
		return
	}
	if _, err := s.client.Compact(ctx, revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		s.o.Logger.Warn("etcd's history was not compacted; its database grows until it is", "revision", revision, "err", err)
	}
}
