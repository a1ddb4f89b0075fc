package mesosjson

import (
	"strconv"
	"strings"

	"github.com/eaba02dc/registrar/registry"
)

// ParseRanges reads ranges as Mesos writes them in a text, "[1-21, 23-5050]".
// It reports whether text is that: every range has a begin and an end, and
// does not end before it begins. "[]" is no ranges, and true.
func ParseRanges(text string) ([]registry.Range, bool) {
	inside, ok := inside(text, "[", "]")
	if !ok {
		return nil, false
	}
	var list []registry.Range
	for _, item := range items(inside) {
		begin, end, _ := strings.Cut(item, "-")
		b, err := strconv.ParseUint(strings.TrimSpace(begin), 10, 64)
		e, err2 := strconv.ParseUint(strings.TrimSpace(end), 10, 64)
		if err != nil || err2 != nil || b > e {
			return nil, false
		}
		list = append(list, registry.Range{Begin: b, End: e})
	}
	return list, true
}

// ParseSet reads a set as Mesos writes it in a text, "{a, b}", and reports
// whether text is that. "{}" is an empty set, and true.
func ParseSet(text string) ([]string, bool) {
	inside, ok := inside(text, "{", "}")
	if !ok {
		return nil, false
	}
	return items(inside), true
}

func inside(text, open, end string) (string, bool) {
	text, opened := strings.CutPrefix(text, open)
	text, ended := strings.CutSuffix(text, end)
	return text, opened && ended
}

func items(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	items := strings.Split(list, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}
