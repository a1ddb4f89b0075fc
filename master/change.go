package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
)

// By says who asked for something, and why: it is written down with it.
type By struct{ Principal, Reason string }

// change is an operation that is under way in the registrar.
type change struct {
	member  *member // nil if it is about no single agent
	removes bool    // an agent that is in the State
	pending *registrar.Pending
	then    func(refusal error)
	over    bool
}

// outcome is what became of a change.
type outcome struct {
	*change
	err error
}

// submit begins a transition. What it comes to, nil or the refusal, goes to then
// in a later turn; then ends with settle or leaves that to submit's caller. An
// error is a refusal that comes at once, and nothing is under way.
func (l *loop) submit(m *member, doing transition, op ops.Operation, by By, then func(refusal error)) error {
	c := &change{member: m, then: then}
	if err := l.begin(c, op, by); err != nil {
		return err
	}
	m.doing = doing
	if c.removes = l.present(m.id) && (doing == markingUnreachable || doing == markingGone || doing == removing); c.removes {
		l.removing = append(l.removing, c)
	}
	return nil
}

// begin hands an operation to the registrar.
func (l *loop) begin(c *change, op ops.Operation, by By) (err error) {
	c.pending, err = l.registrar.Submit(registrar.Request{Operation: op, Principal: by.Principal, Reason: by.Reason})
	switch {
	case err == nil:
		l.pending.put(c)
		return nil
	case errors.Is(err, registrar.ErrOverloaded):
		return notNow("too many changes of the registry are waiting")
	case fatal(err):
		l.fail(err)
		return ErrEnded
	}
	return err
}

// fatal says that the registrar is of no use any more, or that nobody knows what
// is durable.
func fatal(err error) bool {
	return errors.Is(err, registrar.ErrUnknown) || errors.Is(err, registrar.ErrFailed) || errors.Is(err, registrar.ErrClosed)
}

// conclude takes in what became of a change.
func (l *loop) conclude(c *change, err error) {
	if c.over || l.failed != nil {
		return
	}
	c.over, l.changed = true, true // the registry has
	if fatal(err) {
		l.fail(err)
		return
	}
	c.then(err)
}

// catchUp takes in the removals that this registry shows already, whose answers
// are about to come: no State has an agent that its registry has not admitted.
// Changes become durable in the order in which they were submitted, so that the
// first which does not show ends the search.
func (l *loop) catchUp(durable *registry.Registry) {
	for len(l.removing) > 0 && l.failed == nil {
		c := l.removing[0]
		if !c.over {
			if e, known := durable.Entry(c.member.id); known && e.State() == registry.Admitted {
				return
			}
			_, err := c.pending.Wait(l.ctx)
			l.conclude(c, err)
		}
		l.removing = l.removing[1:]
	}
}

// must ends the master for a refusal that cannot be, if nobody else changes
// agents.
func (l *loop) must(refusal error) bool {
	if refusal != nil {
		l.fail(fmt.Errorf("the registry is not as this master left it: %w", refusal))
	}
	return refusal == nil
}

// await hands over what becomes of changes, in their order.
func (m *Master) await(ctx context.Context) {
	defer close(m.awaited)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.pending.ready:
		}
		for _, c := range m.pending.take() {
			_, err := c.pending.Wait(ctx)
			if ctx.Err() != nil {
				return
			}
			m.outcomes.put(outcome{c, err})
		}
	}
}
