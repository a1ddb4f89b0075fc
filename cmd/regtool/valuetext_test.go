package main

import (
	"reflect"
	"testing"

	"github.com/eaba02dc/registrar/registry"
)

func TestValuesReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]registry.Value{
		"4":                         registry.Scalar(4),
		"0.125":                     registry.Scalar(0.125),
		"[31000-32000,40000-40010]": registry.Ranges(registry.Range{Begin: 31000, End: 32000}, registry.Range{Begin: 40000, End: 40010}),
		"[]":                        registry.Ranges(),
		"{sda,sdb}":                 registry.Set("sda", "sdb"),
		"{}":                        registry.Set(),
		"r12":                       registry.Text("r12"),
		"":                          registry.Text(""),
		"NaN":                       registry.Text("NaN"), // a name, not a number a registry takes
		"Infinity":                  registry.Text("Infinity"),
		"[":                         registry.Text("["),
	} {
		got, err := parseValue(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parseValue(%q) = %+v, %v, want %+v", text, got, err, want)
		}
		if back := valueText(want); back != text {
			t.Errorf("valueText(%+v) = %q, want %q", want, back, text)
		}
	}
}

func TestSpacesInAValueDoNotMatter(t *testing.T) {
	for text, want := range map[string]string{"[5 - 6, 8-9 ]": "[5-6,8-9]", "{ a, b}": "{a,b}", "[ ]": "[]"} {
		if v, err := parseValue(text); err != nil || valueText(v) != want {
			t.Errorf("parseValue(%q) = %+v, %v, want %s", text, v, err, want)
		}
	}
}

func TestRangesThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"[1]", "[a-b]", "[1-2;3-4]", "[-1-2]", "[1-18446744073709551616]", "[9-1]", "[1-2,]"} {
		if v, err := parseValue(text); err == nil {
			t.Errorf("parseValue(%q) = %+v", text, v)
		}
	}
}
