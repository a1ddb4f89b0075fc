package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// longest is how long tests wait for another process, or for a cluster, to do
// what it must; it says nothing about how fast that is.
const longest = 30 * time.Second

// ask gets a URL over a connection of its own. A status other than 200 is an
// error.
func ask(url string) ([]byte, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: longest}
	answer, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, body)
	}
	return body, err
}

// answerOf is what a URL answers in JSON.
func answerOf[T any](t *testing.T, url string) (v T) {
	t.Helper()
	body, err := ask(url)
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// agentLists is the answer of /slaves.
type agentLists struct {
	Slaves []struct {
		ID, Hostname string
		Active       bool
		Reregistered float64 `json:"reregistered_time"`
	}
	Recovered []struct{ ID string } `json:"recovered_slaves"`
}

// eventually asks again and again until there is no error, and returns the last
// after the longest time.
func eventually(ask func() error) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	end := time.After(longest)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-end:
			return err
		}
	}
}

// freePortFor VARIABLE puts a port that nobody listens on into a variable.
func freePortFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport variable")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
}

// get URL FILE writes what the URL answers to a file, once somebody does.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: get url file")
	}
	var body []byte
	err := eventually(func() (err error) {
		body, err = ask(args[0])
		return err
	})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o666))
}
