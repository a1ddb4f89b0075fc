package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
)

// The text of a value is Mesos's: 4.5, [31000-32000,40000-40010], {sda,sdb},
// and for an attribute any other text as it stands.

// valueText is the form that parseValue reads.
func valueText(v registry.Value) string {
	switch v.Kind {
	case registry.KindScalar:
		return strconv.FormatFloat(v.Scalar, 'f', -1, 64)
	case registry.KindRanges:
		parts := make([]string, len(v.Ranges))
		for i, r := range v.Ranges {
			parts[i] = fmt.Sprintf("%d-%d", r.Begin, r.End)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case registry.KindSet:
		return "{" + strings.Join(v.Set, ",") + "}"
	default:
		return v.Text
	}
}

// parseValue reads a number, ranges or a set; whatever looks like none of them
// is a text. What stands in brackets is ranges or an error.
func parseValue(text string) (registry.Value, error) {
	if ranges, ok := mesosjson.ParseRanges(text); ok {
		return registry.Ranges(ranges...), nil
	}
	if set, ok := mesosjson.ParseSet(text); ok {
		return registry.Set(set...), nil
	}
	if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		return registry.Value{}, fmt.Errorf("%q is not a list of ranges such as [31000-32000,40000-40010]", text)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return registry.Scalar(f), nil
	}
	return registry.Text(text), nil
}

func attributesText(attributes []registry.Attribute) string {
	parts := make([]string, len(attributes))
	for i, a := range attributes {
		parts[i] = a.Name + ":" + valueText(a.Value)
	}
	return strings.Join(parts, ";")
}

// resourcesText names the role behind a reserved amount: "cpus(web):4".
func resourcesText(resources []registry.Resource) string {
	parts := make([]string, len(resources))
	for i, r := range resources {
		role := ""
		if n := len(r.Reservations); n > 0 {
			role = "(" + r.Reservations[n-1].Role + ")"
		}
		parts[i] = r.Name + role + ":" + valueText(r.Value)
	}
	return strings.Join(parts, ";")
}

func labelsText(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for k, v := range labels {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ";")
}
