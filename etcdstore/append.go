package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/registrar/store"
)

const (
	// maxInFlight is how many records, and how many parts of one, are on their way
	// to etcd at once.
	maxInFlight = 4
	// maxOps is the most operations that etcd takes in a transaction
	// (--max-txn-ops).
	maxOps = 128
	// askAgain is the pause before a request without an answer is sent again.
	askAgain = 50 * time.Millisecond
	// tryFor is how long one request may take: the next one goes to another member.
	tryFor = 3 * time.Second
)

// pending is a record on its way to etcd.
type pending struct {
	record store.Record
	cut    [][]byte // its data
	prev   store.Mark
	gate   *pending // it starts when this one is done: only so many are on their way
	before *pending // the one before it
	done   chan struct{}
	err    error // set before done is closed
}

// over is a pending that was.
var over = func() *pending {
	p := &pending{done: make(chan struct{})}
	close(p.done)
	return p
}()

// Append copies r and sends it to etcd: a record is one transaction of two puts, or
// more for data above 1 MiB, whose parts go before it. Up to four are on their way
// at once. etcd may take them in another order: the one that comes too early
// compares in vain, and is sent again after the one before it.
func (s *Store) Append(r store.Record) (durable func() error, err error) {
	p, err := s.take(r)
	if err != nil {
		return nil, fmt.Errorf("append record %d: %w", r.Seq, err)
	}
	go s.write(p)
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
	r.Data = append([]byte(nil), r.Data...)
	p := &pending{record: r, cut: pieces(r.Data), prev: last, done: make(chan struct{})}
	n := len(s.recent)
	p.gate, p.before = s.recent[0], s.recent[n-1]
	copy(s.recent[:], s.recent[1:])
	s.appended, s.recent[n-1] = r.Mark, p
	return p, nil
}

// write makes a record durable, or says why it is not.
func (s *Store) write(p *pending) {
	<-p.gate.done
	ctx, cancel := context.WithTimeout(s.lifetime, s.o.Timeout)
	defer cancel()
	err := s.writeParts(ctx, underPart, p.record.Seq, p.cut[1:])
	if err != nil {
		err = notWritten(fmt.Errorf("its parts: %w", err)) // without the record they mean nothing
	} else {
		err = s.commit(ctx, p)
	}
	if err != nil {
		p.err = fmt.Errorf("write record %d to etcd: %w", p.record.Seq, err)
		s.fail(p.err)
	}
	p.gate, p.before, p.cut, p.record.Data = nil, nil, nil, nil
	close(p.done)
}

// writeParts puts parts below under, several at once. A part may be put again.
func (s *Store) writeParts(ctx context.Context, under string, seq uint64, parts [][]byte) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxInFlight)
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

// commit puts a record in one transaction, which happens once, however often it is
// sent. Every answer of etcd's but success says what else there is at that moment.
func (s *Store) commit(ctx context.Context, p *pending) error {
	prefix, r := s.o.Prefix, p.record
	key := seqKey(underRecord, r.Seq)
	value := sealRecord(key, r, p.cut)
	ifs := []clientv3.Cmp{s.leads(), clientv3.Compare(clientv3.Value(prefix+keyLast), "=", sealPlace(keyLast, p.prev))}
	put := []clientv3.Op{clientv3.OpPut(prefix+key, value), clientv3.OpPut(prefix+keyLast, sealPlace(keyLast, r.Mark))}
	look := []clientv3.Op{clientv3.OpGet(s.lead.key), clientv3.OpGet(prefix + keyLast), clientv3.OpGet(prefix + key)}
	for open := false; ; { // whether an earlier sending may still be carried out
		inLine := p.before.isDone()
		try, cancel := context.WithTimeout(ctx, tryFor)
		resp, err := s.client.Txn(try).If(ifs...).Then(put...).Else(look...).Commit()
		cancel()
		switch {
		case err == nil && resp.Succeeded:
			s.written(r.Mark, resp.Header.Revision)
			return nil
		case err == nil:
			if early, err := s.judge(p, resp, value); !early {
				return err
			} else if inLine && p.before.err == nil {
				return errors.New("etcd has lost what it had acknowledged: the record before is not there any more")
			}
			<-p.before.done
			if err := p.before.err; err != nil {
				return unless(open, fmt.Errorf("the record before it: %w", err))
			}
		case answered(err):
			return unless(open, explain(err))
		default:
			open = true
			if !pause(ctx) {
				return fmt.Errorf("etcd does not say what became of it: %w", explain(err))
			}
		}
	}
}

// judge looks at what there is where a record was not put. It reports true if the
// one before it is not there yet; otherwise nil if the record was put by an earlier
// sending, or why it was not.
func (s *Store) judge(p *pending, resp *clientv3.TxnResponse, value string) (early bool, err error) {
	leader, lastKey, there := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs, resp.Responses[2].GetResponseRange().Kvs
	if len(there) > 0 {
		if string(there[0].Value) != value {
			return false, fmt.Errorf("%w: another record %d is there", store.ErrFenced, p.record.Seq)
		}
		s.written(p.record.Mark, resp.Header.Revision)
		return false, nil
	}
	if len(lastKey) == 0 {
		return false, &CorruptError{Key: s.o.Prefix + keyLast, Err: errMissing}
	}
	last, err := unsealPlace(keyLast, lastKey[0].Value)
	switch {
	case err != nil:
		return false, &CorruptError{Key: s.o.Prefix + keyLast, Err: err}
	case last.Seq >= p.record.Seq:
		return false, fmt.Errorf("another process went on to record %d and let go of this one, whatever it held", last.Seq)
	case len(leader) == 0 || leader[0].CreateRevision != s.lead.revision.Load():
		return false, s.fenced()
	case last.Seq == p.prev.Seq:
		return false, fmt.Errorf("%w: its record %d is another", store.ErrFenced, last.Seq)
	}
	return true, nil
}

func (p *pending) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
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
