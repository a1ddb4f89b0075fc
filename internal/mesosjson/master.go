package mesosjson

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eaba02dc/registrar/registry"
)

// master reads the registry's member "master".
func (in *reader) master(path string, first jsontext.Token) error {
	if err := in.is(FormRegistry); err != nil {
		return err
	}
	d := &document{path: path, pattern: path}
	n, err := in.scan.tree(d, first)
	if err != nil {
		return err
	}
	m := masterInfo(n.in("info"))
	if d.err != nil {
		return d.err
	}
	n.leftovers(func(rest *node) { in.lost.add(rest.pattern(), "", rest.sample(), 1) })
	in.report.Master = &m
	return nil
}

// masterInfo reads a MasterInfo message. It has the address twice, and once
// more in the process address.
func masterInfo(n *node) registry.Master {
	m := registry.Master{
		ID:       n.member("id").str(),
		IP:       networkOrder(n.member("ip").natural()),
		Port:     n.member("port").port(defaultMasterPort),
		PID:      n.member("pid").str(),
		Hostname: n.member("hostname").str(),
		Version:  n.member("version").str(),
		Domain:   domain(n.in("domain")),
	}
	for _, c := range n.member("capabilities").list() {
		m.Capabilities = append(m.Capabilities, c.want(isObject).member("type").str())
	}
	address := n.in("address")
	if ip := address.member("ip").str(); ip != "" {
		m.IP = ip
	}
	address.passIf("hostname", m.Hostname)
	if port := address.member("port"); port != nil && port.port(0) != m.Port {
		port.taken = false // another port than the master's: there is no place for it
	}
	return m
}

// passIf takes a text that says nothing new.
func (n *node) passIf(key, known string) {
	if kid := n.member(key); kid != nil && kid.text == known {
		kid.taken = true
	}
}

const defaultMasterPort = 5050

// networkOrder is the address that Mesos keeps as a number: its first byte is
// the lowest.
func networkOrder(ip uint64) string {
	if ip == 0 || ip > math.MaxUint32 {
		return ""
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(ip))
	return netip.AddrFrom4(b).String()
}

// orderNetwork is the number Mesos keeps for an address; 0 unless it is IPv4.
func orderNetwork(ip string) uint32 {
	a, err := netip.ParseAddr(ip)
	if err != nil || !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.LittleEndian.Uint32(b[:])
}

// keepAbout keeps a small member of a state's root until its form is certain:
// several are held at once.
func (in *reader) keepAbout(path, key string, first jsontext.Token) error {
	n, err := in.scan.treeUpTo(maxAbout, &document{path: path, pattern: path}, first)
	if err == nil {
		in.about[key] = n
	}
	return err
}

// stateMaster makes a master of what stands at the root of a state. A summary
// does not say enough for one.
func (in *reader) stateMaster() error {
	m := registry.Master{
		ID:       in.about["id"].str(),
		PID:      in.about["pid"].str(),
		Hostname: in.about["hostname"].str(),
		Version:  in.about["version"].str(),
		Domain:   domain(in.about["domain"].want(isObject)),
	}
	for _, c := range in.about["capabilities"].list() {
		m.Capabilities = append(m.Capabilities, c.str())
	}
	for _, n := range in.about {
		if n.doc.err != nil {
			return n.doc.err
		}
	}
	m.IP, m.Port = pidAddress(m.PID)
	m.Port = cmp.Or(m.Port, defaultMasterPort)
	if m.ID != "" {
		in.report.Master = &m
	}
	return nil
}

// capabilities reads the registry's member "minimum_capabilities".
func (in *reader) capabilities(path string, first jsontext.Token) error {
	if err := in.is(FormRegistry); err != nil {
		return err
	}
	d := &document{path: path, pattern: path}
	n, err := in.scan.tree(d, first)
	if err != nil {
		return err
	}
	for _, c := range n.list() {
		in.minimum[cut(c.want(isObject).member("capability").str())] = struct{}{}
		if len(in.minimum) > maxMinimum {
			c.fail("more than %d minimum capabilities", maxMinimum)
			break
		}
	}
	if d.err != nil {
		return d.err
	}
	n.leftovers(func(rest *node) { in.lost.add(rest.pattern(), "", rest.sample(), 1) })
	return nil
}

// maxMinimum bounds the minimum capabilities that are told apart; Mesos knows
// about ten. The registry's list may stand more than once.
const maxMinimum = 100

// draining is the capability that a deactivated agent asks of its master.
const draining = "AGENT_DRAINING"

// lostCapabilities reports the minimum capabilities that do not follow from
// the agents read: those of quotas, and one that outlived its agents.
func (in *reader) lostCapabilities() {
	for _, name := range slices.Sorted(maps.Keys(in.minimum)) {
		if name != draining || !in.deactivated {
			in.lost.add("minimum_capabilities[]", "", name, 1)
		}
	}
}
