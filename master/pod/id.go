package pod

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// MaxID is the most bytes that the ID of a pod has.
const MaxID = 1024

var segment = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ParseID is the one way to write the ID of a pod, as in "/web/front". It may be
// given without the leading slash, and relative to "/".
func ParseID(text string) (string, error) {
	if len(text) > MaxID {
		return "", fmt.Errorf("has %d bytes, at most %d are allowed", len(text), MaxID)
	}
	id := path.Clean("/" + text)
	if id == "/" {
		return "", errors.New("must be a path that is not the root")
	}
	for part := range strings.SplitSeq(id[1:], "/") {
		if !segment.MatchString(part) {
			return "", fmt.Errorf("must consist of lower case letters, digits, hyphens and dots between slashes, and %q does not", part)
		}
	}
	return id, nil
}

// SafePath is the ID of a pod as it stands in those of its instances: "web_front"
// of "/web/front".
func SafePath(id string) string { return strings.ReplaceAll(strings.TrimPrefix(id, "/"), "/", "_") }

// fromSafePath is the ID that has this safe path: no ID has an underscore.
func fromSafePath(safe string) string { return "/" + strings.ReplaceAll(safe, "_", "/") }
