package pod

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestADefinitionIsWrittenOut(t *testing.T) {
	d := defined(t, `{"id":"p","version":"2001-01-01T00:00:00Z","containers":[{"name":"a","resources":{"mem":64}}],"maxInstances":3}`)
	want := `{"id":"/p","version":"2026-03-01T12:00:00.000Z","containers":[{"name":"a","resources":{"cpus":1,"mem":64,"disk":0,"gpus":0}}],` +
		`"networks":[{"mode":"host"}],"scaling":{"kind":"fixed","instances":1},` +
		`"scheduling":{"backoff":{"backoff":1,"backoffFactor":1.15,"maxLaunchDelay":300},"upgrade":{"minimumHealthCapacity":1,"maximumOverCapacity":1},` +
		`"killSelection":"YOUNGEST_FIRST","unreachableStrategy":{"inactiveAfterSeconds":0,"expungeAfterSeconds":0}},` +
		`"executorResources":{"cpus":0.1,"mem":32,"disk":10},"role":"*"}`
	if got := string(d.JSON()); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestANullSaysNothing(t *testing.T) {
	plain := defined(t, `{"id":"p","containers":[{"name":"a","resources":{}}]}`)
	nulls := defined(t, `{"id":"p","containers":[{"name":"a","resources":{},"exec":null,"healthCheck":null}],"scaling":null,"executorResources":null,"networks":null,"labels":null,"user":null}`)
	if got, want := string(nulls.JSON()), string(plain.JSON()); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestWhatWasWrittenReadsBackTheSame(t *testing.T) {
	d := defined(t, fullDefinition)
	again, err := Decode(d.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.JSON(), d.JSON()) {
		t.Error(cmp.Diff(string(d.JSON()), string(again.JSON())))
	}
	for _, kept := range []string{`"environment":{"A":"b","S":{"secret":"s"}}`, `"cpus":"unlimited"`, `"unreachableStrategy":"disabled"`, `"check":{"exec":{"command":{"shell":"true"}}}`,
		`"volumes":[{"name":"v","host":"/data"}]`, `"hostPort":0`} {
		if !strings.Contains(string(d.JSON()), kept) {
			t.Errorf("%s\nlacks %s", d.JSON(), kept)
		}
	}
}

func TestADefinitionIsRefusedWithItsPath(t *testing.T) {
	with := func(member string) string {
		return `{"id":"/p","containers":[{"name":"a","resources":{}}],` + member + `}`
	}
	in := func(member string) string {
		return `{"id":"/p","networks":[{"mode":"container","name":"n"}],"containers":[{"name":"a","resources":{},` + member + `}]}`
	}
	for _, row := range []struct {
		text string
		kind error
		want string // the error
	}{
		{`{`, &SyntaxError{}, "Invalid JSON: unexpected EOF"},
		{`{"id":"a","id":"b"}`, &SyntaxError{}, `Invalid JSON: duplicate object member name "id"`},
		{strings.Repeat(" ", MaxDefinition+1), &SyntaxError{}, "Invalid JSON: it has 262145 bytes, at most 262144 are allowed"},
		{with(`"volumes":[` + strings.Repeat(`{"a":`, MaxDepth-1) + `{}` + strings.Repeat("}", MaxDepth-1) + `]`), &SyntaxError{}, "Invalid JSON: it is nested 66 deep, at most 64 are allowed"},
		{`[]`, &TypeError{}, "Invalid JSON: / is not an object"},
		{`{"id":1}`, &TypeError{}, "Invalid JSON: /id is not a string"},
		{`{"containers":{}}`, &TypeError{}, "Invalid JSON: /containers is not an array"},
		{`{"containers":[{"name":1}]}`, &TypeError{}, "Invalid JSON: /containers(0)/name is not a string"},
		{`{"containers":[{"resources":{"cpus":"1"}}]}`, &TypeError{}, "Invalid JSON: /containers(0)/resources/cpus is not a number"},
		{`{"containers":[{"resources":{"gpus":0.5}}]}`, &TypeError{}, "Invalid JSON: /containers(0)/resources/gpus is not a whole number of that size"},
		{`{"labels":{"0":1}}`, &TypeError{}, "Invalid JSON: /labels/0 is not a string"},
		{`{"environment":{"A":1}}`, &TypeError{}, "Invalid JSON: /environment/A is neither a string nor an object with a secret"},
		{`{"scheduling":{"unreachableStrategy":"off"}}`, &TypeError{}, "Invalid JSON: /scheduling/unreachableStrategy is neither an object nor disabled"},
		{`{"volumes":[1]}`, &TypeError{}, "Invalid JSON: /volumes(0) is not an object"},
		{`{"version":"now"}`, &TypeError{}, "Invalid JSON: /version is not a time as 2006-01-02T15:04:05.000Z"},
		{`{"scaling":{"instances":3000000000}}`, &TypeError{}, "Invalid JSON: /scaling/instances is not a whole number of that size"},
		{`{}`, &InvalidError{}, "Object is not valid: /containers must not be empty; /id must be a path that is not the root"},
		{`{"id":"/P","containers":[{"name":"a","resources":{}}]}`, &InvalidError{}, `Object is not valid: /id must consist of lower case letters, digits, hyphens and dots between slashes, and "P" does not`},
		{`{"id":"/p","containers":[{}]}`, &InvalidError{}, "Object is not valid: /containers(0)/name must not be empty; /containers(0)/resources must be there"},
		{`{"id":"/p","containers":[{"name":"_app","resources":{}}]}`, &InvalidError{}, "Object is not valid: /containers(0)/name must consist of lower case letters, digits and hyphens, with no hyphen at its ends"},
		{`{"id":"/p","containers":[{"name":"a","resources":{}},{"name":"a","resources":{}}]}`, &InvalidError{}, "Object is not valid: /containers(1)/name is the name of another container, at /containers(0)/name"},
		{with(`"scaling":{"kind":"auto","instances":-1}`), &InvalidError{}, "Object is not valid: /scaling/instances must be at least 0; /scaling/kind must be one of fixed"},
		{with(`"executorResources":{"cpus":0.01}`), &InvalidError{}, "Object is not valid: /executorResources/cpus must be at least 0.1"},
		{with(`"environment":{"A":{"secret":"s"}}`), &InvalidError{}, `Object is not valid: /environment/A names the secret "s", which is not among the secrets of the pod`},
		{with(`"networks":[{"mode":"container"}]`), &InvalidError{}, "Object is not valid: /networks(0)/name must be there with the mode container"},
		{with(`"networks":[{"mode":"host"},{"name":"n"}]`), &InvalidError{}, "Object is not valid: /networks must be no other with the mode host"},
		{with(`"scheduling":{"killSelection":"ANY","upgrade":{"minimumHealthCapacity":2},"placement":{"constraints":[{"fieldName":"rack","operator":"NEAR"}]}}`), &InvalidError{},
			"Object is not valid: /scheduling/killSelection must be one of YOUNGEST_FIRST, OLDEST_FIRST; /scheduling/placement/constraints(0)/operator must be one of UNIQUE, CLUSTER, GROUP_BY, LIKE, UNLIKE, MAX_PER, IS; /scheduling/upgrade/minimumHealthCapacity must be between 0 and 1"},
		{in(`"endpoints":[{"name":"e"}]`), &InvalidError{}, "Object is not valid: /containers(0)/endpoints(0)/containerPort must be there with the network mode container"},
		{in(`"endpoints":[{"name":"e","containerPort":0,"protocol":["sctp"]}]`), &InvalidError{}, "Object is not valid: /containers(0)/endpoints(0)/containerPort must be between 1 and 65535; /containers(0)/endpoints(0)/protocol(0) must be one of tcp, udp"},
		{in(`"endpoints":[{"name":"e","containerPort":1,"hostPort":7},{"name":"e","containerPort":1,"hostPort":7}]`), &InvalidError{},
			"Object is not valid: /containers(0)/endpoints(1)/containerPort is the port of another endpoint, at /containers(0)/endpoints(0)/containerPort; " +
				"/containers(0)/endpoints(1)/hostPort is the port of another endpoint, at /containers(0)/endpoints(0)/hostPort; " +
				"/containers(0)/endpoints(1)/name is the name of another endpoint, at /containers(0)/endpoints(0)/name"},
		{`{"id":"/p","containers":[{"name":"a","resources":{},"endpoints":[{"name":"e","containerPort":1}]}]}`, &InvalidError{}, "Object is not valid: /containers(0)/endpoints(0)/containerPort must not be there with the network mode host"},
		{in(`"healthCheck":{}`), &InvalidError{}, "Object is not valid: /containers(0)/healthCheck must have exactly one of http, tcp and exec"},
		{in(`"healthCheck":{"tcp":{"endpoint":"x"},"timeoutSeconds":60}`), &InvalidError{}, `Object is not valid: /containers(0)/healthCheck asks the endpoint "x", which the container does not have; /containers(0)/healthCheck/timeoutSeconds must be less than intervalSeconds`},
		{in(`"exec":{"command":{}}`), &InvalidError{}, "Object is not valid: /containers(0)/exec/command must have one of shell and argv"},
		{in(`"image":{"kind":"APPC","id":""}`), &InvalidError{}, "Object is not valid: /containers(0)/image/id must not be empty; /containers(0)/image/kind must be one of DOCKER"},
		{in(`"volumeMounts":[{"name":"v","mountPath":"m"}]`), &InvalidError{}, `Object is not valid: /containers(0)/volumeMounts(0)/name names "v", which is not among the volumes of the pod`},
		{in(`"resourceLimits":{"cpus":0.5,"mem":"unlimited"}`), &InvalidError{}, "Object is not valid: /containers(0)/resourceLimits/cpus must be at least 1"},
	} {
		_, err := Parse([]byte(row.text))
		if err == nil || !sameKind(err, row.kind) || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%.200s:\n got %T %v\nwant %T %s", row.text, err, err, row.kind, row.want)
		}
	}
}

func sameKind(err, kind error) bool {
	switch kind.(type) {
	case *SyntaxError:
		return errors.As(err, new(*SyntaxError))
	case *TypeError:
		return errors.As(err, new(*TypeError))
	}
	return errors.As(err, new(*InvalidError))
}

func TestADefinitionIsBoundedWithItsDefaults(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"id":"/p","containers":[`)
	for i := range 9000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"resources":{}}`)
	}
	b.WriteString(`]}`)
	d, err := decode([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := new(checking).size(d); !errors.As(err, new(*InvalidError)) {
		t.Errorf("got %v, and %d bytes were sent", err, b.Len())
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{``, `{}`, `[1]`, checkedPod, fullDefinition, `{"id":"/p","containers":[{"name":"a","resources":null}]}`,
		`{"environment":{"":{"secret":""}}}`, `{"scheduling":{"unreachableStrategy":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			switch {
			case errors.As(err, new(*SyntaxError)), errors.As(err, new(*TypeError)), errors.As(err, new(*InvalidError)):
				return
			}
			t.Fatalf("an error of another kind: %T %v", err, err)
		}
		if d, err = d.At(at(0)); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(d.JSON())
		if err != nil {
			t.Fatalf("what was written out is refused: %v\n%s", err, d.JSON())
		}
		again, _ = again.At(at(0))
		if !bytes.Equal(again.JSON(), d.JSON()) {
			t.Fatalf("it is another one the second time:\n%s\n%s", d.JSON(), again.JSON())
		}
		if len(d.JSON()) > MaxDefinition {
			t.Fatalf("it has %d bytes", len(d.JSON()))
		}
	})
}

const fullDefinition = `{
	"id": "/web/front", "user": "nobody", "labels": {"team": "blue"}, "role": "web", "legacySharedCgroups": true, "linuxInfo": {"seccomp": {"unconfined": true}},
	"environment": {"A": "b", "S": {"secret": "s"}}, "secrets": {"s": {"source": "/path"}},
	"volumes": [{"name": "v", "host": "/data"}], "networks": [{"mode": "container", "name": "dcos", "labels": {"k": "v"}}],
	"scaling": {"kind": "fixed", "instances": 2}, "executorResources": {"cpus": 0.2, "mem": 64, "disk": 20},
	"scheduling": {
		"backoff": {"backoff": 2}, "upgrade": {"maximumOverCapacity": 0.5}, "killSelection": "OLDEST_FIRST", "unreachableStrategy": "disabled",
		"placement": {"constraints": [{"fieldName": "rack", "operator": "GROUP_BY", "value": "3"}], "acceptedResourceRoles": ["web"]}},
	"containers": [
		{
			"name": "nginx", "exec": {"command": {"argv": ["nginx", "-g"]}, "overrideEntrypoint": true}, "resources": {"cpus": 0.5, "mem": 128, "disk": 10, "gpus": 1},
			"resourceLimits": {"cpus": "unlimited", "mem": 256.5}, "image": {"kind": "DOCKER", "id": "nginx:1", "pullConfig": {"secret": "s"}, "forcePull": false, "labels": {"l": "m"}},
			"endpoints": [{"name": "http", "containerPort": 80, "hostPort": 0, "protocol": ["tcp"], "labels": {"VIP_0": "/web:80"}, "networkNames": ["dcos"]}, {"name": "admin", "containerPort": 81}],
			"environment": {"C": "d"}, "user": "www", "labels": {"x": "y"}, "tty": true, "lifecycle": {"killGracePeriodSeconds": 30},
			"healthCheck": {"http": {"endpoint": "http", "path": "/health", "scheme": "HTTP"}, "gracePeriodSeconds": 10},
			"check": {"exec": {"command": {"shell": "true"}}}, "volumeMounts": [{"name": "v", "mountPath": "/mnt", "readOnly": true}],
			"artifacts": [{"uri": "http://files.example/a"}], "linuxInfo": {"ipcInfo": {"mode": "PRIVATE"}}
		},
		{"name": "side", "exec": {"command": {"shell": "sleep 1"}}, "resources": {"cpus": 0.25, "mem": 32}, "healthCheck": {"exec": {"command": {"shell": "true"}}}}
	]}`

// TestDefinitionsOfOthersAreRead reads those that clients are tested with. Some are
// not valid, since they have no container, but all have the right types. That of
// dcos-ui has not, nor would Marathon take it: its protocol is no array.
func TestDefinitionsOfOthersAreRead(t *testing.T) {
	dir := os.Getenv("REGISTRAR_FIXTURES")
	if dir == "" {
		t.Skip("REGISTRAR_FIXTURES is not set")
	}
	for _, row := range []struct{ file, want string }{
		{"dcos-core-cli/pod-good_status.json", "/good-pod"},
		{"go-marathon/GET-v2_pods_fake-pod--status.json", "Object is not valid: /containers must not be empty"},
		{"go-marathon/GET-v2_pods_fake-pod2--status.json", "Object is not valid: /containers must not be empty"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, row.file))
		if err != nil {
			t.Fatal(err)
		}
		var status struct {
			Spec jsontext.Value `json:"spec"`
		}
		if err := json.Unmarshal(text, &status); err != nil {
			t.Fatal(err)
		}
		var got string
		if d, err := Parse(status.Spec); err != nil {
			got = err.Error()
		} else {
			got = d.ID
		}
		if got != row.want {
			t.Errorf("%s: got %s, want %s", row.file, got, row.want)
		}
	}
}
