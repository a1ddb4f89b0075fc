package agent_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/registry"
)

// What net.Pipe does not have: TCP, TLS, and a listener that goes and comes back
// at its address.
func TestAgentComesBackOverTLS(t *testing.T) {
	streams := make(chan *stream)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := accept(w, r)
		s.admit()
		streams <- s
		s.rest()
	})
	server := httptest.NewUnstartedServer(handler)
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	a, err := agent.New(agent.Options{
		Masters:   []string{server.URL},
		Info:      registry.Agent{Hostname: "h"},
		Backoff:   1,
		TLSConfig: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := running(a)
	s := <-streams
	want(t, "protocol", s.r.Proto, "HTTP/1.1")
	address := server.Listener.Addr().String()
	server.Listener.Close()
	server.CloseClientConnections()
	server.Close()

	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip(err) // somebody else was quicker
	}
	server = httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	defer server.Close()
	<-streams
	stop()
}

func TestCertificatesThatAreNotTrustedAreRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the agent
	server.StartTLS()
	defer server.Close()
	failed := make(chan error, 100)
	a, err := agent.New(agent.Options{
		Masters: []string{server.URL},
		Info:    registry.Agent{Hostname: "h"},
		Error:   func(err error) { failed <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := running(a)
	var unknown *tls.CertificateVerificationError
	if err := <-failed; !errors.As(err, &unknown) {
		t.Errorf("error is %v, want %T", err, unknown)
	}
	stop()
}

func TestRedirectsDoNotLeadOutOfTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.RedirectHandler("http://other/", http.StatusTemporaryRedirect))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	failed := make(chan error, 100)
	a, err := agent.New(agent.Options{
		Masters:   []string{server.URL},
		Info:      registry.Agent{Hostname: "h"},
		TLSConfig: &tls.Config{RootCAs: roots},
		Error:     func(err error) { failed <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := running(a)
	want(t, "error", (<-failed).Error(), "subscribe at "+server.URL+`/api/v1/agent: redirect to "http://other/", which is not encrypted`)
	stop()
}
