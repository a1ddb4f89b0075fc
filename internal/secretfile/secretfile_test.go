package secretfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/eaba02dc/registrar/internal/secretfile"
)

func write(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func TestAFileThatOthersCanReadIsNotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	for mode, ok := range map[os.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o644: false, 0o620: false, 0o601: false,
	} {
		path := write(t, mode, "hush")
		text, err := secretfile.Read(path)
		if ok && (err != nil || string(text) != "hush") {
			t.Errorf("mode %04o: %q, %v", mode, text, err)
		}
		if !ok && (err == nil || text != nil || !strings.Contains(err.Error(), "can be read by others") || strings.Contains(err.Error(), "hush")) {
			t.Errorf("mode %04o: %q, %v", mode, text, err)
		}
	}
}

func TestWhatIsNoFileOrTooLongIsNotRead(t *testing.T) {
	dir := t.TempDir()
	long := write(t, 0o600, strings.Repeat("x", secretfile.MaxSize+1))
	for path, want := range map[string]string{
		dir: dir + " is not a file", long: long + " has more than 1048576 bytes",
		filepath.Join(dir, "nothing"): "open " + filepath.Join(dir, "nothing") + ": no such file or directory",
	} {
		if text, err := secretfile.Read(path); err == nil || err.Error() != want || text != nil {
			t.Errorf("%d bytes, %v; want %s", len(text), err, want)
		}
	}
	if text, err := secretfile.Read(write(t, 0o600, strings.Repeat("x", secretfile.MaxSize))); err != nil || len(text) != secretfile.MaxSize {
		t.Errorf("the longest: %d bytes, %v", len(text), err)
	}
}
