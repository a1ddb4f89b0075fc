package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/master/pod"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// The types below are what go-marathon reads of pods, and what follows them how
// it takes answers. It is not used itself: of that project only versions without
// pods can be had from Go's module proxy.

type readResources struct {
	CPUs float64 `json:"cpus"`
	Mem  float64 `json:"mem"`
	Disk float64 `json:"disk"`
	GPUs int32   `json:"gpus"` // fails for 0.0
}

type readEndpoint struct {
	Name          string            `json:"name"`
	ContainerPort int               `json:"containerPort"`
	HostPort      int               `json:"hostPort"`
	Protocol      []string          `json:"protocol"`
	Labels        map[string]string `json:"labels"`
}

// readVariable fails for anything but a text and the name of a secret.
type readVariable struct{ Value, Secret string }

func (v *readVariable) UnmarshalJSON(b []byte) error {
	var secret map[string]string
	switch {
	case json.Unmarshal(b, &v.Value) == nil:
		return nil
	case json.Unmarshal(b, &secret) == nil && secret["secret"] != "":
		v.Secret = secret["secret"]
		return nil
	}
	return fmt.Errorf("a variable of %s", b)
}

type readContainer struct {
	Name string `json:"name"`
	Exec *struct {
		Command struct {
			Shell string   `json:"shell"`
			Argv  []string `json:"argv"`
		} `json:"command"`
	} `json:"exec"`
	Resources   *readResources          `json:"resources"`
	Endpoints   []readEndpoint          `json:"endpoints"`
	Environment map[string]readVariable `json:"environment"`
}

type readPod struct {
	ID          string                             `json:"id"`
	Labels      map[string]string                  `json:"labels"`
	Version     string                             `json:"version"`
	User        string                             `json:"user"`
	Environment map[string]readVariable            `json:"environment"`
	Containers  []readContainer                    `json:"containers"`
	Secrets     map[string]struct{ Source string } `json:"secrets"`
	Networks    []struct{ Name, Mode string }      `json:"networks"`
	Scaling     *struct {
		Kind      string `json:"kind"`
		Instances int    `json:"instances"`
	} `json:"scaling"`
	Scheduling *struct {
		Backoff *struct {
			Backoff        float64 `json:"backoff"`
			BackoffFactor  float64 `json:"backoffFactor"`
			MaxLaunchDelay float64 `json:"maxLaunchDelay"`
		} `json:"backoff"`
		Placement *struct {
			Constraints []struct {
				FieldName string `json:"fieldName"`
				Operator  string `json:"operator"`
				Value     string `json:"value"`
			} `json:"constraints"`
		} `json:"placement"`
		UnreachableStrategy *struct {
			InactiveAfterSeconds float64 `json:"inactiveAfterSeconds"`
			ExpungeAfterSeconds  float64 `json:"expungeAfterSeconds"`
		} `json:"unreachableStrategy"`
	} `json:"scheduling"`
	Role *string `json:"role"`
}

type readCondition struct {
	Name, Value, Reason      string
	LastChanged, LastUpdated string
}

type readContainerStatus struct {
	Name, Status, StatusSince, ContainerID string
	Conditions                             []readCondition
	Endpoints                              []readEndpoint
	Resources                              *readResources
	LastUpdated, LastChanged               string
}

type readInstance struct {
	ID, Status, StatusSince, Message, AgentHostname, SpecReference string
	Conditions                                                     []readCondition
	Containers                                                     []readContainerStatus
	Networks                                                       []struct {
		Name      string
		Addresses []string
	}
	Resources                *readResources
	LastUpdated, LastChanged string
}

type readStatus struct {
	ID                 string
	Spec               *readPod
	Status             string
	StatusSince        string
	Message            string
	Instances          []readInstance
	TerminationHistory []struct {
		InstanceID   string `json:"instanceId"`
		StartedAt    string
		TerminatedAt string
		Containers   []struct{ ContainerID, LastKnownState string }
	}
	LastUpdated, LastChanged string
}

// take takes an answer as go-marathon does: one without a body only with the name of a
// deployment.
func take(a answered, into any) error {
	switch {
	case a.status >= 500:
		return errors.New("the member is down")
	case a.status > 299:
		var e struct {
			Message string `json:"message"`
			Details []struct {
				Path   string   `json:"path"`
				Errors []string `json:"errors"`
			} `json:"details"`
		}
		if err := json.Unmarshal([]byte(a.body), &e); err != nil {
			return fmt.Errorf("an error that cannot be read: %w: %s", err, a.body)
		}
		return fmt.Errorf("%d %s %v", a.status, e.Message, e.Details)
	case a.body == "" && a.header.Get("Marathon-Deployment-Id") != "":
		return nil
	}
	return json.Unmarshal([]byte(a.body), into)
}

const sentPod = `{
	"id": "/web/front", "labels": {"team": "blue"}, "user": "nobody", "role": "web",
	"environment": {"A": "b", "S": {"secret": "s"}}, "secrets": {"s": {"source": "/path"}},
	"containers": [{"name": "a", "exec": {"command": {"shell": "sleep 1"}}, "resources": {"cpus": 0.5, "mem": 64, "gpus": 1}, "environment": {"C": "d"},
		"endpoints": [{"name": "http", "containerPort": 80, "hostPort": 0, "protocol": ["tcp"], "labels": {"VIP_0": "/web:80"}}],
		"healthCheck": {"http": {"endpoint": "http"}}}],
	"networks": [{"name": "dcos", "mode": "container"}], "scaling": {"kind": "fixed", "instances": 1, "maxInstances": 3},
	"scheduling": {"backoff": {"backoff": 2, "backoffFactor": 1.5, "maxLaunchDelay": 60}, "placement": {"constraints": [{"fieldName": "rack", "operator": "UNIQUE"}]},
		"unreachableStrategy": {"inactiveAfterSeconds": 300, "expungeAfterSeconds": 600}}
}`

func TestClientsOfMarathonReadWhatTheyWrote(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	var sent, made, read readPod
	if err := json.Unmarshal([]byte(sentPod), &sent); err != nil {
		t.Fatal(err)
	}
	if err := take(p.asks("POST", "/v2/pods", sentPod), &made); err != nil {
		t.Fatal(err)
	}
	kept, _ := p.m.State().Pod("/web/front")
	sent.Version = pod.FormatTime(kept.Definition.Version.Time)
	if diff := cmp.Diff(sent, made); diff != "" {
		t.Errorf("(-sent +made):\n%s", diff)
	}
	for _, path := range []string{"/v2/pods/web/front", "/v2/pods/web/front::versions/" + sent.Version} {
		read = readPod{}
		if err := take(p.asks("GET", path, ""), &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, read); diff != "" {
			t.Errorf("%s (-made +read):\n%s", path, diff)
		}
	}
	var list []readPod
	if err := take(p.asks("GET", "/v2/pods", ""), &list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]readPod{made}, list); diff != "" {
		t.Errorf("(-made +list):\n%s", diff)
	}
	var versions []string
	if err := take(p.asks("GET", "/v2/pods/web/front::versions", ""), &versions); err != nil || len(versions) != 1 || versions[0] != sent.Version {
		t.Errorf("got %v, %v", versions, err)
	}
	if err := take(p.asks("PUT", "/v2/pods/web/front?force=false", sentPod), &read); err != nil || read.Version <= made.Version {
		t.Errorf("got version %s after %s, %v", read.Version, made.Version, err)
	}
	if err := take(p.asks("DELETE", "/v2/pods/web/front?force=true", ""), &read); err != nil {
		t.Error(err)
	}
	for _, row := range []struct {
		a    answered
		want string
	}{
		{p.asks("GET", "/v2/pods/web/front", ""), "404 Pod '/web/front' does not exist []"},
		{p.asks("POST", "/v2/pods", `{"id":1}`), "400 Invalid JSON [{/id [is not a string]}]"},
		{p.asks("POST", "/v2/pods", `{"id":"/a"}`), "422 Object is not valid [{/containers [must not be empty]}]"},
		{p.asks("GET", "/v2/groups", ""), "404 URI not found []"},
	} {
		if err := take(row.a, nil); err == nil || err.Error() != row.want {
			t.Errorf("got %v, want %s", err, row.want)
		}
	}
}

func TestClientsOfMarathonReadStatuses(t *testing.T) {
	p := newPodSite(t, store.NewMemory(), httpapi.Options{})
	if a := p.asks("POST", "/v2/pods", sentPod); a.status != http.StatusCreated {
		t.Fatalf("got %+v", a)
	}
	healthy := true
	task := ofPod("/web/front", "1", wire.TaskRunning)
	task.Resources = []wire.Resource{scalar("cpus", 0.5, "web"), scalar("mem", 64, "web"), scalar("gpus", 1, "web"),
		{Resource: registry.Resource{Name: "ports", Value: registry.Ranges(registry.Range{Begin: 31005, End: 31005})}}}
	task.Statuses[0].Healthy = &healthy
	task.Statuses[0].ContainerStatus = `{"network_infos":[{"name":"dcos","ip_addresses":[{"ip_address":"9.0.0.2"}]}]}`
	p.runs(task)

	kept, _ := p.m.State().Pod("/web/front")
	var spec readPod
	if err := json.Unmarshal(kept.Definition.JSON(), &spec); err != nil {
		t.Fatal(err)
	}
	const since = "2023-11-14T22:13:20.250Z"
	want := readStatus{ID: "/web/front", Spec: &spec, Status: "STABLE", StatusSince: since, LastUpdated: pod.FormatTime(kept.Updated), LastChanged: since}
	want.Instances = []readInstance{{
		ID: "web_front.instance-1", Status: "STABLE", StatusSince: since, AgentHostname: "host-1", Conditions: []readCondition{}, LastUpdated: since, LastChanged: since,
		Resources: &readResources{0.6, 96, 10, 1},
		Containers: []readContainerStatus{{
			Name: "a", Status: "TASK_RUNNING", StatusSince: since, ContainerID: "web_front.instance-1.a.1", Resources: &readResources{0.5, 64, 0, 1}, LastUpdated: since, LastChanged: since,
			Conditions: []readCondition{{"healthy", "true", "health-reported-by-mesos", since, since}}, Endpoints: []readEndpoint{{Name: "http"}},
		}},
	}}
	want.Instances[0].Networks = append(want.Instances[0].Networks, struct {
		Name      string
		Addresses []string
	}{"dcos", []string{"9.0.0.2"}})
	want.TerminationHistory = append(want.TerminationHistory, struct {
		InstanceID   string `json:"instanceId"`
		StartedAt    string
		TerminatedAt string
		Containers   []struct{ ContainerID, LastKnownState string }
	}{})[:0]

	var one readStatus
	if err := take(p.asks("GET", "/v2/pods/web/front::status", ""), &one); err != nil {
		t.Fatal(err)
	}
	want.Instances[0].SpecReference = one.Instances[0].SpecReference // its time is Java's
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var list []readStatus
	if err := take(p.asks("GET", "/v2/pods/::status", ""), &list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]readStatus{want}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var referred readPod
	if err := take(p.asks("GET", one.Instances[0].SpecReference, ""), &referred); err != nil || referred.Version != spec.Version {
		t.Errorf("the reference %s is of %q, %v", one.Instances[0].SpecReference, referred.Version, err)
	}

	p.runs(ofPod("/web/front", "1", wire.TaskFailed))
	if err := take(p.asks("GET", "/v2/pods/web/front::status", ""), &one); err != nil || one.Status != "DEGRADED" || len(one.TerminationHistory) != 1 ||
		one.TerminationHistory[0].InstanceID != "web_front.instance-1" || one.TerminationHistory[0].Containers[0].LastKnownState != "TASK_FAILED" {
		t.Errorf("got %+v, %v", one, err)
	}
}
