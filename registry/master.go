package registry

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Master is who leads the cluster, or led it last: the content of Mesos's
// MasterInfo (include/mesos/mesos.proto).
type Master struct {
	ID       string
	IP       string // dotted or colon form; empty means not known
	Port     uint16
	PID      string // libprocess address, as in "master@10.0.5.220:5050"
	Hostname string
	Version  string
	Domain   Domain
	// Capabilities are names such as "AGENT_DRAINING".
	Capabilities []string
}

// The table of the master has one row, with an empty key. Its body is
//
//	version  uint  1
//	master   array [id, ip, port, pid, hostname, version, region, zone, [capability, …]]
var masterTable = newTable(2, "master", func(_ string, body []byte) error {
	_, err := parseMaster(body)
	return err
})

const masterVersion = 1

// Master returns who leads the cluster, or led it last.
func (r *Registry) Master() (Master, bool) {
	v := r.rows.get(masterTable, "")
	if v == nil {
		return Master{}, false
	}
	m, err := parseMaster([]byte(v.body))
	return m, err == nil // rows are checked before they enter a registry
}

// SetMaster writes down who leads the cluster. It returns a [*FieldError] if
// that is not acceptable.
func (d *Draft) SetMaster(m Master) error {
	texts := []string{m.ID, m.IP, m.PID, m.Hostname, m.Version, m.Domain.Region, m.Domain.Zone}
	for i, name := range []string{"id", "ip", "pid", "hostname", "version", "domain.region", "domain.zone"} {
		if !utf8.ValidString(texts[i]) {
			return badField(notUTF8, "master.%s", name)
		}
	}
	if m.ID == "" {
		return badField("is empty", "master.id")
	}
	b := newBuffer()
	b.Uint(masterVersion)
	b.Array(9)
	b.Str(m.ID)
	b.Str(m.IP)
	b.Uint(uint64(m.Port))
	for _, s := range texts[2:] {
		b.Str(s)
	}
	b.Array(len(m.Capabilities))
	for i, c := range m.Capabilities {
		if !utf8.ValidString(c) {
			return badField(notUTF8, "master.capabilities[%d]", i)
		}
		b.Str(c)
	}
	if len(b.Bytes) > MaxAgent {
		return badField(fmt.Sprintf("takes %d bytes, at most %d are allowed", len(b.Bytes), MaxAgent), "master")
	}
	d.putRow(masterTable, "", string(b.Bytes))
	return nil
}

func parseMaster(body []byte) (m Master, err error) {
	var p parser
	p.Reset(body)
	if v := p.Uint(1 << 32); p.Err() == nil && v != masterVersion {
		return m, versionError("master", v)
	}
	if n := p.Array(9); n != 9 {
		p.Fail("a master of %d fields", n)
	}
	m.ID, m.IP, m.Port = p.Text(), p.Text(), uint16(p.Uint(math.MaxUint16))
	m.PID, m.Hostname, m.Version = p.Text(), p.Text(), p.Text()
	m.Domain = Domain{Region: p.Text(), Zone: p.Text()}
	m.Capabilities = parseList(&p, func(p *parser) string { return p.Text() })
	return m, p.End()
}
