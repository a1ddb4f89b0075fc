package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/etcdtest"
)

// A registry goes from a directory to etcd, is read there by every command, backed
// up and restored there, and goes back: it is the same all the way.
func TestARegistryMovesToEtcdAndBack(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	base := t.TempDir()
	dir, back, file := filepath.Join(base, "registry"), filepath.Join(base, "back"), filepath.Join(base, "a.backup")
	seed(t, dir)
	does := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := call(t, t.Context(), args...)
		if code != exitFine {
			t.Fatalf("regtool %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}
	fails := func(says string, args ...string) {
		t.Helper()
		code, _, stderr := call(t, t.Context(), args...)
		if code != exitFailed || !strings.Contains(stderr, says) {
			t.Errorf("regtool %s: exit code %d, %q; want 1, and %q", strings.Join(args, " "), code, stderr, says)
		}
	}
	fails("there is no registry here", "inspect", "--etcd", etcd.URL)
	exported := does("export", "--dir", dir)
	digest := factOf(t, does("inspect", "--dir", dir), "digest")
	if moved := does("migrate", "--from", dir, "--to", etcd.URL); !strings.Contains(factOf(t, moved, "digest"), digest) {
		t.Errorf("it says\n%s, want the digest %s", moved, digest)
	}
	inspected := does("inspect", "--etcd", etcd.URL)
	for name, want := range map[string]string{"digest": digest, "format": "1 on etcd", "epoch": "", "revision": factOf(t, does("inspect", "--dir", dir), "revision")} {
		if got := factOf(t, inspected, name); want != "" && got != want {
			t.Errorf("in etcd %s is %q, want %q", name, got, want)
		}
	}
	if got := does("export", "--etcd", etcd.URL); got != exported {
		t.Errorf("in etcd it is\n%s\nin the directory\n%s", got, exported)
	}
	if got := does("check", "--etcd", etcd.URL, "--deep"); !strings.HasPrefix(got, "sound: revision ") || !strings.Contains(got, digest) {
		t.Errorf("check says %q", got)
	}
	does("log", "--etcd", etcd.URL)
	does("backup", "--etcd", etcd.URL, file)
	does("verify", file)
	fails("a registry is already here", "restore", file, "--etcd", etcd.URL)
	restored := does("restore", file, "--etcd", etcd.URL, "--etcd-prefix", "/restored/")
	if got := factOf(t, restored, "digest"); got != digest {
		t.Errorf("what was restored has digest %s, want %s", got, digest)
	}
	does("check", "--etcd", etcd.URL, "--etcd-prefix", "/restored/")

	does("migrate", "--from", etcd.URL+"/registrar/", "--to", back)
	if got := does("export", "--dir", back); got != exported {
		t.Errorf("back in a directory it is\n%s\nit was\n%s", got, exported)
	}
	does("check", "--dir", back)
	fails("is not empty", "migrate", "--from", etcd.URL, "--to", back)
	fails("a registry is already here", "migrate", "--from", dir, "--to", etcd.URL)

	lead, err := etcdstore.Campaign(t.Context(), etcd.Client(t), etcdstore.DefaultPrefix, etcdstore.Candidate{Name: "http://leader:5050"})
	if err != nil {
		t.Fatal(err)
	}
	defer lead.Resign()
	fails("http://leader:5050", "migrate", "--from", etcd.URL, "--to", filepath.Join(base, "third"))
	if _, err := os.Stat(filepath.Join(base, "third")); err == nil {
		t.Error("something was made")
	}
	does("inspect", "--etcd", etcd.URL) // who leads goes on, who reads reads

	records, err := etcd.Client(t).Get(t.Context(), etcdstore.DefaultPrefix+"last")
	if err != nil || len(records.Kvs) != 1 {
		t.Fatal(err)
	}
	if _, err := etcd.Client(t).Put(t.Context(), etcdstore.DefaultPrefix+"last", "damage"); err != nil {
		t.Fatal(err)
	}
	fails("etcd key /registrar/last is damaged", "inspect", "--etcd", etcd.URL)
}

// factOf is what a table of facts says of one.
func factOf(t *testing.T, table, name string) string {
	t.Helper()
	for line := range strings.Lines(table) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(text)
		}
	}
	t.Fatalf("there is no %s in\n%s", name, table)
	return ""
}

func TestPlacesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"/var/lib/registry":              "/var/lib/registry",
		"registry":                       "registry",
		"http://a:1":                     "etcd at http://a:1 below /registrar/",
		"http://a:1/":                    "etcd at http://a:1 below /registrar/",
		"http://a:1,https://b:2/p/":      "etcd at http://a:1,https://b:2 below /p/",
		"http://a:1,http://b:2/one/two/": "etcd at http://a:1,http://b:2 below /one/two/",
	} {
		if got := registryAt(text, etcdFlags{}).place(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
