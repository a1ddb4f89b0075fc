package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/eaba02dc/registrar/internal/secretfile"
)

// certificates are those of a server, from files that can be read again.
type certificates struct {
	cert, key, clientCA string // files; the last may be ""
	cur                 atomic.Pointer[tls.Config]
}

// load reads the files. With an error all stays as it was.
func (c *certificates) load() error {
	pair, err := readKeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	config := serverTLS()
	config.Certificates = []tls.Certificate{pair}
	if c.clientCA != "" {
		if config.ClientCAs, err = readRoots(c.clientCA); err != nil {
			return err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.cur.Store(config)
	return nil
}

// serverTLS speaks HTTP/1.1 only, see [httpapi.Server]. Nobody resumes a session:
// whoever is not trusted any more would still come in.
func serverTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true}
}

// config is for a server; each connection has what was loaded last.
func (c *certificates) config() *tls.Config {
	config := serverTLS()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.cur.Load(), nil }
	return config
}

// readKeyPair reads a certificate and its key, which nobody else can.
func readKeyPair(cert, key string) (pair tls.Certificate, err error) {
	public, err := os.ReadFile(cert)
	if err != nil {
		return pair, fmt.Errorf("certificate: %w", err)
	}
	private, err := secretfile.Read(key)
	if err != nil {
		return pair, fmt.Errorf("key of the certificate: %w", err)
	}
	if pair, err = tls.X509KeyPair(public, private); err != nil {
		return pair, fmt.Errorf("certificate %s and key %s: %w", cert, key, err)
	}
	return pair, nil
}

// readRoots reads certificates that are trusted.
func readRoots(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("roots: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("roots: %s has no certificate in PEM", path)
	}
	return roots, nil
}
