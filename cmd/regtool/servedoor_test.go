//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/eaba02dc/registrar/agent"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// issuer signs certificates, and writes them and their keys to files.
type issuer struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number
}

func newIssuer(t *testing.T, dir string) *issuer {
	is := &issuer{t: t, dir: dir}
	is.cert, is.key = is.issue("ca.pem", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return is
}

// issue writes NAME and NAME.key.
func (is *issuer) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	is.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		is.t.Fatal(err)
	}
	is.last++
	c.SerialNumber, c.Subject = big.NewInt(is.last), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := is.cert, is.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		is.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		is.t.Fatal(err)
	}
	writeSecret(is.t, filepath.Join(is.dir, name), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeSecret(is.t, filepath.Join(is.dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		is.t.Fatal(err)
	}
	return cert, key
}

func (is *issuer) server(name string) {
	is.issue(name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

func writeSecret(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hashed(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// visitor asks a master over TLS and keeps all that it hears.
type visitor struct {
	t      *testing.T
	url    string
	client http.Client
	heard  bytes.Buffer
}

func newVisitor(t *testing.T, url, dir, cert string) *visitor {
	t.Helper()
	roots, err := readRoots(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: roots}
	if cert != "" {
		pair, err := readKeyPair(filepath.Join(dir, cert), filepath.Join(dir, cert+".key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	return &visitor{t: t, url: url, client: http.Client{Transport: transport, Timeout: longest}}
}

// get answers with the status and, at TLS, the name in the master's certificate.
func (v *visitor) get(path, principal, password string) (status int, name string) {
	v.t.Helper()
	r, err := http.NewRequest(http.MethodGet, v.url+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if principal != "" {
		r.SetBasicAuth(principal, password)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Fprintln(&v.heard, answer.Header)
	if _, err := io.Copy(&v.heard, answer.Body); err != nil {
		v.t.Fatal(err)
	}
	if answer.ProtoMajor != 1 {
		v.t.Errorf("%s is answered in %s", path, answer.Proto)
	}
	return answer.StatusCode, answer.TLS.PeerCertificates[0].Subject.CommonName
}

func (v *visitor) is(path, principal, password string, want int) {
	v.t.Helper()
	if got, _ := v.get(path, principal, password); got != want {
		v.t.Errorf("%s as %q: %d, want %d", path, principal, got, want)
	}
}

// A master with all of it: TLS for clients with certificates, passwords, profiles.
func TestOnlyThoseComeInWhoMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	is := newIssuer(t, dir)
	is.server("first.pem")
	is.server("cert.pem")
	is.issue("client.pem", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	const old, young, agents = "0ldS3cret", "y0ungS3cret", "agentsS3cret"
	oldHash, youngHash, agentsHash := hashed(t, old), hashed(t, young), hashed(t, agents)
	credentials := func(ops string) string {
		return "- {principal: ops, bcrypt: " + ops + ", realms: [readonly, readwrite]}\n" +
			"- {principal: fleet, bcrypt: " + agentsHash + ", realms: [agents]}\n"
	}
	writeSecret(t, file("credentials.yaml"), credentials(oldHash))
	writeSecret(t, file("agent.json"), `{"principal": "fleet", "secret": "`+agents+`"}`)
	m := serveProcess(t, "--dir", file("registry"), "--port", "0", "--log-level", "debug", "--pprof", "--credentials", file("credentials.yaml"),
		"--tls-cert", file("cert.pem"), "--tls-key", file("cert.pem.key"), "--tls-client-ca", file("ca.pem"))
	m.serves(t)
	if !strings.HasPrefix(m.url, "https://") {
		t.Fatal(m.url)
	}
	v := newVisitor(t, m.url, dir, "client.pem")

	v.is("/health", "", "", 200)
	v.is("/version", "", "", 200)
	for _, path := range []string{"/state", "/flags", "/slaves", "/registrar(1)/registry"} {
		v.is(path, "", "", 401)
		v.is(path, "ops", "wr0ngS3cret", 401)
		v.is(path, "gu3ssedS3cret", old, 401)
		v.is(path, "fleet", agents, 403)
		v.is(path, "ops", old, 200)
	}
	v.is("/debug/pprof/", "", "", 401)
	v.is("/debug/pprof/cmdline", "ops", old, 200)
	v.is("/debug/pprof/heap", "fleet", agents, 403)
	if _, err := newVisitor(t, m.url, dir, "").client.Get(m.url + "/health"); err == nil {
		t.Error("somebody without a certificate came in")
	}

	simulate := []string{"simulate", "--master", m.url, "--agents", "3", "--tasks", "1", "--duration", "1ms", "--credential", file("agent.json"), "--ca-cert", file("ca.pem")}
	withCert := append(simulate, "--tls-cert", file("client.pem"), "--tls-key", file("client.pem.key"))
	var out, trouble bytes.Buffer
	if code := run(t.Context(), withCert, strings.NewReader(""), &out, &trouble); code != exitFine {
		t.Errorf("agents with a secret: %d, %s", code, trouble.String())
	}

	// What is broken stays as it was, and the rest is taken over.
	writeSecret(t, file("credentials.yaml"), credentials("s3cretThatIsNoHash"))
	for _, suffix := range []string{"", ".key"} {
		text, err := os.ReadFile(file("first.pem" + suffix))
		if err != nil {
			t.Fatal(err)
		}
		writeSecret(t, file("cert.pem"+suffix), string(text))
	}
	reload := func(until func() error) {
		t.Helper()
		if err := m.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if err := eventually(until); err != nil {
			t.Error(err)
		}
	}
	reload(func() error {
		if _, name := v.get("/health", "", ""); name != "first.pem" {
			return fmt.Errorf("the certificate is that of %s", name)
		}
		return nil
	})
	v.is("/state", "ops", old, 200)
	writeSecret(t, file("credentials.yaml"), credentials(youngHash))
	reload(func() error {
		if status, _ := v.get("/state", "ops", young); status != 200 {
			return fmt.Errorf("the new password: %d", status)
		}
		return nil
	})
	v.is("/state", "ops", old, 401)
	m.terminate(t)

	said := m.trouble.String()
	for _, line := range []string{
		`level=WARN msg="somebody has given a wrong principal or password" `,
		`level=ERROR msg="what cannot be read again stays as it was" err="credentials ` + file("credentials.yaml") + `: number 1: bcrypt: is not a hash of bcrypt, as $2a$12$…"`,
		`level=INFO msg="credentials and certificates were read again"`,
	} {
		if !strings.Contains(said, line) {
			t.Errorf("the log does not say %s:\n%s", line, said)
		}
	}
	everything := said + v.heard.String() + out.String() + trouble.String()
	for _, secret := range []string{old, young, agents, "wr0ngS3cret", "gu3ssedS3cret", "s3cretThatIsNoHash", oldHash, youngHash, agentsHash, "PRIVATE KEY"} {
		if strings.Contains(everything, secret) {
			t.Errorf("%q was told", secret)
		}
	}
	if !strings.Contains(everything, `"authenticate_agents":"true"`) || !strings.Contains(everything, file("credentials.yaml")) {
		t.Error("/flags does not say what holds")
	}
}

func TestAgentsWithoutASecretAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSecret(t, filepath.Join(dir, "credentials.yaml"), "- {principal: fleet, bcrypt: "+hashed(t, "hush")+", realms: [agents]}\n")
	m := serveProcess(t, "--dir", filepath.Join(dir, "registry"), "--port", "0", "--credentials", filepath.Join(dir, "credentials.yaml"),
		"--authenticate_http_readonly=false")
	m.ready(t)
	failed := make(chan error, 100)
	a, err := agent.New(agent.Options{
		Masters: []string{m.url}, Version: "1", Info: registry.Agent{Hostname: "h"}, Backoff: 1,
		Username: "fleet", Password: "wrong", Error: func(err error) { failed <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var refused *agent.RefusedError
	if err := <-failed; !errors.As(err, &refused) || refused.Status != 401 || refused.Message != "principal or password is wrong" {
		t.Errorf("the agent hears %v", err)
	}
	cancel()
	<-ended
	if _, err := ask(m.url + "/slaves"); err != nil {
		t.Errorf("a realm that was left open: %v", err)
	}
	r, err := http.Post(m.url+"/api/v1/agent", "application/json", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") != `Basic realm="mesos-master-agents", charset="UTF-8"` {
		t.Errorf("%s, %q", r.Status, r.Header.Get("WWW-Authenticate"))
	}
	m.terminate(t)
}

func TestProfilesAreThereForThoseOnlyWhoAskForThem(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]int{"--pprof=false": 404, "--pprof": 200} {
		m := serveProcess(t, "--dir", filepath.Join(t.TempDir(), "registry"), "--port", "0", flag)
		m.ready(t)
		answer, err := http.Get(m.url + "/debug/pprof/goroutine?debug=1")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", flag, answer.Status)
		}
		if err := m.cmd.Process.Signal(syscall.SIGHUP); err != nil { // which ends nothing
			t.Fatal(err)
		}
		m.terminate(t)
	}
}

// A certificate is no secret, so it may be a pipe to which nobody writes.
func TestFilesThatCannotBeReadAgainKeepNobodyFromStoppingTheMaster(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "cert.pem")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	r, err := registrar.Open(t.Context(), store.NewMemory(), registrar.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := master.Start(t.Context(), r, master.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	d := &daemon{flags: new(serveFlags), log: quiet, master: m, door: &door{log: quiet, certificates: &certificates{cert: pipe}}}
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan os.Signal), make(chan error, 1)
	go func() { ended <- d.wait(ctx, told, nil) }()
	told <- syscall.SIGHUP
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once somebody reads
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(longest):
		t.Error("the master does not stop")
	}
}

func TestServeSaysWhatAgentsNeed(t *testing.T) {
	for want, flags := range map[string]doorFlags{
		"nothing":                             {readonly: true, readwrite: true},
		"a password":                          {agents: true, tlsCert: "cert.pem"},
		"a client certificate":                {clientCA: "ca.pem"},
		"a password and a client certificate": {agents: true, clientCA: "ca.pem"},
	} {
		if got := flags.agentsNeed(); got != want {
			t.Errorf("%+v: %q, want %q", flags, got, want)
		}
	}
}

func TestPasswordsThatAnybodyCanReadOnTheWayAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		ip        string
		gate, tls bool
		warns     bool
	}{
		{"10.0.0.1", true, false, true}, {"0.0.0.0", true, false, true}, {"127.0.0.1", true, false, false}, {"::1", true, false, false},
		{"10.0.0.1", true, true, false}, {"10.0.0.1", false, false, false},
	} {
		var log bytes.Buffer
		d := &door{log: slog.New(slog.NewTextHandler(&log, nil))}
		if c.gate {
			d.gate = new(httpapi.Gate)
		}
		if c.tls {
			d.certificates = new(certificates)
		}
		d.warn(c.ip)
		if warned := strings.Contains(log.String(), `level=WARN msg="passwords cross the network unencrypted`); warned != c.warns {
			t.Errorf("%+v: warned is %v", c, warned)
		}
	}
}
