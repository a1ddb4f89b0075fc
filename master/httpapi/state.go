package httpapi

import (
	"cmp"
	"net"
	"net/url"
	"strconv"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

func (a *api) stateBody(b []byte, s *master.State, _ url.Values) ([]byte, error) {
	return appendState(b, s, a.about), nil
}

// appendState writes the answer of /state.
func appendState(b []byte, s *master.State, about *about) []byte {
	b = append(b, '{')
	b = aboutBuild(b, &about.build)
	b = aboutMaster(b, s)
	b = optText(b, "cluster", about.cluster)
	b = optText(b, "log_dir", about.logDir)
	b = optText(b, "external_log_file", about.logFile)
	b = append(key(b, "flags"), about.flags...)
	b = agentLists(b, s, nil, appendAgent)
	b = frameworkLists(b, s, nil)
	// Mesos keeps these for clients of its youth; they are always empty.
	b = append(key(b, "orphan_tasks"), "[]"...)
	b = append(key(b, "unregistered_frameworks"), "[]"...)
	return append(b, '}')
}

func aboutBuild(b []byte, v *Build) []byte {
	b = text(b, "version", v.Version)
	b = optText(b, "git_sha", v.GitSHA)
	b = optText(b, "git_tag", v.GitTag)
	return v.built(b)
}

func aboutMaster(b []byte, s *master.State) []byte {
	m := &s.Master
	b = seconds(b, "start_time", s.Started)
	b = optSeconds(b, "elected_time", s.Elected)
	b = text(b, "id", m.ID)
	b = text(b, "pid", masterPID(m))
	b = text(b, "hostname", m.Hostname)
	b = texts(b, "capabilities", m.Capabilities)
	b = agentCounts(b, s)
	b = domain(b, m.Domain)
	if leads(s) {
		b = text(b, "leader", masterPID(m))
		b = leaderInfo(b, m)
	}
	return b
}

// agentCounts are doubles: Mesos counts so.
func agentCounts(b []byte, s *master.State) []byte {
	var active, inactive float64
	for a := range s.Agents() {
		if a.Active() {
			active++
		} else {
			inactive++
		}
	}
	b = double(b, "activated_slaves", active)
	b = double(b, "deactivated_slaves", inactive)
	return double(b, "unreachable_slaves", float64(s.Registry.Len(registry.Unreachable)))
}

func leaderInfo(b []byte, m *registry.Master) []byte {
	b = append(key(b, "leader_info"), '{')
	b = text(b, "id", m.ID)
	b = text(b, "pid", masterPID(m))
	b = integer(b, "port", int64(m.Port))
	b = text(b, "hostname", m.Hostname)
	b = domain(b, m.Domain)
	return append(b, '}')
}

// masterPID is where a master is in the words of libprocess. Clients take the
// address out of it.
func masterPID(m *registry.Master) string {
	return cmp.Or(m.PID, "master@"+net.JoinHostPort(m.IP, strconv.Itoa(int(m.Port))))
}
