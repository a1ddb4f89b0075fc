package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
)

var update = flag.Bool("update", false, "write the answers of today into testdata, and into the manual")

// golden are the answers in testdata, and what is asked for to get them.
var golden = map[string]struct {
	path  string
	state func(rapid.TB) *master.State
}{
	"new-master.json":    {"/state", func(rapid.TB) *master.State { return newMaster() }},
	"state.json":         {"/state", fullCluster},
	"state-summary.json": {"/state-summary", fullCluster},
	"slaves.json":        {"/slaves", fullCluster},
	"frameworks.json":    {"/frameworks", fullCluster},
	"tasks.json":         {"/tasks", fullCluster},
	"roles.json":         {"/roles", fullCluster},
	"flags.json":         {"/flags", fullCluster},
	"version.json":       {"/version", fullCluster},
	"registry.json":      {"/registrar(1)/registry", fullCluster},
}

func TestAnswersAreThoseInTestdata(t *testing.T) {
	for name, ask := range golden {
		t.Run(name, func(t *testing.T) {
			answer := get(t, ask.state(t), ask.path)
			compact(t, answer)
			checkGolden(t, filepath.Join("testdata", name), indented(t, answer))
		})
	}
}

// get is the body of a good answer.
func get(t rapid.TB, s *master.State, target string) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	httpapi.New(still{s}, options).ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// compact fails unless an answer is JSON without a space that means nothing.
func compact(t *testing.T, answer []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, answer); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if !bytes.Equal(b.Bytes(), answer) {
		t.Errorf("is not compact: %s", answer)
	}
}

func indented(t rapid.TB, answer []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

func checkGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
