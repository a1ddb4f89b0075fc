package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// fakeMaster answers as it is told, one request after another, and counts those
// that knew the answer already.
type fakeMaster struct {
	mu      sync.Mutex
	answers []func(w http.ResponseWriter)
	known   int
}

func (m *fakeMaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.URL.Path != "/v2/pods/::status" || len(m.answers) == 0 {
		http.NotFound(w, r)
		return
	}
	if r.Header.Get("If-None-Match") == `"same"` {
		m.known++
	}
	m.answers[0](w)
	m.answers = m.answers[1:]
}

func says(status int, tag, body string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// podsOf is a pods command that asks m, with what it prints and complains.
func podsOf(t *testing.T, m *fakeMaster) (p *podsCommand, cmd *cobra.Command, out, trouble *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	p = &podsCommand{master: server.URL}
	var err error
	if p.client, err = newMasterClient(p.master, &p.entrance, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.http.CloseIdleConnections)
	out, trouble = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = &cobra.Command{Use: "pods"}
	cmd.SetContext(t.Context())
	cmd.SetOut(out)
	cmd.SetErr(trouble)
	return p, cmd, out, trouble
}

func TestWatchedPodsAreShownWhenTheyChangeAndTroubleIsToldOnce(t *testing.T) {
	pod := func(status string) string {
		return `[{"id":"/a","status":"` + status + `","statusSince":"now","instances":[{"status":"` + status + `"}]}]`
	}
	away := says(http.StatusServiceUnavailable, "", `{"message":"not yet"}`)
	m := &fakeMaster{answers: []func(http.ResponseWriter){
		says(200, `"same"`, pod("STABLE")), says(304, `"same"`, ""), away, away, says(304, `"same"`, ""), away, says(200, `"other"`, pod("DEGRADED")),
	}}
	p, cmd, out, trouble := podsOf(t, m)
	ctx, stop := context.WithCancel(t.Context())
	cmd.SetContext(ctx)
	look, ended := make(chan time.Time), make(chan error, 1)
	go func() { ended <- p.follow(cmd, look) }()
	for range len(m.answers) {
		look <- time.Time{}
	}
	look <- time.Time{} // the last one was answered
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	want := "POD  STATUS  STABLE  SINCE\n/a   STABLE  1/1     now\n\n" +
		"POD  STATUS    STABLE  SINCE  OTHERS\n/a   DEGRADED  0/1     now    1 DEGRADED\n"
	if out.String() != want {
		t.Errorf("it showed\n%s, want\n%s", out, want)
	}
	line := "pods: GET " + p.master + "/v2/pods/::status: the master answers 503 Service Unavailable: not yet\n"
	if got := trouble.String(); !strings.HasPrefix(got, line+line) || strings.Count(got, "answers 503") != 2 {
		t.Errorf("it complained\n%s, want twice\n%s", trouble, line)
	}
	if m.known != 6 {
		t.Errorf("%d requests said which answer was there already, want 6", m.known)
	}
}

func TestWhatAMasterRefusesIsSaid(t *testing.T) {
	for want, answer := range map[string]func(http.ResponseWriter){
		"answers 401 Unauthorized: who are you?; give --credential":                     says(401, "", `{"message":"who are you?"}`),
		"answers 404 Not Found: 404 page not found":                                     says(404, "", "404 page not found\n"),
		"answers 500 Internal Server Error: " + strings.Repeat("x", maxErrorBody) + "…": says(500, "", strings.Repeat("x", 10_000)),
		"answers 502 Bad Gateway":                                                       says(502, "", ""),
		"the answer is no list of pods: unexpected":                                     says(200, "", "["),
		"the answer is no list of pods: json: cannot unmarshal object":                  says(200, "", "{}"),
	} {
		p, cmd, out, _ := podsOf(t, &fakeMaster{answers: []func(http.ResponseWriter){answer}})
		err := p.show(cmd.Context(), out)
		if err == nil || !strings.Contains(err.Error(), "/v2/pods/::status: ") || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("error is %v, want one with %s", err, want)
		}
		if out.Len() > 0 {
			t.Errorf("it showed %s", out)
		}
	}
}

func TestMasterBelowAPathIsAskedWithThePassword(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + user + ":" + password
	}))
	defer server.Close()
	c, err := newMasterClient(server.URL+"/mesos/", &entrance{username: "ann", password: "hush"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ask(t.Context(), http.MethodPut, "/v2/pods/a", nil, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got, want := <-asked, "PUT /mesos/v2/pods/a application/json ann:hush"; got != want {
		t.Errorf("the master was asked %q, want %q", got, want)
	}
}
