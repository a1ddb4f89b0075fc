package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/registrar/store"
)

const (
	// maxGroup is the most bytes of records in one transaction, unless the first alone
	// has more: with the rest they fit in the 1.5 MiB that etcd takes.
	maxGroup = 5 << 18
	// maxOps is the most operations that etcd takes in a transaction
	// (--max-txn-ops).
	maxOps = 128
	// maxParts is how many parts are on their way to etcd at once.
	maxParts = 4
	// askAgain is the pause before a request without an answer is sent again.
	askAgain = 50 * time.Millisecond
	// tryFor is how long one request may take: the next one goes to another member.
	tryFor = 3 * time.Second
)

// BatchBytes is what a registrar on etcd may put into a batch
// ([registrar.Options].MaxBatchBytes): a round to etcd costs more than a sync of a
// disk, and a request of this much fits in the 1.5 MiB that etcd takes.
const BatchBytes = 768 << 10

// pending is a record that waits to be written, or is on its way to etcd.
type pending struct {
	record store.Record
	cut    [][]byte // its data
	value  string   // what stands under its key
	prev   store.Mark
	done   chan struct{}
	err    error // set before done is closed
}

// Append queues a copy of r. One transaction at a time is on its way to etcd; what
// is appended meanwhile goes into the next one, so that a busy registrar has a round
// for each MiB. A record costs two puts, or one more for each MiB of data above the
// first.
func (s *Store) Append(r store.Record) (durable func() error, err error) {
	p, err := s.take(r)
	if err != nil {
		return nil, fmt.Errorf("append record %d: %w", r.Seq, err)
	}
	return func() error { <-p.done; return p.err }, nil
}

func (s *Store) take(r store.Record) (*pending, error) {
	if s.lead == nil {
		return nil, store.ErrReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.appended
	switch {
	case s.closed:
		return nil, store.ErrClosed
	case s.err != nil:
		return nil, s.err
	case r.Seq != last.Seq+1:
		return nil, fmt.Errorf("the last record is %d", last.Seq)
	case r.Epoch < last.Epoch:
		return nil, fmt.Errorf("its epoch %d is over, the last is %d", r.Epoch, last.Epoch)
	case r.First != last.Revision+1 || r.Revision+1 < r.First:
		return nil, fmt.Errorf("its revisions %d to %d do not follow revision %d", r.First, r.Revision, last.Revision)
	case len(r.Data) > store.MaxData:
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(r.Data), store.MaxData)
	}
	p := &pending{record: r, cut: pieces(r.Data), prev: last, done: make(chan struct{})}
	p.value = sealRecord(seqKey(underRecord, r.Seq), r, p.cut)
	if len(p.cut) > 1 {
		p.cut = pieces(slices.Clone(r.Data))
	}
	p.record.Data = nil // it is in the value and in the parts
	s.appended = r.Mark
	s.queue = append(s.queue, p)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return p, nil
}

// run is the goroutine that writes.
func (s *Store) run() {
	defer close(s.drained)
	var failed error
	for {
		group, open := s.group()
		switch {
		case len(group) == 0 && !open:
			return
		case len(group) == 0:
			select {
			case <-s.wake:
			case <-s.closing:
			}
			continue
		case failed == nil:
			failed = s.write(group)
			for _, p := range group {
				p.end(failed)
			}
		default:
			for _, p := range group {
				p.end(notWritten(fmt.Errorf("a record before it failed: %w", withoutOutcome{failed})))
			}
		}
	}
}

func (p *pending) end(err error) {
	if err != nil {
		p.err = fmt.Errorf("write record %d to etcd: %w", p.record.Seq, err)
	}
	p.cut, p.value = nil, ""
	close(p.done)
}

// group takes what goes into the next transaction; open is false once no more can
// come.
func (s *Store) group() (group []*pending, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := 0
	for len(s.queue) > len(group) && len(group) < maxOps-1 {
		p := s.queue[len(group)]
		if bytes += len(p.value); len(group) > 0 && bytes > maxGroup {
			break
		}
		group = append(group, p)
	}
	s.queue = slices.Clone(s.queue[len(group):])
	return group, !s.closed
}

// write makes a group durable, or says why it is not.
func (s *Store) write(group []*pending) (err error) {
	ctx, cancel := context.WithTimeout(s.lifetime, s.o.Timeout)
	defer cancel()
	for _, p := range group {
		if err = s.writeParts(ctx, underPart, p.record.Seq, p.cut[1:]); err != nil {
			err = notWritten(fmt.Errorf("its parts: %w", err)) // without the record they mean nothing
			break
		}
	}
	if err == nil {
		err = s.commit(ctx, group)
	}
	if err != nil {
		s.fail(err)
	}
	return err
}

// writeParts puts parts below under, several at once. A part may be put again.
func (s *Store) writeParts(ctx context.Context, under string, seq uint64, parts [][]byte) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParts)
	for n, part := range parts {
		g.Go(func() error { return s.writePart(ctx, under, seq, n, part) })
	}
	return g.Wait()
}

func (s *Store) writePart(ctx context.Context, under string, seq uint64, n int, part []byte) error {
	key := partKey(under, seq, n)
	put := clientv3.OpPut(s.o.Prefix+key, seal(key, part[:len(part):len(part)]))
	for {
		err := s.asLeader(ctx, put)
		if err == nil || errors.Is(err, store.ErrFenced) || answered(err) {
			return err
		}
		if !pause(ctx) {
			return err
		}
	}
}

// commit puts a group in one transaction, which happens once, however often it is
// sent. Every answer of etcd's but success says what else there is at that moment.
func (s *Store) commit(ctx context.Context, group []*pending) error {
	prefix, first, last := s.o.Prefix, group[0], group[len(group)-1]
	ifs := []clientv3.Cmp{s.leads(), clientv3.Compare(clientv3.Value(prefix+keyLast), "=", sealPlace(keyLast, first.prev))}
	put := []clientv3.Op{clientv3.OpPut(prefix+keyLast, sealPlace(keyLast, last.record.Mark))}
	for _, p := range group {
		put = append(put, clientv3.OpPut(prefix+seqKey(underRecord, p.record.Seq), p.value))
	}
	look := []clientv3.Op{clientv3.OpGet(s.lead.key), clientv3.OpGet(prefix + keyLast), clientv3.OpGet(prefix + seqKey(underRecord, last.record.Seq))}
	for open := false; ; { // whether an earlier sending may still be carried out
		try, cancel := context.WithTimeout(ctx, tryFor)
		resp, err := s.client.Txn(try).If(ifs...).Then(put...).Else(look...).Commit()
		cancel()
		switch {
		case err == nil && resp.Succeeded:
			s.written(last.record.Mark, resp.Header.Revision)
			return nil
		case err == nil:
			return s.judge(first.prev, last, resp)
		case answered(err):
			return unless(open, explain(err))
		}
		open = true
		if !pause(ctx) {
			return fmt.Errorf("etcd does not say what became of it: %w", explain(err))
		}
	}
}

// judge looks at what there is where a group up to last was not put: it is there
// already, by an earlier sending, or says why it never will be.
func (s *Store) judge(prev store.Mark, last *pending, resp *clientv3.TxnResponse) error {
	leader, lastKey, there := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs, resp.Responses[2].GetResponseRange().Kvs
	if len(there) > 0 {
		if string(there[0].Value) != last.value {
			return fmt.Errorf("%w: another record %d is there", store.ErrFenced, last.record.Seq)
		}
		s.written(last.record.Mark, resp.Header.Revision)
		return nil
	}
	if len(lastKey) == 0 {
		return &CorruptError{Key: s.o.Prefix + keyLast, Err: errMissing}
	}
	now, err := unsealPlace(keyLast, lastKey[0].Value)
	switch {
	case err != nil:
		return &CorruptError{Key: s.o.Prefix + keyLast, Err: err}
	case now.Seq >= last.record.Seq:
		return fmt.Errorf("another process went on to record %d and let go of this one, whatever it held", now.Seq)
	case len(leader) == 0 || leader[0].CreateRevision != s.lead.revision.Load():
		return s.fenced()
	case now.Seq < prev.Seq:
		return fmt.Errorf("etcd has lost what it had acknowledged: its last record is %d, it was %d", now.Seq, prev.Seq)
	}
	return fmt.Errorf("%w: its record %d is another", store.ErrFenced, now.Seq)
}

// written notes a record that is durable at a revision of etcd's.
func (s *Store) written(m store.Mark, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Seq > s.found.last.Seq {
		s.found.last = m
		s.found.revision = max(s.found.revision, revision)
	}
}

// unless is why a record was not written; unless it may be yet, then it is only
// why that is not known.
func unless(open bool, why error) error {
	if open {
		return fmt.Errorf("an earlier sending of it may yet be carried out: %w", withoutOutcome{why})
	}
	return notWritten(why)
}

func notWritten(why error) error {
	if errors.Is(why, store.ErrFenced) {
		return why
	}
	return fmt.Errorf("%w: %w", store.ErrNotWritten, why)
}

// withoutOutcome is an error that says nothing of what became of a record.
type withoutOutcome struct{ error }

// pause waits before a request is sent again; false if there is no time for that.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(askAgain):
		return true
	case <-ctx.Done():
		return false
	}
}
