package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// masterClient asks a master over HTTP, as who the entrance says.
type masterClient struct {
	master   *url.URL
	entrance *entrance
	http     *http.Client
}

// masterURL reads the flag --master.
func masterURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("--master %q: want a URL, as http://127.0.0.1:5050", text)
	}
	return u, nil
}

// newMasterClient is for a master that masterURL and an entrance that its read
// accepted. It keeps so many connections.
func newMasterClient(master string, e *entrance, connections int) (*masterClient, error) {
	u, err := masterURL(master)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: maxConnect}).DialContext,
		TLSClientConfig:       e.tls,
		TLSHandshakeTimeout:   maxConnect,
		ResponseHeaderTimeout: maxAnswer,
		MaxIdleConnsPerHost:   connections,
	}
	return &masterClient{u, e, &http.Client{Transport: transport, Timeout: maxAnswer + maxSilence}}, nil
}

// masterAnswer is what a master says; its body is there in full.
type masterAnswer struct {
	status int
	header http.Header
	body   []byte
}

// maxMasterAnswer bounds what a master can make us keep.
const maxMasterAnswer = 1 << 30

// ask sends one request. Any answer but 2xx and 304 is an error too, which says
// what the master does. Without an answer in full the status is 0.
func (c *masterClient) ask(ctx context.Context, method, path string, header http.Header, body []byte) (a masterAnswer, err error) {
	u := *c.master
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	request, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.entrance.username != "" {
		request.SetBasicAuth(c.entrance.username, c.entrance.password)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	a = masterAnswer{status: answer.StatusCode, header: answer.Header}
	if a.body, err = io.ReadAll(io.LimitReader(answer.Body, maxMasterAnswer)); err != nil {
		return masterAnswer{}, fmt.Errorf("%s %s: read the answer: %w", method, u.Redacted(), err)
	}
	if a.status/100 != 2 && a.status != http.StatusNotModified {
		return a, fmt.Errorf("%s %s: the master answers %s%s", method, u.Redacted(), answer.Status, a.why())
	}
	return a, nil
}

// why is what the master says of an error.
func (a masterAnswer) why() string {
	var said struct{ Message string }
	text := strings.TrimSpace(string(a.body))
	if json.Unmarshal(a.body, &said) == nil && said.Message != "" {
		text = said.Message
	}
	if len(text) > maxErrorBody {
		text = strings.ToValidUTF8(text[:maxErrorBody], "") + "…"
	}
	if text != "" {
		text = ": " + text
	}
	if a.status == http.StatusUnauthorized {
		text += "; give --credential"
	}
	return text
}
