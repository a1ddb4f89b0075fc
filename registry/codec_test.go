package registry_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// full has every field of an agent set.
func full() registry.Agent {
	return registry.Agent{
		ID: "31953f3e-S1", Incarnation: "boot-7", Hostname: "10.0.0.40", Port: 5051,
		Resources: []registry.Resource{
			{Name: "cpus", Value: registry.Scalar(4)},
			{Name: "mem", Value: registry.Scalar(0.125)},
			{Name: "much", Value: registry.Scalar(1 << 60)},
			{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 1025, End: 2180}, registry.Range{Begin: 8182, End: math.MaxUint64})},
			{Name: "disks", Value: registry.Set("sda", "sdb"), Reservations: []registry.Reservation{
				{Role: "r"},
				{Role: "r/s", Dynamic: true, Principal: "p", Labels: []registry.Label{{Key: "k", Value: "v"}, {Key: "bare", Bare: true}, {Key: "empty"}}},
			}},
		},
		Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("r12")}, {Name: "u", Value: registry.Scalar(7)}, {Name: "floor", Value: registry.Scalar(-3)}},
		Domain:     registry.Domain{Region: "eu", Zone: "eu-1"},
		Checkpoint: true,
		Labels:     map[string]string{"b": "2", "a": "1"},
		Payload:    []byte{0, 1, 0xff},
	}
}

func TestAgentComesBackAsItWasPut(t *testing.T) {
	agents := map[string]registry.Agent{
		"full":         full(),
		"bare":         {ID: "a"},
		"last only":    {ID: "a", Payload: []byte("x")},
		"long strings": {ID: registry.AgentID(strings.Repeat("i", 255)), Hostname: strings.Repeat("h", 70000)},
	}
	for name, want := range agents {
		d := registry.New().Draft()
		if err := d.PutAgent(want, registry.Status{State: registry.Admitted}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := reloaded(t, d.Freeze())
		e, _ := r.Entry(want.ID)
		got, err := e.Agent()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: agent is %+v, %v; want %+v", name, got, err, want)
		}
		if e.Incarnation() != want.Incarnation {
			t.Errorf("%s: incarnation is %q, want %q", name, e.Incarnation(), want.Incarnation)
		}
	}
}

func TestStatusComesBackAsItWasPut(t *testing.T) {
	grace, none := 90*time.Second, time.Duration(0)
	for _, want := range []registry.Status{
		{State: registry.Admitted},
		{State: registry.Admitted, Deactivated: true},
		{State: registry.Admitted, Deactivated: true, Drain: registry.Drain{State: registry.Draining}},
		{State: registry.Admitted, Deactivated: true, Drain: registry.Drain{State: registry.Drained, MaxGrace: &none}},
		{State: registry.Unreachable, At: time.Unix(1541108605, 7).UTC(), Deactivated: true,
			Drain: registry.Drain{State: registry.Draining, MaxGrace: &grace, MarkGone: true}},
		{State: registry.Gone, At: time.Unix(-5, 0).UTC()},
		{State: registry.Gone},
	} {
		d := registry.New().Draft()
		if err := d.PutStatus("a", want); err != nil {
			t.Errorf("%+v: %v", want, err)
			continue
		}
		e, _ := reloaded(t, d.Freeze()).Entry("a")
		if got := e.Status(); !reflect.DeepEqual(got, want) {
			t.Errorf("status is %+v, want %+v", got, want)
		}
	}
}

func TestMasterComesBackAsItWasSet(t *testing.T) {
	want := registry.Master{
		ID: "m", IP: "10.0.5.220", Port: 5050, PID: "master@10.0.5.220:5050", Hostname: "h", Version: "1.8.0",
		Domain: registry.Domain{Region: "eu", Zone: "z"}, Capabilities: []string{"AGENT_UPDATE", "AGENT_DRAINING"},
	}
	d := registry.New().Draft()
	if err := d.SetMaster(want); err != nil {
		t.Fatal(err)
	}
	if got, ok := reloaded(t, d.Freeze()).Master(); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("master is %+v, want %+v", got, want)
	}
}

func TestUnacceptableFieldIsNamedAndNothingWritten(t *testing.T) {
	const bad = "\xff"
	agent := func(change func(*registry.Agent)) registry.Agent {
		a := full()
		change(&a)
		return a
	}
	resource := func(r registry.Resource) registry.Agent {
		return registry.Agent{ID: "a", Resources: []registry.Resource{{Name: "ok"}, r}}
	}
	for field, a := range map[string]registry.Agent{
		"id":                                     {},
		"hostname":                               agent(func(a *registry.Agent) { a.Hostname = bad }),
		"incarnation":                            agent(func(a *registry.Agent) { a.Incarnation = bad }),
		"domain.region":                          agent(func(a *registry.Agent) { a.Domain.Region = bad }),
		"domain.zone":                            agent(func(a *registry.Agent) { a.Domain.Zone = bad }),
		"resources[1].name":                      resource(registry.Resource{Name: bad}),
		"resources[1].value":                     resource(registry.Resource{Value: registry.Scalar(math.NaN())}),
		"attributes[0].name":                     {ID: "a", Attributes: []registry.Attribute{{Name: bad}}},
		"attributes[0].value":                    {ID: "a", Attributes: []registry.Attribute{{Value: registry.Text(bad)}}},
		`labels["k"]`:                            {ID: "a", Labels: map[string]string{"k": bad}},
		"agent":                                  {ID: "a", Payload: make([]byte, registry.MaxAgent)},
		"resources[1].reservations[0].role":      resource(registry.Resource{Reservations: []registry.Reservation{{}}}),
		"resources[1].reservations[0].principal": resource(registry.Resource{Reservations: []registry.Reservation{{Role: "r", Principal: bad}}}),
		"resources[1].reservations[0].labels[0]": resource(registry.Resource{Reservations: []registry.Reservation{{Role: "r", Labels: []registry.Label{{Key: bad}}}}}),
	} {
		d := registry.New().Draft()
		var got *registry.FieldError
		if err := d.PutAgent(a, registry.Status{State: registry.Admitted}); !errors.As(err, &got) || got.Field != field {
			t.Errorf("%s: error is %v", field, err)
		}
		if d.Changes() != 0 || d.Count() != 0 {
			t.Errorf("%s: something was written", field)
		}
	}
}

func TestUnacceptableIDsAreRefused(t *testing.T) {
	for _, id := range []registry.AgentID{"", ".", "..", "a/b", `a\b`, "a\n", "a\x7f", "\xff", registry.AgentID(strings.Repeat("x", 256))} {
		var got *registry.FieldError
		if err := id.Validate(); !errors.As(err, &got) || got.Field != "id" {
			t.Errorf("%q: error is %v", id, err)
		}
	}
}

func TestUnacceptableValuesAreRefused(t *testing.T) {
	for reason, v := range map[string]registry.Value{
		"+Inf is not a finite number":     registry.Scalar(math.Inf(1)),
		"range 2-1 ends before it begins": registry.Ranges(registry.Range{Begin: 2, End: 1}),
		"is not valid UTF-8":              registry.Set("\xff"),
		"kind 9 is not known":             {Kind: 9},
		"a resource cannot be a text":     registry.Text("x"),
		"-0.5 is less than nothing":       registry.Scalar(-0.5),
	} {
		a := registry.Agent{ID: "a", Resources: []registry.Resource{{Name: "r", Value: v}}}
		var got *registry.FieldError
		if err := a.Validate(); !errors.As(err, &got) || got.Reason != reason {
			t.Errorf("%v: error is %v, want %s", v, err, reason)
		}
	}
}

func TestImpossibleStatusIsRefused(t *testing.T) {
	now := time.Unix(1, 0)
	for field, s := range map[string]registry.Status{
		"state":       {},
		"at":          {State: registry.Admitted, At: now},
		"drain.state": {State: registry.Admitted, Deactivated: true, Drain: registry.Drain{MarkGone: true}},
		"deactivated": {State: registry.Admitted, Drain: registry.Drain{State: registry.Draining}},
	} {
		var got *registry.FieldError
		if err := registry.New().Draft().PutStatus("a", s); !errors.As(err, &got) || got.Field != field {
			t.Errorf("%+v: error is %v, want field %s", s, err, field)
		}
	}
	for _, s := range []registry.Status{
		{State: registry.Gone, At: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{State: registry.Gone, Deactivated: true},
		{State: 4},
	} {
		if err := registry.New().Draft().PutStatus("a", s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func TestRowsOfNewerVersionsSayUpgradeNotCorrupt(t *testing.T) {
	rows := map[string][]byte{
		"rows":   {2},
		"table":  {1, 1, 99, 0xa1, 'k', 0xc4, 0},
		"agent":  {1, 1, 1, 0xa1, 'a', 0xc4, 3, 2, 0x91, 1},
		"master": {1, 1, 2, 0xa0, 0xc4, 2, 2, 0x90},
	}
	for name, b := range rows {
		err := registry.New().Draft().Redo(b, 1)
		var corrupt *registry.CorruptError
		if !errors.Is(err, registry.ErrVersion) || errors.As(err, &corrupt) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestDamagedRowsAreCorrupt(t *testing.T) {
	rows := map[string][]byte{
		"nothing":                {},
		"version 0":              {0},
		"cut":                    {1, 1},
		"no such agent":          {1, 1, 1, 0xa1, 'a', 0xc0},
		"no such row":            {1, 1, 2, 0xa0, 0xc0},
		"no status":              {1, 1, 1, 0xa1, 'a', 0xc4, 2, 1, 0x90},
		"draining, but active":   {1, 1, 1, 0xa1, 'a', 0xc4, 6, 1, 0x94, 1, 0, 0xc2, 1},
		"a body 4 GiB long":      {1, 1, 1, 0xa1, 'a', 0xc6, 0xff, 0xff, 0xff, 0xff},
		"a status 4 Gi long":     {1, 1, 1, 0xa1, 'a', 0xc4, 6, 1, 0xdd, 0xff, 0xff, 0xff, 0xff},
		"a key that is no UTF-8": {1, 1, 1, 0xa1, 0xff, 0xc4, 3, 1, 0x91, 1},
		"a negative revision":    {1, 0xff, 1, 0xa1, 'a', 0xc0},
		"a table above 255":      {1, 1, 0xcd, 1, 1, 0xa1, 'a', 0xc0},
	}
	for name, b := range rows {
		err := registry.New().Draft().Redo(b, 1)
		var corrupt *registry.CorruptError
		if !errors.As(err, &corrupt) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func FuzzRedo(f *testing.F) {
	d := registry.New().Draft()
	d.PutAgent(full(), registry.Status{State: registry.Admitted})
	d.PutStatus("gone", registry.Status{State: registry.Gone})
	d.SetMaster(registry.Master{ID: "m"})
	d.PutKey("t", "\xff", "v")
	d.PutKey("t", "k", "")
	d.DeleteKey("t", "k")
	d.PutPod(registry.Pod{ID: "/a", Definition: []byte("{}")})
	d.PutPod(registry.Pod{ID: "/b", Definition: []byte("{}")})
	d.DeletePod("/b")
	d.DeleteAgent("gone")
	f.Add(bytes.Clone(d.Rows()))
	for chunk := range d.Freeze().Chunks(1 << 20) {
		f.Add(bytes.Clone(chunk))
	}
	f.Add([]byte{1, 1, 1, 0xa1, 'a', 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, rows []byte) {
		d := registry.New().Draft()
		if d.Redo(rows, 1) != nil {
			return
		}
		r := d.Freeze()
		for e := range r.Entries() {
			e.Agent()
			e.Incarnation()
		}
		r.Master()
		for table := range r.Tables() {
			for range r.Keys(table, "") {
			}
		}
		for range r.Pods() {
		}
		if len(r.Check()) > 0 {
			return // decodes, but is nothing that was ever written
		}
		if again := reloaded(t, r); again.Digest() != r.Digest() || again.Count() != r.Count() {
			t.Errorf("reloaded, it has digest %v, want %v", again.Digest(), r.Digest())
		}
	})
}
