package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Options says where a registry is and how it is used.
type Options struct {
	// Prefix is what all keys of the registry begin with, a slash at its end; ""
	// means [DefaultPrefix].
	Prefix string
	// Leadership is the right to write. The store owns it: Close gives it back, and
	// so does an Open or a Create that fails. nil means that this process takes it,
	// unless another has it ([ErrLed]).
	Leadership *Leadership
	// ReadOnly opens for reading, which needs no leadership. What is read is what
	// etcd holds then: a store that another process writes to can be followed.
	ReadOnly bool
	// Make has Open make an empty registry if there is none: its epoch is 0 then.
	Make bool
	// Timeout is for how long etcd may leave open what became of a write; after it
	// the outcome is unknown and the store has failed. 0 means 15 s.
	Timeout time.Duration
	// Quota is how large etcd's database may become (--quota-backend-bytes), if it
	// is so old that it does not say (before 3.6); 0 means 2 GiB, as with etcd.
	Quota int64
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
}

// DefaultPrefix is where a registry is, if nothing else is said.
const DefaultPrefix = "/registrar/"

func (o Options) withDefaults() (Options, error) {
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.Quota = cmp.Or(o.Quota, 2<<30)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if !strings.HasSuffix(o.Prefix, "/") {
		return o, fmt.Errorf("prefix %q has no slash at its end", o.Prefix)
	}
	return o, nil
}

// Store is a registry in etcd. Make one with [Create] or [Open].
type Store struct {
	client  *clientv3.Client // the caller's
	o       Options
	lead    *Leadership // nil if it is open for reading
	history store.HistoryID
	space   *space // nil if it is open for reading

	mu       sync.Mutex
	found    contents
	appended store.Mark // the last record that Append took
	queue    []*pending // what nobody writes yet
	err      error      // why nothing can be written any more
	closed   bool

	compacting sync.Mutex // held while a checkpoint is stored; taken before mu
	forget     int64      // etcd's revision at the last compaction

	wake     chan struct{} // says that there is something in the queue
	closing  chan struct{} // closed with the store
	drained  chan struct{} // closed when run has returned
	failed   chan struct{} // closed once err is set
	lifetime context.Context
	end      context.CancelFunc
}

// contents is what the registry holds beside records and chunks.
type contents struct {
	last, oldest store.Mark
	checkpoints  []trailer // oldest first
	revision     int64     // etcd's, at which this was so
}

var (
	_ store.Watched = (*Store)(nil)
	_ store.Failing = (*Store)(nil)
)

// Create makes an empty registry below the prefix, with a history of its own, and
// opens it for writing. It fails with [ErrExist] if there is one, [ErrForeign] if
// there is anything else, [ErrLed] if another process leads. The client remains
// the caller's, and must outlive the store.
func Create(ctx context.Context, client *clientv3.Client, o Options) (*Store, error) {
	return open(ctx, client, o, "create", func(s *Store) error { return s.create(ctx, store.Mark{}, nil) })
}

// CreateAt makes a registry as Create does, that begins with a checkpoint in place
// of the records before it: one that comes from elsewhere. An error, the end of ctx
// too, leaves none.
func CreateAt(ctx context.Context, client *clientv3.Client, o Options, covers store.Mark, chunks iter.Seq[[]byte]) (*Store, error) {
	return open(ctx, client, o, "create", func(s *Store) error {
		if covers.Seq == 0 {
			return errors.New("a checkpoint covers at least record 1")
		}
		return s.create(ctx, covers, chunks)
	})
}

// Open opens the registry below the prefix: for writing as the leader, or for
// reading. It fails with [ErrNotExist], [ErrForeign], [ErrVersion], [ErrLed], or a
// [*CorruptError]. The client remains the caller's, and must outlive the store.
func Open(ctx context.Context, client *clientv3.Client, o Options) (*Store, error) {
	return open(ctx, client, o, "open", func(s *Store) error {
		err := s.open(ctx)
		if o.Make && !o.ReadOnly && errors.Is(err, ErrNotExist) {
			err = s.create(ctx, store.Mark{}, nil)
		}
		return err
	})
}

func open(ctx context.Context, client *clientv3.Client, o Options, what string, begin func(*Store) error) (*Store, error) {
	s, err := newStore(ctx, client, o)
	if err == nil {
		if err = begin(s); err == nil {
			s.start()
			return s, nil
		}
		s.end()
		o.Leadership = s.lead
	}
	if o.Leadership != nil {
		o.Leadership.Resign()
	}
	return nil, fmt.Errorf("%s the registry in etcd below %s: %w", what, cmp.Or(o.Prefix, DefaultPrefix), explain(err))
}

// start begins what goes on while the store is open for writing.
func (s *Store) start() {
	if s.lead == nil {
		return
	}
	s.appended = s.found.last
	s.space = watchSpace(s)
	go s.run()
	go s.failWithLeadership()
}

func newStore(ctx context.Context, client *clientv3.Client, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, o: o, lead: o.Leadership, wake: make(chan struct{}, 1),
		closing: make(chan struct{}), drained: make(chan struct{}), failed: make(chan struct{})}
	if s.lead == nil && !o.ReadOnly {
		if s.lead, err = lead(ctx, client, o.Prefix, Candidate{}); err != nil {
			return nil, err
		}
	}
	s.lifetime, s.end = context.WithCancel(context.Background())
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	resp, err := s.client.Txn(ctx).Then(
		clientv3.OpGet(s.o.Prefix+keyStore),
		clientv3.OpGet(s.o.Prefix, clientv3.WithPrefix(), clientv3.WithLimit(2), clientv3.WithKeysOnly()),
	).Commit()
	if err != nil {
		return err
	}
	text := resp.Responses[0].GetResponseRange().Kvs
	if len(text) == 0 {
		for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
			if key := string(kv.Key); !strings.HasPrefix(key, s.o.Prefix+underLeader) {
				return fmt.Errorf("%w: there is the key %s", ErrForeign, key)
			}
		}
		return ErrNotExist
	}
	if s.history, err = parseStore(string(text[0].Value)); errors.Is(err, ErrVersion) {
		return err
	} else if err != nil {
		return &CorruptError{Key: string(text[0].Key), Err: err}
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	if s.lead == nil {
		return nil
	}
	return s.clear(ctx)
}

// refresh reads what the registry holds now.
func (s *Store) refresh(ctx context.Context) error {
	p := s.o.Prefix
	resp, err := s.client.Txn(ctx).Then(
		clientv3.OpGet(p+keyLast), clientv3.OpGet(p+keyOldest), clientv3.OpGet(p+underCheckpoint, clientv3.WithPrefix()),
	).Commit()
	if err != nil {
		return err
	}
	c := contents{revision: resp.Header.Revision}
	for i, place := range []struct {
		key string
		to  *store.Mark
	}{{keyLast, &c.last}, {keyOldest, &c.oldest}} {
		kvs := resp.Responses[i].GetResponseRange().Kvs
		if len(kvs) == 0 {
			return &CorruptError{Key: p + place.key, Err: errMissing}
		}
		if *place.to, err = unsealPlace(place.key, kvs[0].Value); err != nil {
			return &CorruptError{Key: p + place.key, Err: err}
		}
	}
	for _, kv := range resp.Responses[2].GetResponseRange().Kvs {
		key := string(kv.Key)
		t, err := unsealCheckpoint(strings.TrimPrefix(key, p), kv.Value)
		if err != nil {
			s.o.Logger.Error("a checkpoint in etcd is damaged; an older one is used", "key", key, "err", err)
			continue
		}
		c.checkpoints = append(c.checkpoints, t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.revision > s.found.revision {
		s.found = c
	}
	return nil
}

// create writes the registry: its checkpoint first, if it begins with one, and
// then all that makes it one in a single transaction.
func (s *Store) create(ctx context.Context, covers store.Mark, chunks iter.Seq[[]byte]) error {
	switch err := s.open(ctx); {
	case err == nil:
		return ErrExist
	case errors.Is(err, ErrForeign) && s.unfinished(ctx) == nil:
	case !errors.Is(err, ErrNotExist):
		return err
	}
	s.history = store.HistoryID(uuid.New())
	p := s.o.Prefix
	then := []clientv3.Op{
		clientv3.OpPut(p+keyStore, storeText(s.history)),
		clientv3.OpPut(p+keyLast, sealPlace(keyLast, covers)),
		clientv3.OpPut(p+keyOldest, sealPlace(keyOldest, covers)),
	}
	if covers.Seq > 0 {
		t, err := s.writeChunks(ctx, covers, chunks)
		if err != nil {
			return err
		}
		key := seqKey(underCheckpoint, covers.Seq)
		then = append(then, clientv3.OpPut(p+key, sealCheckpoint(key, t)))
		s.found.checkpoints = []trailer{t}
	}
	if err := s.asLeader(ctx, then...); err != nil {
		return err
	}
	s.found.last, s.found.oldest = covers, covers
	return nil
}

// unfinished is nil if all that is there are the chunks of a registry whose making
// was broken off.
func (s *Store) unfinished(ctx context.Context) error {
	for _, part := range [][2]string{{"", underChunk}, {clientv3.GetPrefixRangeEnd(underChunk), underLeader}, {clientv3.GetPrefixRangeEnd(underLeader), ""}} {
		from, to := s.o.Prefix+part[0], s.o.Prefix+part[1]
		if part[1] == "" {
			to = clientv3.GetPrefixRangeEnd(s.o.Prefix)
		}
		resp, err := s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if len(resp.Kvs) > 0 {
			return ErrForeign
		}
	}
	return nil
}

// leads is what every write of the leader compares.
func (s *Store) leads() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(s.lead.key), "=", s.lead.revision.Load())
}

// asLeader does what may be repeated: it fails with ErrFenced if this process
// does not lead.
func (s *Store) asLeader(ctx context.Context, then ...clientv3.Op) error {
	resp, err := s.client.Txn(ctx).If(s.leads()).Then(then...).Commit()
	if err != nil {
		return explain(err)
	}
	if !resp.Succeeded {
		return s.fenced()
	}
	return nil
}

// fenced is the error of who leads no more.
func (s *Store) fenced() error {
	return fmt.Errorf("%w: key %s is gone", store.ErrFenced, s.lead.key)
}

// clear removes what a leader before left behind when it was cut off: parts of a
// record or a checkpoint that there is not, and what is no longer kept.
func (s *Store) clear(ctx context.Context) error {
	if err := s.deleteUpTo(ctx, s.found.oldest.Seq); err != nil {
		return err
	}
	p, next := s.o.Prefix, s.found.last.Seq+1
	ops := []clientv3.Op{clientv3.OpDelete(p+seqKey(underPart, next), clientv3.WithRange(clientv3.GetPrefixRangeEnd(p+underPart)))}
	from := seqKey(underChunk, 0)
	for _, t := range s.found.checkpoints {
		ops = append(ops, clientv3.OpDelete(p+from, clientv3.WithRange(p+seqKey(underChunk, t.Seq))))
		from = seqKey(underChunk, t.Seq+1)
	}
	ops = append(ops, clientv3.OpDelete(p+from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(p+underChunk))))
	for some := range slices.Chunk(ops, maxOps) {
		if err := s.asLeader(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// Identity returns the history, and the epoch of the last record.
func (s *Store) Identity() store.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Identity{History: s.history, Epoch: s.found.last.Epoch}
}

// Last is the place of the last record, as of the last look.
func (s *Store) Last() store.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found.last
}

// Oldest is the place before the first record that is kept, as of the last look.
func (s *Store) Oldest() store.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found.oldest
}

// Places lists the checkpoints, as of the last look.
func (s *Store) Places() []store.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := make([]store.Place, len(s.found.checkpoints))
	for i, t := range s.found.checkpoints {
		places[i] = store.Place{Mark: t.Mark, Bytes: t.bytes}
	}
	return places
}

// Failed is closed when nothing can be written any more: this process leads no
// more, or the outcome of a record is not known.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is why, once Failed is closed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Store) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.closed {
		s.err = why
		close(s.failed)
	}
}

func (s *Store) failWithLeadership() {
	select {
	case <-s.lead.Lost():
		s.fail(s.lead.Err())
	case <-s.lifetime.Done():
	}
}

// Close waits for what was appended, and gives the leadership back.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	close(s.closing)
	if s.lead != nil {
		<-s.drained
	}
	s.end()
	if s.lead != nil {
		s.space.close()
		s.lead.Resign()
	}
	return nil
}

// mayUse is why the store cannot be used: its end, or that of ctx.
func (s *Store) mayUse(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return nil
}
