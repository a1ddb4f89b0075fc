package main

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/registry"
)

// holding is a registry of one agent.
func holding(t rapid.TB, a registry.Agent, s registry.Status) *registry.Registry {
	t.Helper()
	d := registry.New().Draft()
	if err := d.PutAgent(a, s); err != nil {
		t.Fatal(err)
	}
	return d.Freeze()
}

func attribute(name, text string) registry.Attribute {
	return registry.Attribute{Name: name, Value: registry.Text(text)}
}

func TestDiffTellsAttributesOfAnyNameApart(t *testing.T) {
	type list = []registry.Attribute
	for name, c := range map[string]struct {
		a, b list
		want map[string]fieldSides
	}{
		"the second of a name, and one that is called so": {
			list{attribute("a", "1"), attribute("a", "2")}, list{attribute("a", "1"), attribute("a#2", "2")},
			map[string]fieldSides{
				"agent.attributes.a#2.name": {"a", nil}, "agent.attributes.a#2.text": {"2", nil},
				`agent.attributes."a#2".name`: {nil, "a#2"}, `agent.attributes."a#2".text`: {nil, "2"},
			},
		},
		"both at once, exchanged": {
			list{attribute("a", "1"), attribute("a", "2"), attribute("a#2", "3")},
			list{attribute("a", "1"), attribute("a", "3"), attribute("a#2", "2")},
			map[string]fieldSides{"agent.attributes.a#2.text": {"2", "3"}, `agent.attributes."a#2".text`: {"3", "2"}},
		},
		"names that look like a path, a place, a quoted name": {
			list{attribute("a.text", "1"), attribute("0", "1"), attribute(`"a"`, "1")},
			list{attribute("a.text", "2"), attribute("0", "2"), attribute(`"a"`, "2")},
			map[string]fieldSides{
				`agent.attributes."a.text".text`: {"1", "2"}, `agent.attributes."0".text`: {"1", "2"},
				`agent.attributes."\"a\"".text`: {"1", "2"},
			},
		},
		"the same in another order": {
			list{attribute("a", "1"), attribute("b", "2")}, list{attribute("b", "2"), attribute("a", "1")},
			map[string]fieldSides{inNoField: {"19 bytes, sha256 2d1c61aac00afbb0…", "19 bytes, sha256 ff678a7ad97e1cf9…"}},
		},
		"the same": {list{attribute("a", "1")}, list{attribute("a", "1")}, nil},
	} {
		admitted := registry.Status{State: registry.Admitted}
		got, err := differences(holding(t, registry.Agent{ID: "x", Attributes: c.a}, admitted), holding(t, registry.Agent{ID: "x", Attributes: c.b}, admitted))
		want := []difference{}
		if c.want != nil {
			want = append(want, difference{Change: "changed", Table: "agents", Key: "x", Fields: c.want})
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

// awkward are names that ways of naming fields have been mistaken about.
var awkward = rapid.SampledFrom([]string{"a", "b", "a#2", "a#3", "a#2#2", "a.name", "a.b", "name", "0", "1", `"a"`, `"a#2"`, "a\\", inNoField})

func drawAgent(t *rapid.T) registry.Agent {
	a := registry.Agent{ID: "x", Hostname: rapid.SampledFrom([]string{"", "h"}).Draw(t, "hostname")}
	value := rapid.SampledFrom([]registry.Value{registry.Text("1"), registry.Text("2"), registry.Set(), registry.Set("1"), registry.Scalar(1)})
	for _, name := range rapid.SliceOfN(awkward, 0, 4).Draw(t, "attributes") {
		a.Attributes = append(a.Attributes, registry.Attribute{Name: name, Value: value.Draw(t, "value")})
	}
	a.Labels = rapid.MapOfN(awkward, rapid.SampledFrom([]string{"", "1"}), 0, 2).Draw(t, "labels")
	return a
}

func drawStatus(t *rapid.T) registry.Status {
	s := registry.Status{State: registry.Admitted, Deactivated: rapid.Bool().Draw(t, "deactivated")}
	if rapid.Bool().Draw(t, "unreachable") {
		s.State, s.At = registry.Unreachable, time.Unix(0, rapid.Int64Range(1, 2).Draw(t, "at"))
	}
	return s
}

// The second agent is another, or the first with its attributes in some order.
func TestDiffReportsWhateverTheBytesTellApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, status := drawAgent(t), drawStatus(t)
		a := holding(t, one, status)
		if rapid.Bool().Draw(t, "another") {
			one, status = drawAgent(t), drawStatus(t)
		} else {
			one.Attributes = rapid.Permutation(one.Attributes).Draw(t, "order")
		}
		b := holding(t, one, status)
		got, err := differences(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if same := a.Digest() == b.Digest(); same != (len(got) == 0) {
			t.Fatalf("with equal bytes: %v, it shows %v", same, got)
		}
		if len(got) > 0 && len(got[0].Fields) == 0 {
			t.Fatalf("it does not say in what %v differs", got[0])
		}
	})
}

// near are names that, put into paths as they are, come close to each other.
var near = rapid.SampledFrom([]string{"a", "b", "a.b", "a#2", "0", `"a.b"`})

// leaves makes a tree as JSON has it, of things that may have names, and counts
// its simple values.
func leaves(t *rapid.T, depth int) (tree any, n int) {
	if depth == 0 {
		return "leaf", 1
	}
	if rapid.Bool().Draw(t, "list") {
		items := make([]any, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range items {
			sub, m := leaves(t, depth-1)
			items[i], n = sub, n+m
		}
		return items, n
	}
	fields := map[string]any{}
	if rapid.Bool().Draw(t, "named") {
		fields["name"], n = near.Draw(t, "name"), 1
	}
	for _, name := range rapid.SliceOfNDistinct(near, 0, 3, rapid.ID).Draw(t, "fields") {
		sub, m := leaves(t, depth-1)
		fields[name], n = sub, n+m
	}
	return fields, n
}

func TestEveryValueHasAPathOfItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, n := leaves(t, rapid.IntRange(1, 4).Draw(t, "depth"))
		fields := map[string]any{}
		flatten(fields, "", tree)
		if len(fields) != n {
			t.Fatalf("%d paths for %d values: %v", len(fields), n, fmt.Sprint(tree))
		}
	})
}
