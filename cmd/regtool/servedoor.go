package main

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// doorFlags say who may come in to a master, and how many.
type doorFlags struct {
	credentials                 string
	readonly, readwrite, agents bool
	tlsCert, tlsKey, clientCA   string
	maxConnections              int
	pprof                       bool
}

const (
	flagReadonly  = "authenticate-http-readonly"
	flagReadwrite = "authenticate-http-readwrite"
	flagAgents    = "authenticate-agents"
)

func (d *doorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&d.credentials, "credentials", "", "YAML file with principals, hashes of their passwords, and realms (mode 0600); read again on SIGHUP")
	f.BoolVar(&d.readonly, flagReadonly, false, "ask for a password before showing the cluster (default: true with --credentials)")
	f.BoolVar(&d.readwrite, flagReadwrite, false, "ask for a password before changing it, and for --pprof (default: true with --credentials)")
	f.BoolVar(&d.agents, flagAgents, false, "ask agents for a password (default: true with --credentials)")
	f.StringVar(&d.tlsCert, "tls-cert", "", "PEM file with the certificate, and those that lead to its root; read again on SIGHUP")
	f.StringVar(&d.tlsKey, "tls-key", "", "PEM file with its key (mode 0600)")
	f.StringVar(&d.clientCA, "tls-client-ca", "", "PEM file with the roots of clients: nobody comes in without a certificate of theirs")
	f.IntVar(&d.maxConnections, "max-connections", 5_000, "how many connections there may be beside those of agents")
	f.BoolVar(&d.pprof, "pprof", false, "serve profiles of the process under /debug/pprof/, in the realm of writers")
}

// closed are the realms that ask for a password.
func (d *doorFlags) closed() []httpapi.Realm {
	closed := []httpapi.Realm{} // not nil, which would be all
	for realm, is := range map[httpapi.Realm]bool{httpapi.Readonly: d.readonly, httpapi.Readwrite: d.readwrite, httpapi.Agents: d.agents} {
		if is {
			closed = append(closed, realm)
		}
	}
	return closed
}

// agentsNeed is what an agent must have to get in.
func (d *doorFlags) agentsNeed() string {
	switch {
	case d.agents && d.clientCA != "":
		return "a password and a client certificate"
	case d.agents:
		return "a password"
	case d.clientCA != "":
		return "a client certificate"
	}
	return "nothing"
}

// settle closes all realms for which nobody has said something else, if there are
// credentials, and refuses what would leave a door open that somebody thinks is shut.
func (d *doorFlags) settle(f *pflag.FlagSet, ip string) error {
	for _, name := range []string{flagReadonly, flagReadwrite, flagAgents} {
		switch flag := f.Lookup(name); {
		case d.credentials == "" && flag.Value.String() == "true":
			return usagef("--%s: needs --credentials", name)
		case d.credentials != "" && !flag.Changed:
			if err := flag.Value.Set("true"); err != nil {
				return err
			}
		}
	}
	switch {
	case (d.tlsCert == "") != (d.tlsKey == ""):
		return usagef("--tls-cert and --tls-key: one needs the other")
	case d.clientCA != "" && d.tlsCert == "":
		return usagef("--tls-client-ca: needs --tls-cert and --tls-key")
	case d.maxConnections < 1:
		return usagef("--max-connections %d: at least 1 is needed", d.maxConnections)
	case d.pprof && !d.readwrite && !isLoopback(ip):
		return usagef("--pprof: everybody who reaches %s could look into the process: give --credentials, or listen on loopback", ip)
	}
	return nil
}

func isLoopback(ip string) bool {
	address, err := netip.ParseAddr(ip)
	return err == nil && address.IsLoopback()
}

// door is what those who come in have to pass.
type door struct {
	flags        *doorFlags
	gate         *httpapi.Gate // nil lets everybody in
	certificates *certificates // nil is without TLS
	log          *slog.Logger
}

// openDoor reads the files that the flags name.
func openDoor(flags *doorFlags, log *slog.Logger) (*door, error) {
	d := &door{flags: flags, log: log}
	if flags.credentials != "" {
		list, err := httpapi.ReadCredentials(flags.credentials)
		if err != nil {
			return nil, err
		}
		if d.gate, err = httpapi.NewGate(list, httpapi.GateOptions{Realms: flags.closed(), Logger: log}); err != nil {
			return nil, err
		}
	}
	if flags.tlsCert != "" {
		d.certificates = &certificates{cert: flags.tlsCert, key: flags.tlsKey, clientCA: flags.clientCA}
		if err := d.certificates.load(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// warn says what goes over the network that should not.
func (d *door) warn(ip string) {
	if d.gate != nil && d.certificates == nil && !isLoopback(ip) {
		d.log.Warn("passwords cross the network unencrypted: --tls-cert and --tls-key mend that")
	}
}

// reload reads the files again. What cannot be read stays as it was.
func (d *door) reload() {
	if d.gate == nil && d.certificates == nil {
		d.log.Info("there are no credentials and no certificates to read again")
		return
	}
	var problem error
	if d.gate != nil {
		list, err := httpapi.ReadCredentials(d.flags.credentials)
		if err == nil {
			err = d.gate.Replace(list)
		}
		problem = errors.Join(problem, err)
	}
	if d.certificates != nil {
		problem = errors.Join(problem, d.certificates.load())
	}
	if problem != nil {
		d.log.Error("what cannot be read again stays as it was", "err", problem)
		return
	}
	d.log.Info("credentials and certificates were read again")
}

func (d *door) tls() *tls.Config {
	if d.certificates == nil {
		return nil
	}
	return d.certificates.config()
}

func (d *door) scheme() string {
	if d.certificates == nil {
		return "http"
	}
	return "https"
}

// debug serves profiles, if they are asked for.
func (d *door) debug() http.Handler {
	if !d.flags.pprof {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
