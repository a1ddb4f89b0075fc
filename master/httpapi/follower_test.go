package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/master/httpapi"
)

func TestAFollowerAnswersForItselfAndSendsTheRestOn(t *testing.T) {
	leader := "http://leader:5050"
	h := httpapi.NewFollower(func() string { return leader }, httpapi.Options{Flags: map[string]string{"port": "5051"}})
	ask := func(method, path string) *http.Response {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("")))
		return w.Result()
	}
	for _, path := range []string{"/health", "/master/health", "/flags", "/master/flags.json", "/version", "/metrics", "/metrics/snapshot", "/ping", "/flags/"} {
		if got := ask("GET", path); got.StatusCode != 200 {
			t.Errorf("%s: status %d, want its own answer", path, got.StatusCode)
		}
	}
	for _, c := range []struct{ method, path, to string }{
		{"GET", "/state", "http://leader:5050/state"},
		{"GET", "/master/slaves.json?slave_id=a%20b", "http://leader:5050/master/slaves.json?slave_id=a%20b"},
		{"POST", "/api/v1/agent", "http://leader:5050/api/v1/agent"},
		{"PUT", "/v2/pods/a", "http://leader:5050/v2/pods/a"},
		{"GET", "/redirect", "http://leader:5050"},
		{"GET", "/master/redirect", "http://leader:5050"},
	} {
		got := ask(c.method, c.path)
		if got.StatusCode != http.StatusTemporaryRedirect || got.Header.Get("Location") != c.to {
			t.Errorf("%s %s: status %d to %q, want 307 to %q", c.method, c.path, got.StatusCode, got.Header.Get("Location"), c.to)
		}
	}
	if got := ask("GET", "/ready"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/ready: status %d, want 503: it does not lead", got.StatusCode)
	}
	leader = ""
	for _, path := range []string{"/state", "/redirect", "/v2/pods"} {
		if got := ask("GET", path); got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" {
			t.Errorf("%s without a leader: status %d, Retry-After %q; want 503 and 1", path, got.StatusCode, got.Header.Get("Retry-After"))
		}
	}
	if got := ask("GET", "/health"); got.StatusCode != 200 {
		t.Errorf("/health without a leader: status %d", got.StatusCode)
	}
}
