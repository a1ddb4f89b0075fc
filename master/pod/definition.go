package pod

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDefinition is the most bytes of a definition, both as somebody sends it and
// with all that is written out in it.
const MaxDefinition = 256 << 10

// MaxDepth is how deep objects and arrays may stand in one another in what somebody
// sends. What is kept stands in lists, and those who read JSON give up at some depth.
const MaxDepth = 64

// Definition says what a pod is to be. What is not said in what somebody sends
// has its default, and what Marathon does not know is left out, as it does.
type Definition struct {
	ID          string              `json:"id"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Version     Time                `json:"version,omitzero"` // the server's, whatever a client sends
	User        string              `json:"user,omitempty"`
	Environment map[string]Variable `json:"environment,omitempty"`
	Containers  []Container         `json:"containers"`
	Secrets     map[string]Secret   `json:"secrets,omitempty"`
	Volumes     []Object            `json:"volumes,omitempty"`
	Networks    []Network           `json:"networks,omitempty"`
	Scaling     Scaling             `json:"scaling"`
	Scheduling  Scheduling          `json:"scheduling"`
	Executor    ExecutorResources   `json:"executorResources"`
	// Role is whose pod it is; "*" if that is not said.
	Role                string `json:"role"`
	LinuxInfo           Object `json:"linuxInfo,omitzero"`
	LegacySharedCgroups *bool  `json:"legacySharedCgroups,omitzero"`

	text []byte // of a definition that has a version
}

// Container is a container of each instance.
type Container struct {
	Name           string              `json:"name"`
	Exec           *Exec               `json:"exec,omitzero"`
	Resources      *Resources          `json:"resources"`
	ResourceLimits *Limits             `json:"resourceLimits,omitzero"`
	Endpoints      []Endpoint          `json:"endpoints,omitempty"`
	Image          *Image              `json:"image,omitzero"`
	Environment    map[string]Variable `json:"environment,omitempty"`
	User           string              `json:"user,omitempty"`
	HealthCheck    *HealthCheck        `json:"healthCheck,omitzero"`
	Check          Object              `json:"check,omitzero"`
	VolumeMounts   []VolumeMount       `json:"volumeMounts,omitempty"`
	Artifacts      []Object            `json:"artifacts,omitempty"`
	Labels         map[string]string   `json:"labels,omitempty"`
	Lifecycle      *Lifecycle          `json:"lifecycle,omitzero"`
	TTY            *bool               `json:"tty,omitzero"`
	LinuxInfo      Object              `json:"linuxInfo,omitzero"`
}

// Exec is what a container runs.
type Exec struct {
	Command            Command `json:"command"`
	OverrideEntrypoint *bool   `json:"overrideEntrypoint,omitzero"`
}

// Command is one of both.
type Command struct {
	Shell *string  `json:"shell,omitzero"`
	Argv  []string `json:"argv,omitzero"`
}

// Resources are amounts, in cores and MB.
type Resources struct {
	CPUs float64 `json:"cpus"`
	Mem  float64 `json:"mem"`
	Disk float64 `json:"disk"`
	GPUs int32   `json:"gpus"`
}

// ExecutorResources are what the executor of an instance takes.
type ExecutorResources struct {
	CPUs float64 `json:"cpus"`
	Mem  float64 `json:"mem"`
	Disk float64 `json:"disk"`
}

// Limits are what a container may take beyond its resources.
type Limits struct {
	CPUs *Limit `json:"cpus,omitzero"`
	Mem  *Limit `json:"mem,omitzero"`
}

// Endpoint is a port by its name.
type Endpoint struct {
	Name          string            `json:"name"`
	ContainerPort *int32            `json:"containerPort,omitzero"`
	HostPort      *int32            `json:"hostPort,omitzero"` // 0 is any
	Protocol      []string          `json:"protocol,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	NetworkNames  []string          `json:"networkNames,omitempty"`
}

// Image is what a container starts from.
type Image struct {
	Kind       string            `json:"kind"`
	ID         string            `json:"id"`
	PullConfig *SecretRef        `json:"pullConfig,omitzero"`
	ForcePull  *bool             `json:"forcePull,omitzero"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// HealthCheck says how it is found out whether a container is healthy.
type HealthCheck struct {
	HTTP                   *HTTPCheck `json:"http,omitzero"`
	TCP                    *TCPCheck  `json:"tcp,omitzero"`
	Exec                   *ExecCheck `json:"exec,omitzero"`
	GracePeriodSeconds     int32      `json:"gracePeriodSeconds"`
	IntervalSeconds        int32      `json:"intervalSeconds"`
	MaxConsecutiveFailures int32      `json:"maxConsecutiveFailures"`
	TimeoutSeconds         int32      `json:"timeoutSeconds"`
	DelaySeconds           int32      `json:"delaySeconds"`
}

// HTTPCheck asks an endpoint.
type HTTPCheck struct {
	Endpoint string `json:"endpoint"`
	Path     string `json:"path,omitempty"`
	Scheme   string `json:"scheme,omitempty"`
}

// TCPCheck connects to an endpoint.
type TCPCheck struct {
	Endpoint string `json:"endpoint"`
}

// ExecCheck runs a command.
type ExecCheck struct {
	Command Command `json:"command"`
}

// VolumeMount is where a container finds a volume.
type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	ReadOnly  *bool  `json:"readOnly,omitzero"`
}

// Lifecycle says how a container ends.
type Lifecycle struct {
	KillGracePeriodSeconds *float64 `json:"killGracePeriodSeconds,omitzero"`
}

// Secret is where a secret comes from.
type Secret struct {
	Source string `json:"source"`
}

// Network is a network that all containers of an instance share.
type Network struct {
	Name   string            `json:"name,omitempty"`
	Mode   string            `json:"mode"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Modes of networks.
const (
	ContainerMode = "container"
	BridgeMode    = "container/bridge"
	HostMode      = "host"
)

// Scaling says how many instances there are to be.
type Scaling struct {
	Kind      string `json:"kind"`
	Instances int32  `json:"instances"`
}

// Scheduling says where and how instances are to be launched. Nothing here does.
type Scheduling struct {
	Backoff             Backoff             `json:"backoff"`
	Upgrade             Upgrade             `json:"upgrade"`
	Placement           Placement           `json:"placement,omitempty"`
	KillSelection       string              `json:"killSelection"`
	UnreachableStrategy UnreachableStrategy `json:"unreachableStrategy"`
}

// Backoff says how fast to launch again what fails, in seconds.
type Backoff struct {
	Backoff        float64 `json:"backoff"`
	BackoffFactor  float64 `json:"backoffFactor"`
	MaxLaunchDelay float64 `json:"maxLaunchDelay"`
}

// Upgrade says how many instances there may be while one definition takes the
// place of another, as shares.
type Upgrade struct {
	MinimumHealthCapacity float64 `json:"minimumHealthCapacity"`
	MaximumOverCapacity   float64 `json:"maximumOverCapacity"`
}

// Placement says on which agents.
type Placement struct {
	Constraints           []Constraint `json:"constraints,omitempty"`
	AcceptedResourceRoles []string     `json:"acceptedResourceRoles,omitempty"`
}

// Constraint is one on a field of agents.
type Constraint struct {
	FieldName string  `json:"fieldName"`
	Operator  string  `json:"operator"`
	Value     *string `json:"value,omitzero"`
}

// At is the definition as it is from this moment on: its version is that,
// without what is less than a millisecond.
func (d *Definition) At(version time.Time) (*Definition, error) {
	c := *d
	c.Version = Time{version.UTC().Truncate(time.Millisecond)}
	text, err := json.Marshal(&c, json.Deterministic(true))
	c.text = text
	return &c, err
}

// JSON is the definition with everything written out, and in one way only. It is
// nil while there is no version. Nobody may change it.
func (d *Definition) JSON() []byte { return d.text }

// Decode reads a definition that [Definition.JSON] wrote. It is not validated
// again: what is kept stays readable when rules become stricter.
func Decode(text []byte) (*Definition, error) {
	d, err := decode(text)
	if err != nil {
		return nil, err
	}
	return d.At(d.Version.Time)
}

// Parse reads and checks a definition that somebody sends. Its ID may be written
// with or without the leading slash. An error is one of [*SyntaxError],
// [*TypeError] and [*InvalidError].
func Parse(text []byte) (*Definition, error) {
	d, err := decode(text)
	if err != nil {
		return nil, err
	}
	if depth := depthOf(text); depth > MaxDepth {
		return nil, &SyntaxError{fmt.Sprintf("it is nested %d deep, at most %d are allowed", depth, MaxDepth)}
	}
	d.Version = Time{}
	if err := d.check(); err != nil {
		return nil, err
	}
	return d, nil
}

// container is the one of this name, or nil.
func (d *Definition) container(name string) *Container {
	for i := range d.Containers {
		if d.Containers[i].Name == name {
			return &d.Containers[i]
		}
	}
	return nil
}

// target is the endpoint that a check asks, "" if it asks none.
func (h *HealthCheck) target() string {
	switch {
	case h == nil:
		return ""
	case h.HTTP != nil:
		return h.HTTP.Endpoint
	case h.TCP != nil:
		return h.TCP.Endpoint
	}
	return ""
}

// Object is a part of a definition that is handed on as it came, without spaces.
type Object jsontext.Value
