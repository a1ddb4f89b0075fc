package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/eaba02dc/registrar/internal/secretfile"
)

// entrance is how one comes in to a master. All secrets are in files: a command
// line can be read by everybody on the machine.
type entrance struct {
	credential, caCert, tlsCert, tlsKey string

	username, password string
	tls                *tls.Config // nil trusts what the system does
}

// add adds the flags, for who comes in.
func (e *entrance) add(f *pflag.FlagSet, who string) {
	f.StringVar(&e.credential, "credential", "", "YAML or JSON file with the principal and secret of "+who+" (mode 0600)")
	f.StringVar(&e.caCert, "ca-cert", "", "PEM file with the roots of an https master (default: those of the system)")
	f.StringVar(&e.tlsCert, "tls-cert", "", "PEM file with the certificate of "+who+", for a master that asks for one")
	f.StringVar(&e.tlsKey, "tls-key", "", "PEM file with its key (mode 0600)")
}

func (e *entrance) validate(master string) error {
	switch {
	case (e.tlsCert == "") != (e.tlsKey == ""):
		return usagef("--tls-cert and --tls-key: one needs the other")
	case e.caCert+e.tlsCert != "" && !strings.HasPrefix(master, "https:"):
		return usagef("--ca-cert and --tls-cert: are for a master whose URL begins with https")
	}
	return nil
}

// read reads the files.
func (e *entrance) read() (err error) {
	if e.credential != "" {
		if e.username, e.password, err = readSecret(e.credential); err != nil {
			return err
		}
	}
	if e.caCert+e.tlsCert == "" {
		return nil
	}
	e.tls = &tls.Config{}
	if e.caCert != "" {
		if e.tls.RootCAs, err = readRoots(e.caCert); err != nil {
			return err
		}
	}
	if e.tlsCert != "" {
		pair, err := readKeyPair(e.tlsCert, e.tlsKey)
		if err != nil {
			return err
		}
		e.tls.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// readSecret reads a credential as Mesos's agents have it. Its errors do not say
// what is in the file, as those of YAML do.
func readSecret(path string) (principal, secret string, err error) {
	text, err := secretfile.Read(path)
	if err != nil {
		return "", "", fmt.Errorf("credential: %w", err)
	}
	var c struct{ Principal, Secret string }
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if d.Decode(&c) != nil || c.Principal == "" || c.Secret == "" {
		return "", "", errors.New("credential " + path + ": it does not say principal and secret, and nothing else")
	}
	return c.Principal, c.Secret, nil
}
