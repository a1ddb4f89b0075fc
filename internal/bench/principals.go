package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// principals ask a master for its state, each under a name of his own that sees one
// role, all at once. Beside them as many clients ask who see everything, under one
// name. Each time some tasks have changed, so that no answer lies ready: one is made
// for each view, and those of one view share theirs.
type principals struct {
	client  stateClient
	cluster *stateCluster
	own     []string // users, one for each role
	one     []string // as often as there are others, the one who sees everything
}

// principalTurns is how often in a round they ask at once.
const principalTurns = 10

// wholePrincipal sees everything.
const wholePrincipal = "whole"

// admitPrincipals has the cluster let them in, one for each framework, each with a
// password of his own.
func admitPrincipals(ctx context.Context, client stateClient, cluster *stateCluster, frameworks int) (*principals, error) {
	p := &principals{client: client, cluster: cluster}
	var list []httpapi.Credential
	admit := func(name string, roles []string) (user string, err error) {
		password := rand.Text()
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		list = append(list, httpapi.Credential{Principal: name, Bcrypt: string(hash), Realms: []httpapi.Realm{httpapi.Readonly}, Roles: roles})
		return name + ":" + password + "@", err
	}
	whole, err := admit(wholePrincipal, nil)
	if err != nil {
		return nil, err
	}
	for i := range frameworks {
		user, err := admit(stateRole(i), []string{stateRole(i)})
		if err != nil {
			return nil, err
		}
		p.own, p.one = append(p.own, user), append(p.one, whole)
	}
	gate, err := httpapi.NewGate(list, httpapi.GateOptions{Logger: quiet})
	if err != nil {
		return nil, err
	}
	cluster.guard(gate)
	return p, p.comeIn(ctx)
}

// comeIn has everybody ask once: his password is remembered from then on, and what
// he sees is what he should.
func (p *principals) comeIn(ctx context.Context) error {
	all := p.cluster.fleet.running()
	if err := p.sees(ctx, p.one[0], all); err != nil {
		return err
	}
	for _, user := range p.own {
		if err := p.sees(ctx, user, all/len(p.own)); err != nil {
			return err
		}
	}
	return nil
}

// sees fails if a user does not see so many tasks that run.
func (p *principals) sees(ctx context.Context, user string, want int) error {
	b, err := readBody(ctx, "http://"+user+p.cluster.address+guardedPath+"/state")
	if err != nil {
		return err
	}
	got, err := tasksIn(b)
	if err == nil && got != want {
		err = fmt.Errorf("a principal sees %d tasks, %d are due", got, want)
	}
	return err
}

// tasksIn counts the tasks of all frameworks in an answer.
func tasksIn(answer []byte) (n int, err error) {
	var v struct {
		Frameworks []struct{ Tasks []struct{} }
	}
	err = json.Unmarshal(answer, &v)
	for _, f := range v.Frameworks {
		n += len(f.Tasks)
	}
	return n, err
}

// askers is what came of those who ask at once, over all turns.
type askers struct {
	took  []time.Duration // each answer
	bytes int64           // the largest
}

// principalsSample is what came of all turns.
type principalsSample struct {
	own, one askers
	ratios   []float64 // of turns: until the last one has his answer
	idle     []time.Duration
	changes  int
}

// measure has one principal ask alone, and then goes through the turns of a round.
func (p *principals) measure(ctx context.Context, s *principalsSample) error {
	alone, err := p.client.read(readJob{p.cluster.address, []readLine{{User: p.own[0], Path: guardedPath + "/state", Times: idleStates}}})
	if err != nil {
		return err
	}
	for _, r := range alone[0] {
		s.idle = append(s.idle, r.Took)
	}
	for turn := range principalTurns {
		var own, one time.Duration
		asks := []func() error{
			func() (err error) { own, err = p.atOnce(p.own, &s.own); return err },
			func() (err error) { one, err = p.atOnce(p.one, &s.one); return err },
		}
		if turn%2 == 1 {
			slices.Reverse(asks)
		}
		for _, ask := range asks {
			n, err := p.change(ctx)
			if s.changes += n; err == nil {
				err = ask()
			}
			if err != nil {
				return err
			}
		}
		s.ratios = append(s.ratios, ratio(own.Seconds(), one.Seconds()))
	}
	return nil
}

// change changes a few tasks, and returns how many.
func (p *principals) change(ctx context.Context) (int, error) {
	group, err := p.cluster.changes(min(changeGroup, p.cluster.fleet.running()))
	if err == nil {
		_, err = publish(ctx, group)
	}
	return len(group), err
}

// atOnce has users ask, each over a new connection, and returns how long it took
// until the last one had his answer.
func (p *principals) atOnce(users []string, c *askers) (last time.Duration, err error) {
	var lines []readLine
	for _, user := range users {
		lines = append(lines, readLine{User: user, Path: guardedPath + "/state", Times: 1})
	}
	all, err := p.client.read(readJob{p.cluster.address, lines})
	if err != nil {
		return 0, err
	}
	for _, line := range all {
		r := line[0]
		c.took, c.bytes, last = append(c.took, r.Took), max(c.bytes, r.Bytes), max(last, r.Took)
	}
	return last, nil
}

func principalsRow(clients int, s principalsSample) LoadRow {
	const endpoint = "/state"
	of := func(took []time.Duration) map[string][]time.Duration {
		return map[string][]time.Duration{endpoint: took}
	}
	row := loadRow("principals", endpoint, 0, loadSample{of(s.own.took), of(s.idle), s.changes})
	row.Clients, row.Bytes = clients, s.own.bytes
	row.OneViewBytes, row.OneViewP50, row.OneViewMax = s.one.bytes, quantile(s.one.took, 0.5), quantile(s.one.took, 1)
	row.RatioToOneView = median(s.ratios)
	return row
}
