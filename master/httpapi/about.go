package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
)

// about is what does not change while the program runs.
type about struct {
	build           Build
	cluster         string
	logDir, logFile string
	flags           []byte // as JSON
}

func newAbout(o Options) *about {
	return &about{
		build: o.Build, cluster: o.Cluster,
		logDir: o.Flags["log_dir"], logFile: o.Flags["external_log_file"],
		flags: appendFlags(nil, o.Flags),
	}
}

func appendFlags(b []byte, flags map[string]string) []byte {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		b = jsonout.String(foreignKey(b, name), flags[name])
	}
	return append(b, '}')
}

func (a *api) flagsBody(b []byte, _ *master.State, _ url.Values) ([]byte, error) {
	b = append(b, `{"flags":`...)
	b = append(b, a.about.flags...)
	return append(b, '}'), nil
}

// versionBody has its names in alphabetical order.
func (a *api) versionBody(b []byte, _ *master.State, _ url.Values) ([]byte, error) {
	build := &a.about.build
	b = append(b, '{')
	b = build.built(b)
	b = optText(b, "git_sha", build.GitSHA)
	b = optText(b, "git_tag", build.GitTag)
	b = text(b, "version", build.Version)
	return append(b, '}'), nil
}

// built is when and by whom, in three members. Nobody knows the user; but clients
// expect one.
func (v *Build) built(b []byte) []byte {
	date := ""
	if !v.Time.IsZero() {
		date = v.Time.UTC().Format(time.DateTime)
	}
	b = text(b, "build_date", date)
	b = seconds(b, "build_time", v.Time)
	return text(b, "build_user", "")
}
