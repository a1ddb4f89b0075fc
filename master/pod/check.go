package pod

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

const maxName = 63

// checking is what was found wrong, each path once.
type checking struct{ details []Detail }

// unless notes that something is wrong.
func (c *checking) unless(ok bool, path, format string, values ...any) {
	if ok {
		return
	}
	text := fmt.Sprintf(format, values...)
	for i := range c.details {
		if d := &c.details[i]; d.Path == path {
			if !slices.Contains(d.Errors, text) {
				d.Errors = append(d.Errors, text)
			}
			return
		}
	}
	c.details = append(c.details, Detail{path, []string{text}})
}

func (c *checking) name(path, text string) {
	c.unless(text != "", path, "must not be empty")
	c.unless(text == "" || name.MatchString(text), path, "must consist of lower case letters, digits and hyphens, with no hyphen at its ends")
	c.unless(len(text) <= maxName, path, "has %d characters, at most %d are allowed", len(text), maxName)
}

func (c *checking) oneOf(path, text string, all ...string) {
	c.unless(slices.Contains(all, text), path, "must be one of %s", strings.Join(all, ", "))
}

func (c *checking) least(path string, v, least float64) {
	c.unless(v >= least, path, "must be at least %v", least)
}

func (c *checking) between(path string, v, least, most float64) {
	c.unless(least <= v && v <= most, path, "must be between %v and %v", least, most)
}

// check says all that is wrong.
func (d *Definition) check() error {
	c := &checking{}
	if _, err := ParseID(d.ID); err != nil {
		c.unless(false, "/id", "%v", err)
	}
	c.environment("", d.Environment, d.Secrets)
	c.unless(len(d.Containers) > 0, "/containers", "must not be empty")
	names := uses{c, map[string]string{}}
	ports := portUses{uses{c, map[string]string{}}, uses{c, map[string]string{}}, uses{c, map[string]string{}}}
	for i := range d.Containers {
		path := fmt.Sprintf("/containers(%d)", i)
		names.add(path+"/name", d.Containers[i].Name, "is the name of another container")
		c.container(path, d, &d.Containers[i], ports)
	}
	for i := range d.Volumes {
		c.unless(nameOf(d.Volumes[i]) != "", fmt.Sprintf("/volumes(%d)/name", i), "must not be empty")
	}
	c.networks(d.Networks)
	c.oneOf("/scaling/kind", d.Scaling.Kind, "fixed")
	c.least("/scaling/instances", float64(d.Scaling.Instances), 0)
	c.scheduling(&d.Scheduling)
	c.least("/executorResources/cpus", d.Executor.CPUs, 0.1)
	c.least("/executorResources/mem", d.Executor.Mem, 32)
	c.least("/executorResources/disk", d.Executor.Disk, 10)
	if len(c.details) > 0 {
		slices.SortFunc(c.details, func(a, b Detail) int { return strings.Compare(a.Path, b.Path) }) // maps have no order
		return &InvalidError{c.details}
	}
	return c.size(d)
}

// size bounds what a definition is with everything written out.
func (c *checking) size(d *Definition) error {
	text, err := json.Marshal(d)
	switch {
	case err != nil:
		return &InvalidError{[]Detail{{"/", []string{err.Error()}}}}
	case len(text) > MaxDefinition-len(`"version":"",`)-len(timeForm):
		return &InvalidError{[]Detail{{"/", []string{fmt.Sprintf("has %d bytes with all defaults, at most %d are allowed", len(text), MaxDefinition)}}}}
	}
	return nil
}

func nameOf(o Object) string {
	var v struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(o, &v) != nil {
		return ""
	}
	return v.Name
}

// uses are what must be unique, and where it was first.
type uses struct {
	*checking
	first map[string]string
}

func (u uses) add(path, what, complaint string) {
	if what == "" {
		return
	}
	at, used := u.first[what]
	if u.unless(!used, path, "%s, at %s", complaint, at); !used {
		u.first[what] = path
	}
}

// portUses are those of endpoints.
type portUses struct{ names, container, host uses }

func (c *checking) environment(path string, all map[string]Variable, secrets map[string]Secret) {
	for name, v := range all {
		_, known := secrets[v.Secret]
		c.unless(name != "", path+"/environment", "has a variable without a name")
		c.unless(v.Secret == "" || known, path+"/environment/"+name, "names the secret %q, which is not among the secrets of the pod", v.Secret)
	}
}

func (c *checking) container(path string, d *Definition, v *Container, ports portUses) {
	c.name(path+"/name", v.Name)
	if v.Exec != nil {
		c.command(path+"/exec/command", &v.Exec.Command)
	}
	if c.unless(v.Resources != nil, path+"/resources", "must be there"); v.Resources != nil {
		c.resources(path, v.Resources, v.ResourceLimits)
	}
	if v.Image != nil {
		c.oneOf(path+"/image/kind", v.Image.Kind, "DOCKER")
		c.unless(v.Image.ID != "", path+"/image/id", "must not be empty")
	}
	c.environment(path, v.Environment, d.Secrets)
	for i := range v.Endpoints {
		c.endpoint(fmt.Sprintf("%s/endpoints(%d)", path, i), d.Networks, &v.Endpoints[i], ports)
	}
	if v.HealthCheck != nil {
		c.healthCheck(path+"/healthCheck", v)
	}
	for i, m := range v.VolumeMounts {
		at := fmt.Sprintf("%s/volumeMounts(%d)", path, i)
		known := slices.ContainsFunc(d.Volumes, func(o Object) bool { return nameOf(o) == m.Name })
		c.unless(known, at+"/name", "names %q, which is not among the volumes of the pod", m.Name)
		c.unless(m.MountPath != "", at+"/mountPath", "must not be empty")
	}
}

func (c *checking) command(path string, v *Command) {
	c.unless((v.Shell == nil) != (v.Argv == nil), path, "must have one of shell and argv")
	c.unless(v.Argv == nil || len(v.Argv) > 0, path+"/argv", "must not be empty")
}

func (c *checking) resources(path string, r *Resources, most *Limits) {
	c.least(path+"/resources/cpus", r.CPUs, 0)
	c.least(path+"/resources/mem", r.Mem, 0)
	c.least(path+"/resources/disk", r.Disk, 0)
	c.least(path+"/resources/gpus", float64(r.GPUs), 0)
	if most == nil {
		return
	}
	if l := most.CPUs; l != nil && !l.Unlimited {
		c.least(path+"/resourceLimits/cpus", l.Number, r.CPUs)
	}
	if l := most.Mem; l != nil && !l.Unlimited {
		c.least(path+"/resourceLimits/mem", l.Number, r.Mem)
	}
}

func (c *checking) endpoint(path string, networks []Network, e *Endpoint, ports portUses) {
	c.name(path+"/name", e.Name)
	ports.names.add(path+"/name", e.Name, "is the name of another endpoint")
	inHost := slices.ContainsFunc(networks, func(n Network) bool { return n.Mode == HostMode })
	if p := e.ContainerPort; p != nil {
		c.unless(!inHost, path+"/containerPort", "must not be there with the network mode host")
		c.between(path+"/containerPort", float64(*p), 1, 65535)
		ports.container.add(path+"/containerPort", fmt.Sprint(*p), "is the port of another endpoint")
	} else {
		c.unless(inHost, path+"/containerPort", "must be there with the network mode container")
	}
	if p := e.HostPort; p != nil {
		c.between(path+"/hostPort", float64(*p), 0, 65535)
		if *p != 0 {
			ports.host.add(path+"/hostPort", fmt.Sprint(*p), "is the port of another endpoint")
		}
	}
	for i, p := range e.Protocol {
		c.oneOf(fmt.Sprintf("%s/protocol(%d)", path, i), p, "tcp", "udp")
	}
	for i, n := range e.NetworkNames {
		known := slices.ContainsFunc(networks, func(v Network) bool { return v.Name == n && n != "" })
		c.unless(known, fmt.Sprintf("%s/networkNames(%d)", path, i), "is not among the networks of the pod")
	}
}

func (c *checking) healthCheck(path string, v *Container) {
	h, ways := v.HealthCheck, 0
	for _, is := range []bool{h.HTTP != nil, h.TCP != nil, h.Exec != nil} {
		if is {
			ways++
		}
	}
	c.unless(ways == 1, path, "must have exactly one of http, tcp and exec")
	if h.Exec != nil {
		c.command(path+"/exec/command", &h.Exec.Command)
	}
	if h.HTTP != nil && h.HTTP.Scheme != "" {
		c.oneOf(path+"/http/scheme", h.HTTP.Scheme, "HTTP", "HTTPS")
	}
	if h.HTTP != nil || h.TCP != nil {
		is := slices.ContainsFunc(v.Endpoints, func(e Endpoint) bool { return e.Name == h.target() })
		c.unless(is, path, "asks the endpoint %q, which the container does not have", h.target())
	}
	c.least(path+"/gracePeriodSeconds", float64(h.GracePeriodSeconds), 0)
	c.least(path+"/intervalSeconds", float64(h.IntervalSeconds), 0)
	c.least(path+"/maxConsecutiveFailures", float64(h.MaxConsecutiveFailures), 0)
	c.least(path+"/timeoutSeconds", float64(h.TimeoutSeconds), 0)
	c.least(path+"/delaySeconds", float64(h.DelaySeconds), 0)
	c.unless(h.TimeoutSeconds < h.IntervalSeconds, path+"/timeoutSeconds", "must be less than intervalSeconds")
}

func (c *checking) networks(all []Network) {
	modes := map[string]int{}
	for i := range all {
		path, n := fmt.Sprintf("/networks(%d)", i), &all[i]
		c.oneOf(path+"/mode", n.Mode, ContainerMode, BridgeMode, HostMode)
		c.unless(n.Mode != ContainerMode || n.Name != "", path+"/name", "must be there with the mode container")
		c.unless(n.Mode == ContainerMode || n.Name == "", path+"/name", "must not be there with the mode %s", n.Mode)
		modes[n.Mode]++
	}
	c.unless(modes[HostMode] == 0 || len(all) == 1, "/networks", "must be no other with the mode host")
	c.unless(modes[BridgeMode] == 0 || len(all) == 1, "/networks", "must be no other with the mode container/bridge")
}

func (c *checking) scheduling(s *Scheduling) {
	const at = "/scheduling"
	c.least(at+"/backoff/backoff", s.Backoff.Backoff, 0)
	c.least(at+"/backoff/backoffFactor", s.Backoff.BackoffFactor, 0)
	c.least(at+"/backoff/maxLaunchDelay", s.Backoff.MaxLaunchDelay, 0)
	c.between(at+"/upgrade/minimumHealthCapacity", s.Upgrade.MinimumHealthCapacity, 0, 1)
	c.between(at+"/upgrade/maximumOverCapacity", s.Upgrade.MaximumOverCapacity, 0, 1)
	for i, v := range s.Placement.Constraints {
		path := fmt.Sprintf("%s/placement/constraints(%d)", at, i)
		c.unless(v.FieldName != "", path+"/fieldName", "must not be empty")
		c.oneOf(path+"/operator", v.Operator, "UNIQUE", "CLUSTER", "GROUP_BY", "LIKE", "UNLIKE", "MAX_PER", "IS")
	}
	for i, role := range s.Placement.AcceptedResourceRoles {
		c.unless(role != "", fmt.Sprintf("%s/placement/acceptedResourceRoles(%d)", at, i), "must not be empty")
	}
	c.oneOf(at+"/killSelection", s.KillSelection, "YOUNGEST_FIRST", "OLDEST_FIRST")
	c.least(at+"/unreachableStrategy/inactiveAfterSeconds", float64(s.UnreachableStrategy.InactiveAfterSeconds), 0)
	c.least(at+"/unreachableStrategy/expungeAfterSeconds", float64(s.UnreachableStrategy.ExpungeAfterSeconds), 0)
}
