package httpapi_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const manual = "../../docs/http-api.md"

// example is a block of the manual: a file of testdata, and perhaps the part
// of it that is shown.
var example = regexp.MustCompile("(?sm)^```json (\\S+)(?: (\\S+))?\n(.*?)^```$")

func TestTheManualShowsWhatTheTestsHold(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	got := example.ReplaceAllFunc(text, func(block []byte) []byte {
		m := example.FindSubmatch(block)
		file := string(m[1])
		shown[file] = true
		whole, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(block, []byte("\n"))
		part := folded(decode(t, whole).at(t, string(m[2])), "")
		return fmt.Appendf(nil, "%s\n%s\n```", first, part)
	})
	if len(shown) < 6 {
		t.Errorf("the manual shows only %v", shown)
	}
	checkGolden(t, manual, got)
}

// folded is a value with each part on one line that fits there.
func folded(n *tree, indent string) string {
	const width = 88
	if line := flat(n); len(indent)+len(line) <= width || len(n.kids) == 0 {
		return line
	}
	var b strings.Builder
	open, end := n.brackets()
	b.WriteString(open)
	for i, kid := range n.kids {
		b.WriteString("\n" + indent + "  " + n.label(i) + folded(kid, indent+"  "))
		if i < len(n.kids)-1 {
			b.WriteString(",")
		}
	}
	b.WriteString("\n" + indent + end)
	return b.String()
}

func flat(n *tree) string {
	if n.kind != "object" && n.kind != "array" {
		return string(n.bytes)
	}
	parts := make([]string, len(n.kids))
	for i, kid := range n.kids {
		parts[i] = n.label(i) + flat(kid)
	}
	open, end := n.brackets()
	return open + strings.Join(parts, ", ") + end
}

func (n *tree) brackets() (open, end string) {
	if n.kind == "object" {
		return "{", "}"
	}
	return "[", "]"
}

// label is what stands before a part.
func (n *tree) label(i int) string {
	if n.kind == "object" {
		return fmt.Sprintf("%q: ", n.names[i])
	}
	return ""
}
