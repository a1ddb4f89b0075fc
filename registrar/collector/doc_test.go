package collector_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eaba02dc/registrar/registrar/collector"
)

var update = flag.Bool("update", false, "rewrite what is generated of docs/metrics.md")

const document = "../../docs/metrics.md"

// TestDocumentHasTheMetricsOfTheCode holds docs/metrics.md against what is collected.
func TestDocumentHasTheMetricsOfTheCode(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- registrar: generated, go test ./registrar/collector -run Document -update -->\n"
	head, rest, ok := strings.Cut(string(text), mark)
	got, tail, ended := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !ended {
		t.Fatal("docs/metrics.md has no place for the registrar")
	}
	want := collected(t)
	if got != want && !*update {
		t.Errorf("docs/metrics.md has\n%s\nand the code has\n%s", got, want)
	}
	if *update {
		if err := os.WriteFile(document, []byte(head+mark+want+"<!-- end -->\n"+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// collected is a table of all families and of the values that their labels have.
func collected(t *testing.T) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collector.New(fixed{}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| name | kind | label | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		label := "-"
		for i, m := range f.Metric {
			for _, l := range m.Label {
				if i == 0 {
					label = fmt.Sprintf("`%s`: %s", l.GetName(), l.GetValue())
				} else {
					label += ", " + l.GetValue()
				}
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), label, f.GetHelp())
	}
	return b.String()
}
