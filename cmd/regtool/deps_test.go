package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/eaba02dc/registrar"

// layers lists the packages from top to bottom. A package may import those
// below its line, and none of its own line or above. Packages of one line know
// nothing of each other.
var layers = [][]string{
	{"cmd/regtool", "examples/embed", "examples/keys", "examples/master"},
	{"internal/bench", "internal/soak"},
	{"agent", "master/httpapi"},
	{"internal/mesosjson", "master"},
	{"etcdstore", "registrar/backup", "registrar/collector", "wal"},
	{"wal/live"},
	{"registrar"},
	{"registrar/storetest"},
	{"internal/storetest"},
	{"registrar/store"},
	{"ops"},
	{"agent/wire"},
	{"registry", "master/metrics", "master/pod"},
	{"internal/duration", "internal/etcdtest", "internal/jsonout", "internal/pack", "internal/secretfile", "master/leaves", "master/link", "testdata/cluster"},
}

// onlyOurs is stricter for the engine: all that a package of it may import of
// ours.
var onlyOurs = map[string][]string{
	"registry":         {"internal/pack"},
	"registrar/store":  nil,
	"ops":              {"registry"},
	"registrar":        {"registrar/store", "ops", "registry", "internal/pack"},
	"registrar/backup": {"registrar", "registrar/store", "registry"},
	"wal":              {"registrar/store", "internal/pack", "wal/live"},
	"etcdstore":        {"registrar/store"},
	"wal/live":         {"registrar/store"},
	"master":           {"registrar", "ops", "registry", "agent/wire", "master/leaves", "master/link", "master/metrics", "master/pod"},
	"master/leaves":    nil,
	"master/metrics":   {"internal/jsonout"},
	"master/link":      nil,
	"master/pod":       {"internal/jsonout"},
	"agent/wire":       {"registry"},
}

// coreModules are what the engine without a disk may pull in, all told.
var coreModules = []string{
	"github.com/klauspost/cpuid/v2", // of xxh3
	"github.com/tidwall/btree",
	"github.com/vmihailenco/msgpack/v5",
	"github.com/vmihailenco/tagparser/v2", // of msgpack
	"github.com/zeebo/xxh3",
}

// packageInfo is what go list says of a package, tests left out.
type packageInfo struct {
	imports []string // direct
	deps    []string // everything it pulls in
}

func TestImportsPointDown(t *testing.T) {
	known := list(t)
	for name, p := range known {
		mine := layerOf(name)
		if mine < 0 {
			t.Errorf("package %s has no place in layers: give it one", name)
			continue
		}
		for _, path := range p.imports {
			if child, ours := strings.CutPrefix(path, module+"/"); ours && layerOf(child) <= mine {
				t.Errorf("%s imports %s, which does not stand below it", name, child)
			}
		}
	}
	for name, allowed := range onlyOurs {
		for _, path := range known[name].imports {
			if child, ours := strings.CutPrefix(path, module+"/"); ours && !slices.Contains(allowed, child) {
				t.Errorf("%s imports %s; of ours it may import %v only", name, child, allowed)
			}
		}
	}
}

func TestEngineImportsOnlyItsOwnLibraries(t *testing.T) {
	for _, name := range []string{"registry", "ops", "registrar", "registrar/store"} {
		for _, m := range modules(t, name) {
			if !slices.Contains(coreModules, m) {
				t.Errorf("%s pulls in %s", name, m)
			}
		}
	}
	for _, m := range modules(t, "agent/wire") {
		if !slices.Contains(coreModules, m) && m != "github.com/go-json-experiment/json" {
			t.Errorf("agent/wire pulls in %s", m)
		}
	}
	allowed := slices.Concat(coreModules, modulesOf(t, "github.com/cockroachdb/pebble/v2"),
		[]string{"github.com/google/uuid"}) // names histories
	for _, m := range modules(t, "wal") {
		if !slices.Contains(allowed, m) {
			t.Errorf("wal pulls in %s, which Pebble does not", m)
		}
	}
}

func TestLibraryPullsInNoToolAndNoMaster(t *testing.T) {
	strangers := []string{
		"github.com/spf13/", "go.etcd.io/", "google.golang.org/grpc",
		module + "/master", module + "/cmd", module + "/internal/bench", "testing",
	}
	known := list(t)
	for _, name := range []string{"registry", "ops", "registrar", "registrar/store", "wal", "wal/live", "agent/wire"} {
		for _, dep := range known[name].deps {
			for _, s := range strangers {
				if strings.HasPrefix(dep, s) {
					t.Errorf("%s pulls in %s", name, dep)
				}
			}
		}
	}
}

func layerOf(name string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, name) })
}

// list asks the go command for every package of the module.
func list(t *testing.T) map[string]packageInfo {
	t.Helper()
	known := map[string]packageInfo{}
	for _, line := range goList(t, "-f", "{{.ImportPath}}\t{{join .Imports \" \"}}\t{{join .Deps \" \"}}", module+"/...") {
		part := strings.Split(line, "\t")
		name := strings.TrimPrefix(part[0], module+"/")
		known[name] = packageInfo{imports: strings.Fields(part[1]), deps: strings.Fields(part[2])}
	}
	return known
}

// modules lists the modules, other than ours, that a package of ours pulls in.
func modules(t *testing.T, name string) []string {
	t.Helper()
	return modulesOf(t, module+"/"+name)
}

func modulesOf(t *testing.T, path string) []string {
	t.Helper()
	found := goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", path)
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(m string) bool { return m == "" || m == module })
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	var trouble bytes.Buffer
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, trouble.Bytes())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
