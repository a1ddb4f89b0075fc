package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
// is a text.
func parseValue(text string) (registry.Value, error) {
	switch {
	case enclosed(text, "[", "]"):
		return parseRanges(text)
	case enclosed(text, "{", "}"):
		return registry.Set(items(text)...), nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return registry.Scalar(f), nil
	}
	return registry.Text(text), nil
}

func parseRanges(text string) (registry.Value, error) {
	var ranges []registry.Range
	for _, item := range items(text) {
		from, to, ok := strings.Cut(item, "-")
		begin, err := strconv.ParseUint(from, 10, 64)
		end, err2 := strconv.ParseUint(to, 10, 64)
		if !ok || errors.Join(err, err2) != nil {
			return registry.Value{}, fmt.Errorf("%q is not a range such as 31000-32000", item)
		}
		ranges = append(ranges, registry.Range{Begin: begin, End: end})
	}
	return registry.Ranges(ranges...), nil
}

func enclosed(text, left, right string) bool {
	return len(text) >= 2 && strings.HasPrefix(text, left) && strings.HasSuffix(text, right)
}

func items(text string) []string {
	inside := text[1 : len(text)-1]
	if strings.TrimSpace(inside) == "" {
		return nil
	}
	parts := strings.Split(inside, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
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
