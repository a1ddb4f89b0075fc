package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/testdata/cluster"
	"github.com/eaba02dc/registrar/wal"
)

const oneAgent = `{"slaves":{"slaves":[{"info":{"id":{"value":"a1"},"hostname":"h","port":5051}}]}}`

// importing runs the import command in this process.
func importing(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, trouble bytes.Buffer
	code = run(t.Context(), append([]string{"import"}, args...), strings.NewReader(stdin), &out, &trouble)
	return code, out.String(), trouble.String()
}

func mustImport(t *testing.T, stdin string, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := importing(t, stdin, args...)
	if code != exitFine {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	return stdout
}

// agents is how many agents the registry in dir holds.
func agents(t *testing.T, dir string) int {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	s, err := loadDir(cmd, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.Len(registry.Admitted) + s.Len(registry.Unreachable) + s.Len(registry.Gone)
}

func TestImportAsksAMaster(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/registrar(1)/registry", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ops" || password != "secret" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.Copy(z, cluster.Registry())
		z.Close()
	})
	mux.HandleFunc("/state", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "//"+r.Host+"/master/state") // to the leader, as Mesos does it
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/master/state", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"slaves":[]}`) })
	server := httptest.NewServer(mux)
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "registry")

	withUser := strings.Replace(server.URL, "http://", "http://ops:secret@", 1)
	out := mustImport(t, "", "--dir", dir, withUser+"/registrar(1)/registry?token=hidden")
	if agents(t, dir) != cluster.Agents || strings.Contains(out, "secret") || strings.Contains(out, "hidden") {
		t.Errorf("%d agents, printed\n%s", agents(t, dir), out)
	}
	mustImport(t, "", "--dir", dir, server.URL+"/state")
	if agents(t, dir) != cluster.Agents {
		t.Errorf("%d agents after importing an empty state", agents(t, dir))
	}

	code, _, stderr := importing(t, "", "--dir", dir, server.URL+"/registrar(1)/registry")
	if code != exitFailed || !strings.Contains(stderr, "the master answers 401 Unauthorized: who are you?") {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}

func TestPackedFileIsUnpacked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	mustImport(t, "", "--dir", dir, "../../testdata/cluster/registry.json.gz")
	if agents(t, dir) != cluster.Agents {
		t.Errorf("%d agents, want %d", agents(t, dir), cluster.Agents)
	}
}

func TestImportSaysThatAnAnswerBrokeOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"slaves":[`)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "registry")
	code, _, stderr := importing(t, "", "--dir", dir, server.URL)
	if _, err := os.Stat(dir); code != exitFailed || !strings.Contains(stderr, "unexpected EOF") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("exit code %d, stderr %s, store %v", code, stderr, err)
	}
}

// A refusal far into the input leaves every byte of the store as it was; so
// does an import that finds nothing to do.
func TestRefusedImportWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	mustImport(t, oneAgent, "--dir", dir, "-")
	before := tree(t, dir)
	long := strings.Repeat("x", registry.MaxAgent)
	for name, input := range map[string]string{
		"too large":       `{"slaves":[{"id":"a2","hostname":"h"},{"id":"a3","hostname":"` + long + `"}]}`,
		"not JSON":        `{"slaves":[{"id":"a2","hostname":"h"}}`,
		"bad field":       `{"slaves":[{"id":"a2","hostname":"h"},{"id":"a3","port":70000}]}`,
		"nothing changes": oneAgent,
	} {
		code, _, stderr := importing(t, input, "--dir", dir, "-")
		refused := name != "nothing changes"
		if (code == exitFailed) != refused || refused && !strings.Contains(stderr, "nothing was written") {
			t.Errorf("%s: exit code %d, stderr %.300s", name, code, stderr)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("%s: the store changed from\n%sto\n%s", name, before, after)
		}
	}
}

// tree is the names of all files under dir and hashes of their bytes.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type() == os.ModeSocket { // of a process that was killed
			fmt.Fprintln(&b, path)
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestImportIntoARegistryInUseIsRefused(t *testing.T) {
	dir, _ := newStore(t)
	code, _, stderr := importing(t, oneAgent, "--dir", dir, "-")
	if code != exitFailed || !strings.Contains(stderr, wal.ErrLocked.Error()) {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}

func TestTwoImportsDoNotMakeOneRegistry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	other, err := wal.Create(dir+importMark+"another2", wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	code, _, stderr := importing(t, oneAgent, "--dir", dir, "-")
	if code != exitFailed || !strings.Contains(stderr, "another process is making a registry at "+dir) {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	if _, err := os.Stat(dir + importMark + "another2"); err != nil {
		t.Errorf("the other import lost its store: %v", err)
	}
}

// What stands beside the new store under a name like that of an interrupted
// import is somebody's, unless an import made it.
func TestImportLeavesAloneWhatNoImportMade(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "registry")
	for _, name := range []string{"notes", "november"} {
		path := filepath.Join(dir+importMark+name, "file")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, parent)
	mustImport(t, oneAgent, "--dir", dir, "-")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, parent); after != before {
		t.Errorf("the import made of\n%sthis:\n%s", before, after)
	}
}

// atWriting calls f when an import begins to write: when it reads its input for
// the second time.
func atWriting(f func()) func(string, int64) *progress {
	times := 0
	return func(what string, total int64) *progress {
		if what == "reading" {
			if times++; times == 2 {
				f()
			}
		}
		return newProgress(nil, what, total)
	}
}

// importHooked is runImport with a hook.
func importHooked(ctx context.Context, dir string, f func()) error {
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	_, err := runImport(cmd, dir, shipped, false, atWriting(f))
	return err
}

func TestInterruptedImportLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	err := importHooked(ctx, filepath.Join(parent, "registry"), interrupt)
	if want := "the shipped cluster: interrupted (context canceled); no registry was made"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if left, _ := os.ReadDir(parent); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What was under way when the signal came is no fault of the input.
func TestInterruptIsNotTakenForBadInput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	for _, signal := range []string{"interrupt", "terminated"} {
		ctx, stop := context.WithCancelCause(t.Context())
		in := spoolOf(t, oneAgent)
		stop(errors.New(signal + " signal received"))
		_, err := (&importer{dir: dir, in: in, log: slog.New(slog.DiscardHandler)}).build(ctx)
		if want := "interrupted (" + signal + " signal received); no registry was made"; err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
		var trouble bytes.Buffer
		code := run(ctx, []string{"import", "--dir", dir, "-"}, strings.NewReader(oneAgent), io.Discard, &trouble)
		if want := "regtool import: read standard input: interrupted (" + signal + " signal received)\n"; code != exitFailed || trouble.String() != want {
			t.Errorf("exit code %d, stderr %q, want %q", code, trouble.String(), want)
		}
	}
}

func TestImportSaysWhatThereIsAfterAnError(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	broken := errors.New("input/output error")
	dir := filepath.Join(t.TempDir(), "registry")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	importerOf := func(input string) *importer {
		return &importer{dir: dir, strict: true, log: log, in: spoolOf(t, input), sync: func(string) error { return broken }}
	}
	saying := func(err error, cause error, want string) {
		t.Helper()
		if err == nil || cause != nil && !errors.Is(err, cause) || !strings.Contains(err.Error(), want) ||
			strings.Count(err.Error(), "again") != strings.Count(want, "again") {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	_, err := importerOf(oneAgent).build(ended)
	saying(err, context.Canceled, "; no registry was made")
	_, err = importerOf(oneAgent).build(t.Context())
	saying(err, broken, "the whole registry is at "+dir+", but it may not be there any more after a power cut: then import again")
	if n := agents(t, dir); n != 1 {
		t.Errorf("%d agents, want 1", n)
	}
	_, err = importerOf(`{"slaves":[{"id":"a2","hostname":"h"}],"more":1}`).extend(ended, registry.New())
	saying(err, context.Canceled, "nothing of the input was written: ")
	_, err = importerOf(`{"slaves":{"slaves":[]},"weights":[{"x":1}]}`).extend(t.Context(), registry.New())
	saying(err, nil, "nothing of the input was written: 1 kind of field cannot be kept")
	if n := agents(t, dir); n != 1 {
		t.Errorf("%d agents, want 1 as before", n)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	err = importHooked(interrupted, dir, interrupt)
	saying(err, context.Canceled, "a part may have been written: importing the same input again does the rest")
}

func TestImportFollowsALinkToItsFileSystem(t *testing.T) {
	parent := t.TempDir()
	target, link := filepath.Join(parent, "volume", "registry"), filepath.Join(parent, "link")
	if err := errors.Join(os.MkdirAll(target, 0o755), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	mustImport(t, oneAgent, "--dir", link, "-")
	if to, err := os.Readlink(link); err != nil || to != target || agents(t, target) != 1 {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestImportWaitsWhenTheQueueIsFull(t *testing.T) {
	for name, o := range map[string]registrar.Options{"of operations": {MaxQueue: 2}, "of bytes": {MaxQueueBytes: 1 << 10}} {
		o.Logger = slog.New(slog.DiscardHandler)
		r, err := registrar.Open(t.Context(), store.NewMemory(), o)
		if err != nil {
			t.Fatal(err)
		}
		im := &importer{in: spoolOf(t, `{"slaves":[`+strings.Join(manyAgents(500), ",")+`]}`)}
		end, err := im.write(t.Context(), r, registry.New())
		if err := errors.Join(err, r.Close()); err != nil || end.Len(registry.Admitted) != 500 {
			t.Errorf("%s: imported %v, %v", name, end, err)
		}
	}
}

func manyAgents(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"a%d","hostname":"h","port":1}`, i))
	}
	return list
}

func TestSilentMasterIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		body := newImpatient(silent{ctx}, ctx, cancel)
		defer body.Close()
		start := time.Now()
		_, err := body.Read(make([]byte, 1))
		if err == nil || !strings.Contains(err.Error(), "nothing came for 1m0s") || time.Since(start) != maxSilence {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// silent answers nothing until its request is cancelled.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s silent) Close() error             { return nil }

const killedImportEnv = "REGTOOL_TEST_KILLED_IMPORT"

func TestKilledImportLeavesNoRegistryAndIsRepeated(t *testing.T) {
	if dir := os.Getenv(killedImportEnv); dir != "" {
		t.Fatal(importHooked(t.Context(), dir, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "registry")
	child := exec.Command(self, "-test.run=^TestKilledImportLeavesNoRegistryAndIsRepeated$")
	child.Env = append(os.Environ(), killedImportEnv+"="+dir)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("child ended with %v, want it killed\n%s", err, out)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), "registry"+importMark) {
		t.Fatalf("left behind: %v, %v; want the store under construction alone", left, err)
	}
	mustImport(t, oneAgent, "--dir", dir, "-")
	if left, _ := os.ReadDir(parent); len(left) != 1 || left[0].Name() != "registry" {
		t.Errorf("left after the next import: %v", left)
	}
	if agents(t, dir) != 1 {
		t.Errorf("%d agents, want 1", agents(t, dir))
	}
}

const killedExtensionEnv = "REGTOOL_TEST_KILLED_EXTENSION"

// A crash in the middle of an import into a registry that is there leaves a
// part of it, and importing the same input again gives what the import without
// a crash would have given.
func TestKilledImportIntoARegistryIsMendedByRepeatingIt(t *testing.T) {
	if dir := os.Getenv(killedExtensionEnv); dir != "" {
		t.Fatal(importUntilKilled(t, dir))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	whole, dir := filepath.Join(parent, "whole"), filepath.Join(parent, "registry")
	for _, d := range []string{whole, dir} {
		mustImport(t, oneAgent, "--dir", d, "-")
	}
	child := exec.Command(self, "-test.run=^TestKilledImportIntoARegistryIsMendedByRepeatingIt$")
	child.Env = append(os.Environ(), killedExtensionEnv+"="+dir)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("child ended with %v, want it killed\n%s", err, out)
	}
	if n := agents(t, dir); n <= 1 || n >= cluster.Agents {
		t.Errorf("%d agents after the crash, want more than 1 and fewer than %d", n, cluster.Agents)
	}
	for _, d := range []string{whole, dir} {
		mustImport(t, "", "--dir", d, "../../testdata/cluster/registry.json.gz")
	}
	_, want, _ := checking(t, whole)
	if code, got, stderr := checking(t, dir); code != exitFine || got != want {
		t.Errorf("check: exit code %d, prints %s%s, want %s", code, got, stderr, want)
	}
}

// checking runs the check command in this process.
func checking(t *testing.T, dir string) (code int, stdout, stderr string) {
	t.Helper()
	var out, trouble bytes.Buffer
	code = run(t.Context(), []string{"check", "--dir", dir}, nil, &out, &trouble)
	return code, out.String(), trouble.String()
}

// importUntilKilled imports the shipped cluster into the registry in dir, and
// kills this process in the middle.
func importUntilKilled(t *testing.T, dir string) error {
	in, err := newSpool(t.Context(), shipped, atWriting(func() {}))
	if err != nil {
		return err
	}
	r, err := openDir(t.Context(), dir, wal.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	im := &importer{in: in}
	_, err = im.write(&killer{Context: t.Context(), r: r, before: r.Snapshot().Revision()}, r, r.Snapshot())
	return err
}

// killer is a context that ends the process in the middle of an import. Before
// each piece of its input an import asks whether its context has ended: about
// half way through, the answer does not come until some operations are durable,
// and then the process is killed.
type killer struct {
	context.Context
	r      *registrar.Registrar
	before uint64
	asked  int
}

func (k *killer) Err() error {
	const half = 20 // of the pieces that are read
	if k.asked++; k.asked == half {
		for k.r.Snapshot().Revision() == k.before {
			runtime.Gosched()
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return k.Context.Err()
}

func TestEveryRecordedStateIsImportedTwice(t *testing.T) {
	fixtures := os.Getenv("REGISTRAR_FIXTURES")
	if fixtures == "" {
		t.Skip("REGISTRAR_FIXTURES does not name a folder of recorded states")
	}
	for _, name := range []string{
		"apache-mesos-docs/master-GET_AGENTS.json", "apache-mesos-docs/master-GET_STATE.json", "dcos-metrics/master-state.json",
		"dcos-net/operator-stream/hello-world.json", "dcos-net/operator-stream/recovered-agents.json",
		"dcos-net/state/master-state-1.0.0.json", "dcos-net/state/master-state-1.8.0.json",
		"dcos-ui/marathon-1-pod-group-state-summary.json", "dcos-ui/marathon-1-task-state-summary.json",
		"dcos-ui/state-0.22.0.json", "mesos-dns/factories-fake.json",
	} {
		dir := filepath.Join(t.TempDir(), "registry")
		file := filepath.Join(fixtures, name)
		mustImport(t, "", "--dir", dir, file)
		if out := mustImport(t, "", "--dir", dir, file); !strings.Contains(out, "(0 changes)") {
			t.Errorf("%s: the second import prints\n%s", name, out)
		}
	}
}

func TestReasonOfAnImportFitsIntoTheLog(t *testing.T) {
	got := importReason(strings.Repeat("\xff", 5000))
	if len(got) > 4096 || !strings.HasPrefix(got, "import \uFFFD") || strings.ToValidUTF8(got, "") != got {
		t.Errorf("reason has %d bytes: %.40q", len(got), got)
	}
}

func TestExportReportsAnErrorOfItsWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	if err := importHooked(t.Context(), dir, func() {}); err != nil {
		t.Fatal(err)
	}
	for format := range exporters {
		var trouble bytes.Buffer
		code := run(t.Context(), []string{"export", "--dir", dir, "--format", format}, nil, fullDisk{}, &trouble)
		if code != exitFailed || !strings.Contains(trouble.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%s: exit code %d, stderr %s", format, code, trouble.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
