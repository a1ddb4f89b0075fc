package master

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/master/metrics"
)

var update = flag.Bool("update", false, "rewrite what is generated of docs/metrics.md")

const metricsDocument = "../docs/metrics.md"

// TestDocumentHasTheMetricsOfTheCode holds docs/metrics.md against the definitions.
func TestDocumentHasTheMetricsOfTheCode(t *testing.T) {
	b, err := os.ReadFile(metricsDocument)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, want := range map[string]string{"frameworks": frameworksDocument(), "master": masterDocument(), "zeros": zerosDocument()} {
		mark := "<!-- " + name + ": generated, go test ./master -run Document -update -->\n"
		head, rest, ok := strings.Cut(text, mark)
		got, tail, ended := strings.Cut(rest, "<!-- end -->\n")
		if !ok || !ended {
			t.Fatalf("docs/metrics.md has no place for %s", name)
		}
		if got != want && !*update {
			t.Errorf("docs/metrics.md has of %s\n%s\nand the code has\n%s", name, got, want)
		}
		text = head + mark + want + "<!-- end -->\n" + tail
	}
	if *update {
		if err := os.WriteFile(metricsDocument, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func masterDocument() string {
	var b strings.Builder
	b.WriteString("| name | kind | Prometheus | meaning |\n|---|---|---|---|\n")
	for _, d := range Definitions() {
		if d.Zero() {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, kindOf(d.Counter), inPrometheus(d.Family, d.Label, d.Value), d.Help)
	}
	return b.String()
}

func kindOf(counter bool) string {
	if counter {
		return "counter"
	}
	return "gauge"
}

func inPrometheus(family, label, value string) string {
	switch {
	case family == "":
		return "-"
	case label == "":
		return "`" + family + "`"
	}
	return fmt.Sprintf("`%s{%s=%q}`", family, label, value)
}

func zerosDocument() string {
	var b strings.Builder
	for _, d := range Definitions() {
		if d.Zero() {
			fmt.Fprintf(&b, "- `%s`, a %s\n", d.Name, kindOf(d.Counter))
		}
	}
	return b.String()
}

func frameworksDocument() string {
	var b strings.Builder
	b.WriteString("| name | kind | Prometheus | value |\n|---|---|---|---|\n")
	for m := range newFrameworkShape([]string{"ROLE"}).Members() {
		family, kind := metrics.Family{}, "counter"
		if m.Family >= 0 {
			family = frameworkFamilies[m.Family]
			kind = kindOf(family.Counter)
		}
		value := "always 0"
		if strings.HasPrefix(m.Name, "tasks/") {
			value = "as counted"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, kind, inPrometheus(family.Name, family.Label, m.Value), value)
	}
	return b.String()
}
