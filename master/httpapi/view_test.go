package httpapi_test

import (
	"testing"

	"github.com/eaba02dc/registrar/master/httpapi"
)

func TestARoleStandsForThoseBelowIt(t *testing.T) {
	v := httpapi.View{Roles: []string{"a", "b/c"}}
	for role, sees := range map[string]bool{
		"a": true, "a/b": true, "a/b/c": true, "b/c": true, "b/c/d": true,
		"": false, "*": false, "ab": false, "b": false, "b/cd": false, "c": false, "/a": false,
	} {
		if v.Sees(role) != sees {
			t.Errorf("%q: sees is %v", role, !sees)
		}
		if !(httpapi.View{}).Sees(role) {
			t.Errorf("%q is not in the view of everything", role)
		}
		if (httpapi.View{Roles: []string{}}).Sees(role) {
			t.Errorf("%q is in the view of nothing", role)
		}
	}
}
