//go:build unix

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/collector"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// families are the names that /metrics of a master has, which has one framework.
func families(t *testing.T) map[string]bool {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r, err := registrar.Open(t.Context(), store.NewMemory(), registrar.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := master.Start(t.Context(), r, master.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	woken := make(chan struct{}, 10)
	call := &wire.Subscribe{Sequence: 1, Agent: registry.Agent{Hostname: "h"}, Frameworks: []wire.FrameworkInfo{{ID: "f1", Name: "f"}}}
	if _, err := m.Subscribe(t.Context(), call, "127.0.0.1:1", func() { woken <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	h := httpapi.New(m, httpapi.Options{Logger: log, Metrics: m.Metrics(), Collectors: []prometheus.Collector{collector.New(r)}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	p := expfmt.NewTextParser(model.LegacyValidation)
	found, err := p.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range found {
		names[name] = true
	}
	return names
}

var metricInExpression = regexp.MustCompile(`\b(mesos|registrar|process|go)_[a-z0-9_]+`)

// knows reports names in an expression that no master has.
func knows(t *testing.T, names map[string]bool, where, expression string) {
	t.Helper()
	found := metricInExpression.FindAllString(expression, -1)
	if len(found) == 0 {
		t.Errorf("%s: there is no metric in %q", where, expression)
	}
	for _, name := range found {
		if !names[name] && !names[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("%s: no master has %s", where, name)
		}
	}
}

func TestAlertsAreOnMetricsThatThereAreAndSayWhatToDo(t *testing.T) {
	text, err := os.ReadFile(deploy + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Runbook string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	names, count := families(t), 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			count++
			knows(t, names, r.Alert, r.Expr)
			if want := "docs/operations.md#" + anchorOf(r.Alert); r.Annotations.Runbook != want {
				t.Errorf("%s: its runbook is %s, want %s", r.Alert, r.Annotations.Runbook, want)
			}
			if !headings(t, runbook)[anchorOf(r.Alert)] {
				t.Errorf("%s: the runbook has no heading for it", r.Alert)
			}
		}
	}
	if count == 0 {
		t.Error("there are no alerts")
	}
}

func TestDashboardIsOfMetricsThatThereAre(t *testing.T) {
	text, err := os.ReadFile(deploy + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	names := families(t)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			knows(t, names, p.Title, target.Expr)
		}
	}
}
