package httpapi

import (
	"maps"
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

func (a *api) flagsBody(p *page, _ *master.State, _ *question) error {
	p.b = append(p.b, `{"flags":`...)
	p.b = append(p.b, a.about.flags...)
	p.b = append(p.b, '}')
	return nil
}

// versionBody has its names in alphabetical order.
func (a *api) versionBody(p *page, _ *master.State, _ *question) error {
	build := &a.about.build
	b := append(p.b, '{')
	b = build.built(b)
	b = optText(b, "git_sha", build.GitSHA)
	b = optText(b, "git_tag", build.GitTag)
	b = text(b, "version", build.Version)
	p.b = append(b, '}')
	return nil
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
