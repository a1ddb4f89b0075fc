package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/semaphore"
)

const (
	// maxChecks is how many passwords may wait to be compared, and
	// maxChecksOfOne how many of them may come from one address.
	maxChecks      = 64
	maxChecksOfOne = 8
	// maxSuspectChecks is how many may come from suspects, who guess perhaps. The
	// other places are for those who do not: they come in, however many guess.
	maxSuspectChecks = maxChecks / 4
)

var (
	errWrong = errors.New("principal or password is wrong")
	errBusy  = errors.New("too many passwords are being looked at: try again later")
)

// passwords compares what clients say with the hashes of credentials.
type passwords struct {
	key     [32]byte // of this process, for what is remembered of a password
	compare func(hash, password []byte) error
	cores   *semaphore.Weighted // of them, those that compare
	guesses *semaphore.Weighted // of cores, those that suspects may have or wait for
	set     atomic.Pointer[credentialSet]

	mu        sync.Mutex
	underway  map[mac]*check
	from      map[string]int // of underway, by address; no zeros
	suspects  suspects
	suspected int // of underway, those of suspects
}

// mac stands for a principal, a password and the hash it is compared with. Without
// the key nobody can tell which.
type mac [sha256.Size]byte

// check is a password that is being compared, for all who have given the same.
type check struct {
	done    chan struct{}
	suspect bool // it came from one
	right   bool // once done
}

type credentialSet struct {
	byPrincipal map[string]*known
	// nobody is the hash for principals that there are not: it costs as much as the
	// dearest of those that there are, so that the time of a refusal does not tell
	// who exists.
	nobody string
}

// known is a credential, and the password that was found right for it.
type known struct {
	Credential
	right *atomic.Pointer[mac] // shared by those with the same hash
}

func newPasswords() *passwords {
	cores := max(1, runtime.GOMAXPROCS(0)/2)
	p := &passwords{
		compare:  bcrypt.CompareHashAndPassword,
		cores:    semaphore.NewWeighted(int64(cores)),
		guesses:  semaphore.NewWeighted(int64(max(1, cores/4))),
		underway: map[mac]*check{}, from: map[string]int{}, suspects: newSuspects(),
	}
	rand.Read(p.key[:]) // which never fails
	return p
}

func (p *passwords) replace(list []Credential) {
	old := p.set.Load()
	set := &credentialSet{byPrincipal: map[string]*known{}}
	dearest := bcrypt.MinCost
	for _, c := range list {
		k := &known{c, new(atomic.Pointer[mac])}
		if old != nil && old.byPrincipal[c.Principal] != nil && old.byPrincipal[c.Principal].Bcrypt == c.Bcrypt {
			k.right = old.byPrincipal[c.Principal].right
		}
		set.byPrincipal[c.Principal] = k
		if cost, err := bcrypt.Cost([]byte(c.Bcrypt)); err == nil {
			dearest = max(dearest, cost)
		}
	}
	// Of no password that anybody has: the letters are made up.
	set.nobody = fmt.Sprintf("$2a$%02d$NobodyHasThisPassword.TheseLettersAreAllMadeUp.......", dearest)
	p.set.Store(set)
}

// verify finds the credential of a principal that knows its password.
func (p *passwords) verify(ctx context.Context, address, principal, password string) (*Credential, error) {
	set := p.set.Load()
	k, exists := set.byPrincipal[principal]
	hash := set.nobody
	if exists {
		hash = k.Bcrypt
	}
	m := p.mac(hash, principal, password)
	if exists {
		if right := k.right.Load(); right != nil && hmac.Equal(right[:], m[:]) {
			p.judge(address, true)
			return &k.Credential, nil
		}
	}
	right, err := p.check(ctx, m, address, hash, password)
	switch {
	case err != nil:
		return nil, err
	case !right, !exists, len(password) > maxPassword:
		p.judge(address, false)
		return nil, errWrong
	}
	p.judge(address, true)
	k.right.Store(&m)
	return &k.Credential, nil
}

func (p *passwords) mac(hash, principal, password string) (m mac) {
	h := hmac.New(sha256.New, p.key[:])
	for _, part := range []string{hash, principal, password} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	h.Sum(m[:0])
	return m
}

// check compares a password, or waits for somebody who compares the same. All
// agents of a cluster may have one password, and all come when a master starts.
func (p *passwords) check(ctx context.Context, m mac, address, hash, password string) (right bool, err error) {
	c, mine, err := p.begin(m, address)
	if err != nil {
		return false, err
	}
	if mine {
		// Whoever else waits for it does not care that this client has gone.
		p.work(context.WithoutCancel(ctx), c, hash, password)
		p.end(m, address)
		close(c.done)
	}
	select {
	case <-c.done:
		return c.right, nil
	case <-ctx.Done():
		return false, context.Canceled
	}
}

// work compares once there is a core for it. Suspects wait for each other before
// they wait for a core, so that few of them are before anybody else.
func (p *passwords) work(ctx context.Context, c *check, hash, password string) {
	if c.suspect {
		p.guesses.Acquire(ctx, 1)
		defer p.guesses.Release(1)
	}
	p.cores.Acquire(ctx, 1)
	defer p.cores.Release(1)
	c.right = p.compare([]byte(hash), []byte(password)[:min(len(password), maxPassword)]) == nil
}

// judge takes note of whether an address has given a right password.
func (p *passwords) judge(address string, right bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if right {
		p.suspects.remove(address)
	} else {
		p.suspects.add(address)
	}
}

func (p *passwords) begin(m mac, address string) (c *check, mine bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.underway[m]; ok {
		return c, false, nil
	}
	if len(p.underway) >= maxChecks || p.from[address] >= maxChecksOfOne {
		return nil, false, errBusy
	}
	c = &check{done: make(chan struct{}), suspect: p.suspects.has(address)}
	if c.suspect {
		if p.suspected >= maxSuspectChecks {
			return nil, false, errBusy
		}
		p.suspected++
	}
	p.underway[m] = c
	p.from[address]++
	return c, true, nil
}

func (p *passwords) end(m mac, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.underway[m].suspect {
		p.suspected--
	}
	delete(p.underway, m)
	if p.from[address]--; p.from[address] == 0 {
		delete(p.from, address)
	}
}
