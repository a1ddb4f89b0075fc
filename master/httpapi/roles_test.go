package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registry"
)

// inManyRoles is a cluster with one framework, in 1,000 roles of 3 parts, which uses
// something in one.
func inManyRoles() *master.State {
	info := wire.FrameworkInfo{ID: "f", Capabilities: []string{"MULTI_ROLE"}}
	for i := range 1000 {
		info.Roles = append(info.Roles, fmt.Sprintf("r%d/s/t", i))
	}
	task := &wire.Task{ID: "t", FrameworkID: "f", AgentID: "a", State: wire.TaskRunning, Resources: []wire.Resource{scalar("cpus", 1, "r7/s/t")}}
	s := master.NewState(nil, nil, []*master.Framework{master.NewFramework(info, []*wire.Task{task}, nil, nil, nil)}, nil)
	s.Master, s.Registry = leader, registry.New()
	return s
}

func TestOnlyRolesThatAreSeenAreComputed(t *testing.T) {
	s := inManyRoles()
	for _, test := range []struct {
		view httpapi.View
		want []string
	}{
		{httpapi.View{Roles: []string{}}, nil},
		{httpapi.View{Roles: []string{"r7"}}, []string{"r7", "r7/s", "r7/s/t"}},
		{httpapi.View{Roles: []string{"r7/s", "r8/s/t"}}, []string{"r7/s", "r7/s/t", "r8/s/t"}},
	} {
		if got := httpapi.RolesIn(s, test.view); !slices.Equal(got, test.want) {
			t.Errorf("for %q there are %q, want %q", test.view.Roles, got, test.want)
		}
	}
	if n := len(httpapi.RolesIn(s, httpapi.View{})); n != 3000 {
		t.Errorf("for all there are %d roles, want 3000", n)
	}
}

func TestRolesThatHaveNothingTakeNoRoomForAmounts(t *testing.T) {
	if got := httpapi.RolesWithAmounts(inManyRoles()); !slices.Equal(got, []string{"r7", "r7/s", "r7/s/t"}) {
		t.Errorf("%d have room for amounts, want 3: %.100s", len(got), strings.Join(got, " "))
	}
}

func TestRolesAreNotedOnceHoweverManyThereAre(t *testing.T) {
	for _, n := range []int{1, 16, 17, 500} {
		var want, said []string
		for i := range n {
			role := fmt.Sprint("r", i)
			want = append(want, role)
			said = append(said, role, "r0", role)
		}
		got, kept := httpapi.Noted(append(said, want...)...)
		if !slices.Equal(got, want) || kept {
			t.Errorf("of %d roles %d are noted, and the index is kept: %v", n, len(got), kept)
		}
		if looksUp := httpapi.LooksUpRoles(n); looksUp != (n > 16) {
			t.Errorf("%d roles are looked up in an index: %v", n, looksUp)
		}
	}
}
