package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/backup"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

var (
	quiet = slog.New(slog.DiscardHandler)
	made  = time.Date(2026, 1, 2, 15, 4, 5, 6, time.UTC)
)

// engine has an agent in every state, a key, a master, and requests that were
// applied and refused.
func engine(t testing.TB, s store.Store) *registrar.Registrar {
	t.Helper()
	r, err := registrar.Open(t.Context(), s, registrar.Options{Logger: quiet, Master: &registry.Master{ID: "m1", Hostname: "m", PID: "master@m:5050"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	for i, op := range []ops.Operation{
		ops.Admit{Agent: registry.Agent{ID: "a1", Hostname: "h1", Labels: map[string]string{"team": "blue"}, Payload: []byte("x")}},
		ops.Admit{Agent: registry.Agent{ID: "a2", Hostname: "h2"}},
		ops.Admit{Agent: registry.Agent{ID: "a3", Hostname: "h3"}},
		ops.MarkUnreachable{ID: "a2", At: made},
		ops.MarkGone{ID: "a3", At: made},
		ops.Put{Table: "jobs", Key: "web/1", Value: "queued"},
		ops.Admit{Agent: registry.Agent{ID: "a1"}}, // refused
	} {
		if _, err := r.Apply(t.Context(), registrar.Request{ID: fmt.Sprint("request ", i), Operation: op}); err != nil && i != 6 {
			t.Fatal(err)
		}
	}
	return r
}

// small is a backup of it, and the image that it was made of.
func small(t testing.TB) ([]byte, *registrar.Image, backup.Summary) {
	t.Helper()
	image := engine(t, store.NewMemory()).Image()
	var file bytes.Buffer
	summary, err := backup.Write(&file, image, made)
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), image, summary
}

func TestABackupIsReadAsItWasWritten(t *testing.T) {
	file, image, wrote := small(t)
	b, err := backup.Read(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := backup.Summary{
		Made: made, History: image.Identity.History, Mark: image.Mark, Requests: 7,
		Bytes: int64(len(file)), SHA256: sha256.Sum256(file),
	}
	b.Made = b.Made.UTC()
	if wrote != want || b.Summary != want {
		t.Errorf("written: %+v\nread: %+v\nwant: %+v", wrote, b.Summary, want)
	}
	if got, want := slices.Collect(cloned(b.Image)), slices.Collect(cloned(image)); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("the image has chunks %x, and was written with %x", got, want)
	}
}

// cloned yields the chunks of an image, each of which can be kept.
func cloned(i *registrar.Image) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for c := range i.Chunks() {
			if !yield(bytes.Clone(c)) {
				return
			}
		}
	}
}

func TestAnEmptyRegistryIsBackedUp(t *testing.T) {
	image, err := registrar.LoadImage(t.Context(), store.NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := backup.Write(&file, image, made); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Read(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	if b.Image.Registry.Count() != 0 || b.Begin(made).Seq != 1 {
		t.Errorf("%d entries, begins at record %d", b.Image.Registry.Count(), b.Begin(made).Seq)
	}
}

// TestNoDamageGoesUnnoticed changes, cuts and extends a backup at every byte.
func TestNoDamageGoesUnnoticed(t *testing.T) {
	file, _, _ := small(t)
	check := func(what string, damaged []byte) {
		t.Helper()
		b, err := backup.Read(t.Context(), bytes.NewReader(damaged))
		var corrupt *backup.CorruptError
		if b != nil || !errors.As(err, &corrupt) && !errors.Is(err, backup.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := range file {
		for _, mask := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255} {
			damaged := bytes.Clone(file)
			damaged[at] ^= mask
			check(fmt.Sprintf("byte %d of %d with other bits %#x", at, len(file), mask), damaged)
		}
		check(fmt.Sprintf("the first %d bytes of %d", at, len(file)), file[:at])
		check(fmt.Sprintf("without byte %d of %d", at, len(file)), slices.Delete(bytes.Clone(file), at, at+1))
		check(fmt.Sprintf("byte %d of %d twice", at, len(file)), slices.Insert(bytes.Clone(file), at, file[at]))
	}
	for added := range 256 {
		check(fmt.Sprintf("with %#x behind its end", added), append(bytes.Clone(file), byte(added)))
	}
	check("twice", append(bytes.Clone(file), file...))
}

// TestASmallBackupNeverUnpacksToMuch hands it chunks of zeros.
func TestASmallBackupNeverUnpacksToMuch(t *testing.T) {
	file, _, _ := small(t)
	zeros := make([]byte, 1<<20)
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"a large chunk":             {pack(t, len(zeros), zeros), "a chunk of 1048576 bytes, more than one may have"},
		"one that says it is small": {pack(t, 1000, zeros), "a chunk of 1048576 bytes, where 1000 were announced"},
		"one beyond all there are":  {pack(t, 1000, make([]byte, store.MaxData+1)), "decompressed size exceeds configured limit"},
	} {
		_, err := backup.Read(t.Context(), bytes.NewReader(withChunk(file, 2, c.body)))
		if !errors.As(err, new(*backup.CorruptError)) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatCanBeCompressedWithoutEndIsKeptAsItIs(t *testing.T) {
	r := engine(t, store.NewMemory())
	for i := range 20 {
		if _, err := r.Apply(t.Context(), ops.Put{Table: "zeros", Key: fmt.Sprint(i), Value: string(make([]byte, 60_000))}); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := backup.Write(&file, r.Image(), made); err != nil {
		t.Fatal(err)
	}
	if file.Len() < 1_000_000 {
		t.Errorf("1,200,000 zeros are in a backup of %d bytes", file.Len())
	}
	b, err := backup.Read(t.Context(), &file)
	if err != nil || b.Image.Registry.Digest() != r.Snapshot().Digest() {
		t.Errorf("read back: %v", err)
	}
}

func TestANewerBackupIsNotCalledDamaged(t *testing.T) {
	file, _, _ := small(t)
	newer := bytes.Clone(file)
	binary.LittleEndian.PutUint32(newer[16:], 2)
	reseal(newer)
	want := "read a backup: the backup has a newer format than this program reads: it has format 2, this program reads up to 1"
	_, err := backup.Read(t.Context(), bytes.NewReader(newer))
	if !errors.Is(err, backup.ErrVersion) || err.Error() != want {
		t.Errorf("a newer file: %v", err)
	}
	rows := rechunk(t, file, func(chunk []byte) { chunk[0] = 2 })
	if _, err := backup.Read(t.Context(), bytes.NewReader(rows)); !errors.Is(err, registry.ErrVersion) || errors.As(err, new(*backup.CorruptError)) {
		t.Errorf("newer rows in it: %v", err)
	}
}

// TestWhatChecksumsVouchForIsProvedToo changes content and makes the checksums
// anew, as a fault of the program that wrote the backup would.
func TestWhatChecksumsVouchForIsProvedToo(t *testing.T) {
	file, _, _ := small(t)
	renamed := rechunk(t, file, func(chunk []byte) {
		at := bytes.Index(chunk, []byte("h1"))
		chunk[at] = 'H'
	})
	_, err := backup.Read(t.Context(), bytes.NewReader(renamed))
	if corrupt := new(backup.CorruptError); !errors.As(err, &corrupt) {
		t.Errorf("another host: %v", err)
	}
	const head = beginLen + frameLen
	older := bytes.Clone(file)
	older[head]++ // when it was made, which nothing else vouches for
	resealFrames(older, false)
	if _, err := backup.Read(t.Context(), bytes.NewReader(older)); !errors.As(err, new(*backup.CorruptError)) {
		t.Errorf("made at another time: %v", err)
	}
	for name, at := range map[string]int{"record": head + 24, "epoch": head + 32, "revision": head + 40} {
		far := bytes.Clone(file)
		far[at+7] = 0x40
		far[at] |= 1
		reseal(far)
		if _, err := backup.Read(t.Context(), bytes.NewReader(far)); !errors.As(err, new(*backup.CorruptError)) || !strings.Contains(err.Error(), "is beyond all there are") {
			t.Errorf("a %s that leaves no room for another: %v", name, err)
		}
	}
	for name, at := range map[string]int{"revision": head + 40, "count": head + 48, "digest": head + 56} {
		lies := bytes.Clone(file)
		lies[at]--
		reseal(lies)
		if _, err := backup.Read(t.Context(), bytes.NewReader(lies)); !errors.As(err, new(*backup.CorruptError)) {
			t.Errorf("one less of the %s: %v", name, err)
		}
	}
}

func TestTroubleWithReadingIsNotCalledDamage(t *testing.T) {
	file, _, _ := small(t)
	trouble := errors.New("the network is gone")
	for n := range file {
		in := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(trouble))
		if _, err := backup.Read(t.Context(), in); !errors.Is(err, trouble) || errors.As(err, new(*backup.CorruptError)) {
			t.Errorf("behind %d bytes: %v", n, err)
		}
	}
	in := io.MultiReader(bytes.NewReader(file), iotest.ErrReader(trouble))
	if _, err := backup.Read(t.Context(), in); !errors.Is(err, trouble) {
		t.Errorf("at the end: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(trouble)
	if _, err := backup.Read(ctx, bytes.NewReader(file)); !errors.Is(err, trouble) {
		t.Errorf("cancelled: %v", err)
	}
}

// full fails once so many bytes were written.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	n := min(f.left, len(b))
	f.left -= n
	if n < len(b) {
		return n, errors.New("no space")
	}
	return n, nil
}

func TestAWriteThatFailsFailsTheBackup(t *testing.T) {
	file, image, _ := small(t)
	for n := range file {
		if _, err := backup.Write(&full{n}, image, made); err == nil {
			t.Errorf("with room for %d of %d bytes it is said to be written", n, len(file))
		}
	}
}

func TestARestoredStoreGoesOnWhereNothingEverWas(t *testing.T) {
	original := engine(t, store.NewMemory())
	before := registrar.Position{History: original.Image().Identity.History, Revision: original.Snapshot().Revision()}
	var file bytes.Buffer
	if _, err := backup.Write(&file, original.Image(), made); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Read(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	now := made.Add(time.Hour)
	l, err := wal.CreateAt(t.Context(), t.TempDir()+"/store", wal.Options{Logger: quiet}, b.Begin(now), b.Image.Chunks())
	if err != nil {
		t.Fatal(err)
	}
	r, err := registrar.Open(t.Context(), l, registrar.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, want := r.Snapshot().Digest(), original.Snapshot().Digest(); got != want {
		t.Errorf("digest %v, was %v", got, want)
	}
	want := before.Revision + 1_000_000_000 + 3_600_000_000
	if got := r.Snapshot().Revision(); got != want {
		t.Errorf("revision %d, want %d", got, want)
	}
	for e, err := range r.Watch(t.Context(), before) {
		if err != nil || e.Resync == nil || e.History == before.History {
			t.Errorf("who followed the original is told %+v, %v", e, err)
		}
		break
	}
	again, err := r.Apply(t.Context(), registrar.Request{ID: "request 0", Operation: ops.Remove{ID: "a1"}})
	if err != nil || again != (registrar.Result{Revision: 2, Changed: true}) {
		t.Errorf("a request that is sent again: %+v, %v", again, err)
	}
	if _, err := r.Apply(t.Context(), ops.Admit{Agent: registry.Agent{ID: "a1"}}); !errors.Is(err, ops.ErrAdmitted) {
		t.Errorf("admitting who is there: %v", err)
	}
	next, err := r.Apply(t.Context(), ops.Remove{ID: "a1"})
	if err != nil || next != (registrar.Result{Revision: want + 1, Changed: true}) {
		t.Errorf("the next change: %+v, %v", next, err)
	}
}

func TestNoRevisionIsGivenOutTwice(t *testing.T) {
	b := &backup.Backup{Summary: backup.Summary{Made: made, Mark: store.Mark{Seq: 7, Revision: 10}}}
	for age, want := range map[time.Duration]uint64{
		-time.Hour: 1_000_000_010, 0: 1_000_000_010, time.Millisecond: 1_000_001_010, 24 * time.Hour: 87_400_000_010,
	} {
		if got := b.Begin(made.Add(age)); got != (store.Mark{Seq: 7, Revision: want}) {
			t.Errorf("after %v: %+v", age, got)
		}
	}
}

// TestWhatAnAgentSaysOfItselfIsDecoded writes a registry with an agent that
// recovery does not look into.
func TestWhatAnAgentSaysOfItselfIsDecoded(t *testing.T) {
	_, image, _ := small(t)
	d := registry.New().Draft()
	for chunk := range image.Registry.Chunks(1 << 20) {
		payload := []byte("\xc4\x01x")
		if bytes.Count(chunk, payload) != 1 {
			t.Fatalf("no payload in %x", chunk)
		}
		if err := d.Redo(bytes.Replace(chunk, payload, []byte("\xd9\x01x"), 1), image.Mark.Revision); err != nil {
			t.Fatal(err)
		}
	}
	broken := *image
	broken.Registry = d.Freeze()
	broken.Mark.Digest = broken.Registry.Digest()
	var file bytes.Buffer
	if _, err := backup.Write(&file, &broken, made); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Read(t.Context(), &file); !errors.As(err, new(*backup.CorruptError)) {
		t.Errorf("an agent whose payload is text: %v", err)
	}
}
