package main

import (
	"fmt"
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// filter picks agents; an agent must pass every filter that was given.
type filter func(registry.Agent) bool

// parseFilters reads "hostname=HOST", "attr=NAME" and "attr=NAME:VALUE".
func parseFilters(texts []string) (filter, error) {
	var all []filter
	for _, text := range texts {
		f, err := parseFilter(text)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return func(a registry.Agent) bool {
		for _, passes := range all {
			if !passes(a) {
				return false
			}
		}
		return true
	}, nil
}

func parseFilter(text string) (filter, error) {
	key, want, ok := strings.Cut(text, "=")
	switch {
	case ok && (want == "" || key == "attr" && want[0] == ':'):
		return nil, fmt.Errorf("--filter %q names nothing to look for", text)
	case ok && key == "hostname":
		return func(a registry.Agent) bool { return a.Hostname == want }, nil
	case ok && key == "attr":
		name, value, valued := strings.Cut(want, ":")
		return func(a registry.Agent) bool { return hasAttribute(a, name, value, valued) }, nil
	}
	return nil, fmt.Errorf("--filter %q: use hostname=HOST, attr=NAME or attr=NAME:VALUE", text)
}

func hasAttribute(a registry.Agent, name, value string, valued bool) bool {
	for _, attr := range a.Attributes {
		if attr.Name == name && (!valued || valueText(attr.Value) == value) {
			return true
		}
	}
	return false
}
