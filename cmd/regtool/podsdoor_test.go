package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Agents that may not define pods report their instances all the same, and
// whoever may look sees them once somebody has.
func TestPodsAreDefinedAndShownToThoseWhoMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	is := newIssuer(t, dir)
	is.server("cert.pem")
	writeSecret(t, file("credentials.yaml"), "- {principal: ops, bcrypt: "+hashed(t, "a")+", realms: [readonly, readwrite, agents]}\n"+
		"- {principal: fleet, bcrypt: "+hashed(t, "b")+", realms: [agents]}\n- {principal: eye, bcrypt: "+hashed(t, "c")+", realms: [readonly]}\n")
	for name, secret := range map[string]string{"ops": "a", "fleet": "b", "eye": "c"} {
		writeSecret(t, file(name), "{principal: "+name+", secret: "+secret+"}")
	}
	m := serveProcess(t, "--dir", file("registry"), "--port", "0", "--credentials", file("credentials.yaml"),
		"--tls-cert", file("cert.pem"), "--tls-key", file("cert.pem.key"))
	m.serves(t)
	as := func(who string, command ...string) (code int, stdout, stderr string) {
		args := append(command, "--master", m.url, "--ca-cert", file("ca.pem"))
		if who != "" {
			args = append(args, "--credential", file(who))
		}
		return call(t, t.Context(), args...)
	}
	simulate := []string{"simulate", "--agents", "1", "--tasks", "0", "--pods", "1", "--duration", "1ms"}
	code, stdout, stderr := as("fleet", simulate...)
	if code != exitFine || !strings.Contains(stdout, "1, of which 0 are defined\n") ||
		!strings.Contains(stderr, "0 of 1 pod defined: PUT "+m.url+"/v2/pods/simulated/pod-0: the master answers 403 Forbidden") {
		t.Errorf("agents that may not: %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := as("eye", "pods"); code != exitFine || stdout != "POD  STATUS\n" {
		t.Errorf("before any is defined: %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := as("ops", simulate...); code != exitFine || !strings.Contains(stdout, "1, of which 1 are defined\n") {
		t.Errorf("agents that may: %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := as("eye", "pods"); code != exitFine || !strings.Contains(stdout, "\n/simulated/pod-0  STABLE  2/1 ") {
		t.Errorf("somebody who may look: %d\n%s%s", code, stdout, stderr)
	}
	for who, want := range map[string]string{
		"":      "/v2/pods/::status: the master answers 401 Unauthorized",
		"fleet": "/v2/pods/::status: the master answers 403 Forbidden",
	} {
		if code, stdout, stderr := as(who, "pods"); code != exitFailed || stdout != "" || !strings.Contains(stderr, want) ||
			strings.Contains(stderr, "; give --credential") != (who == "") {
			t.Errorf("%q: %d\n%s%s", who, code, stdout, stderr)
		}
	}
	m.terminate(t)
}
