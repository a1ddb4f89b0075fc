package httpapi

import (
	"cmp"
	"net"
	"strconv"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/registry"
)

// stateBody is the answer of /state.
func (a *api) stateBody(p *page, s *master.State, q *question) error {
	about := a.about
	p.b = append(p.b, '{')
	p.b = aboutBuild(p.b, &about.build)
	p.b = aboutMaster(p.b, s)
	p.b = optText(p.b, "cluster", about.cluster)
	p.b = optText(p.b, "log_dir", about.logDir)
	p.b = optText(p.b, "external_log_file", about.logFile)
	p.b = append(key(p.b, "flags"), about.flags...)
	agentLists(p, s, q, agentsInState, appendAgent)
	frameworkLists(p, s, q)
	// Mesos keeps these for clients of its youth; they are always empty.
	p.b = append(p.b, `,"orphan_tasks":[],"unregistered_frameworks":[]}`...)
	return nil
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
	b = double(b, "activated_slaves", float64(s.ActiveLen()))
	b = double(b, "deactivated_slaves", float64(s.AgentsLen()-s.ActiveLen()))
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
