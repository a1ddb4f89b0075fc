package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/agent/wire"
)

var update = flag.Bool("update", false, "rewrite the golden records in testdata")

func TestRecordsKeepTheirForm(t *testing.T) {
	for _, s := range samples {
		for _, e := range encodings {
			record, err := s.append(nil, e)
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
				continue
			}
			file := filepath.Join("testdata", s.name+"."+e.String())
			if *update {
				if err := os.WriteFile(file, forPeople(t, e, record), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(forPeople(t, e, record))); diff != "" {
				t.Errorf("%s (-want +got)\n%s", file, diff)
			}
			got, err := s.decode(e, want)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			} else if diff := cmp.Diff(s.value(), got); diff != "" {
				t.Errorf("%s is read as (-want +got)\n%s", file, diff)
			}
		}
	}
}

func TestEveryGoldenRecordHasASample(t *testing.T) {
	known := map[string]bool{}
	for _, s := range samples {
		for _, e := range encodings {
			known[s.name+"."+e.String()] = true
		}
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() && !known[entry.Name()] {
			t.Errorf("testdata/%s is no sample's", entry.Name())
		}
	}
}

// forPeople indents JSON.
func forPeople(t *testing.T, e wire.Encoding, record []byte) []byte {
	if e != wire.JSON {
		return record
	}
	var out bytes.Buffer
	if err := json.Indent(&out, record, "", "\t"); err != nil {
		t.Fatalf("%v: %s", err, record)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
