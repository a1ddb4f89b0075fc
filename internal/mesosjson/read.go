package mesosjson

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eaba02dc/registrar/registry"
)

// Read reads one answer of a Mesos master from r and calls each for every
// agent in it, in the order of the input. An ID that stands twice is handed on
// the first time only and reported: a registry holds it once, and in what a
// master writes, the first is the one that binds it.
//
// Read stops at the first error. It is each's own, or an [*Error] that says
// where and why the input is not acceptable; the agents before it have been
// handed on by then. What Read returns beside an error says nothing.
func Read(r io.Reader, each func(Entry) error) (Report, error) {
	in := &reader{
		scan: newScanner(r), each: each, lost: losses{},
		seen: map[registry.AgentID]struct{}{}, about: map[string]*node{},
		minimum: map[string]struct{}{},
	}
	if err := in.document(); err != nil {
		return in.report, err
	}
	if err := in.form(); err != nil {
		return in.report, err
	}
	return in.finish()
}

// reader is one call of Read.
type reader struct {
	scan   *scanner
	each   func(Entry) error
	report Report
	lost   losses
	seen   map[registry.AgentID]struct{}
	// about holds what stands at the root of a state about its master.
	about map[string]*node
	// strange are names at the root that mean nothing in a registry.
	strange []string
	// minimum is the registry's own list; deactivated says whether an agent
	// was read from which it follows.
	minimum     map[string]struct{}
	deactivated bool
	stream      bool // the document opens a stream of events
}

// What stands at the root of each form.
var (
	registryOnly = []string{
		"machines", "schedules", "quotas", "quota_configs", "weights", "resource_provider_registry",
	}
	aboutMaster = []string{"id", "pid", "hostname", "version", "capabilities", "domain"}
	envelopes   = []string{"get_agents", "get_state", "subscribed"}
)

// maxStrange bounds how many unknown names are remembered.
const maxStrange = 50

func (in *reader) document() error {
	tok, err := in.scan.next("")
	if err == io.EOF {
		return in.scan.errorf("", "the input is empty")
	}
	if err != nil {
		return err
	}
	if tok.Kind() != '{' {
		return in.scan.errorf("", "does not begin with an object: is it what a Mesos master answered?")
	}
	if err := in.scan.members("", in.root); err != nil {
		return err
	}
	return in.end()
}

// root reads a member of the document.
func (in *reader) root(path, key string, first jsontext.Token) error {
	array, object := first.Kind() == '[', first.Kind() == '{'
	switch {
	case key == "slaves" && array:
		return in.agents(FormState, path, stateAgent)
	case key == "recovered_slaves" && array:
		return in.agents(FormState, path, stateRecovered)
	case key == "slaves" && object:
		return in.table(path, registryAgent)
	case key == "unreachable" && object:
		return in.table(path, registryUnreachable)
	case key == "gone" && object:
		return in.table(path, registryGone)
	case key == "master" && object:
		return in.master(path, first)
	case key == "minimum_capabilities" && array:
		return in.capabilities(path, first)
	case slices.Contains(registryOnly, key):
		return in.lose(path, first)
	case slices.Contains(envelopes, key) && object:
		in.stream = in.stream || key == "subscribed"
		return in.scan.members(path, in.envelope)
	case slices.Contains(aboutMaster, key):
		return in.keepAbout(path, key, first)
	}
	if len(in.strange) < maxStrange {
		in.strange = append(in.strange, cut(key))
	}
	return in.scan.skip(path, first)
}

// envelope reads a member of what the operator API wraps around agents.
func (in *reader) envelope(path, key string, first jsontext.Token) error {
	if err := in.is(FormOperator); err != nil {
		return err
	}
	switch {
	case key == "agents" && first.Kind() == '[':
		return in.agents(FormOperator, path, operatorAgent)
	case key == "recovered_agents" && first.Kind() == '[':
		return in.agents(FormOperator, path, operatorRecovered)
	case slices.Contains(envelopes, key) && first.Kind() == '{':
		return in.scan.members(path, in.envelope)
	}
	return in.scan.skip(path, first) // frameworks, tasks, executors: of the run
}

// is notes which form the input has, and refuses a mixture.
func (in *reader) is(form Form) error {
	if in.report.Form != "" && in.report.Form != form {
		return in.scan.errorf("", "is both %s and %s", in.report.Form, form)
	}
	in.report.Form = form
	return nil
}

// table reads an object of the registry whose member "slaves" lists agents.
func (in *reader) table(path string, read func(*node) Entry) error {
	if err := in.is(FormRegistry); err != nil {
		return err
	}
	return in.scan.members(path, func(path, key string, first jsontext.Token) error {
		if key == "slaves" && first.Kind() == '[' {
			return in.agents(FormRegistry, path, read)
		}
		return in.lose(path, first)
	})
}

// agents reads an array of agents and hands them on.
func (in *reader) agents(form Form, path string, read func(*node) Entry) error {
	if err := in.is(form); err != nil {
		return err
	}
	return in.scan.elements(path, func(i int, first jsontext.Token) error {
		d := &document{path: fmt.Sprintf("%s[%d]", path, i), pattern: path + "[]"}
		n, err := in.scan.tree(d, first)
		if err != nil {
			return err
		}
		if n.want(isObject) == nil {
			n.fail("is not an agent")
			return d.err
		}
		return in.agent(n, read(n))
	})
}

func (in *reader) agent(n *node, e Entry) error {
	if n.doc.err != nil {
		return n.doc.err
	}
	e.Path = n.doc.path
	if err := valid(e); err != nil {
		return &Error{Path: e.Path, Offset: n.offset, Reason: err.Error(), Err: err}
	}
	n.leftovers(func(rest *node) { in.lost.add(rest.pattern(), "", rest.sample(), 1) })
	if _, twice := in.seen[e.ID]; twice {
		in.lost.add(n.doc.pattern, "the ID stood before; the first is kept", string(e.ID), 1)
		return nil
	}
	in.seen[e.ID] = struct{}{}
	in.count(e)
	return in.each(e)
}

func valid(e Entry) error {
	if err := e.Status.Validate(); err != nil {
		return err
	}
	if e.Agent == nil {
		return e.ID.Validate()
	}
	return e.Agent.Validate()
}

func (in *reader) count(e Entry) {
	switch e.Status.State {
	case registry.Admitted:
		in.report.Admitted++
	case registry.Unreachable:
		in.report.Unreachable++
	case registry.Gone:
		in.report.Gone++
	}
	if e.Recovered {
		in.report.Recovered++
	}
	in.deactivated = in.deactivated || e.Status.Deactivated
}

// lose reads a part of the registry that cannot be kept: each element of its
// arrays counts.
func (in *reader) lose(path string, first jsontext.Token) error {
	if err := in.is(FormRegistry); err != nil {
		return err
	}
	one := func(pattern string, first jsontext.Token) error {
		n, err := in.scan.tree(&document{path: path, pattern: pattern}, first)
		if err == nil && !n.empty() {
			in.lost.add(pattern, "", n.sample(), 1)
		}
		return err
	}
	switch first.Kind() {
	case '[':
		return in.scan.elements(path, func(_ int, first jsontext.Token) error { return one(path+"[]", first) })
	case '{':
		return in.scan.members(path, func(path, _ string, first jsontext.Token) error { return in.lose(path, first) })
	}
	return one(path, first)
}

// end makes sure that nothing but spaces follows the document. Events after
// the one that opens a stream are counted and passed over.
func (in *reader) end() error {
	for {
		tok, err := in.scan.next("")
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !in.stream || tok.Kind() != '{' {
			return in.scan.errorf("", "there is more after the end of the document")
		}
		if err := in.scan.skip("", tok); err != nil {
			return err
		}
		in.lost.add("events", "only the state that opens the stream is read", "", 1)
	}
}

// form settles which form the input has once it was read whole.
func (in *reader) form() error {
	if in.report.Form != "" {
		return nil
	}
	names := in.strange
	for key := range in.about {
		names = append(names, key)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return in.scan.errorf("", "is an empty object, as a master answers before it has recovered its registry: ask again later")
	}
	return in.scan.errorf("", "holds no agents. Readable are a master's /registrar(1)/registry, /state, /state-summary and /slaves, "+
		"and GET_AGENTS, GET_STATE and SUBSCRIBED of its operator API; this has %s", cut(strings.Join(names, ", ")))
}

func (in *reader) finish() (Report, error) {
	switch in.report.Form {
	case FormRegistry:
		for _, key := range in.strange {
			in.lost.add(key, "", "", 1)
		}
		for key, n := range in.about {
			in.lost.add(key, "", n.sample(), 1)
		}
		in.lostCapabilities()
	case FormState:
		if err := in.stateMaster(); err != nil {
			return in.report, err
		}
	}
	in.report.NotKept = in.lost.sorted()
	return in.report, nil
}
