package mesosjson_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/eaba02dc/registrar/testdata/cluster"
)

var update = flag.Bool("update", false, "rewrite golden files and the shipped cluster")

func TestShippedClusterIsWhatItsGeneratorMakes(t *testing.T) {
	var made bytes.Buffer
	if err := cluster.Generate(&made); err != nil {
		t.Fatal(err)
	}
	const file = "../../testdata/cluster/registry.json.gz"
	if *update {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		w.Write(made.Bytes())
		w.Close()
		if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return // the package has the old one embedded until it is built again
	}
	shipped, err := io.ReadAll(cluster.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, made.Bytes()) {
		t.Errorf("%s has %d bytes that are not the %d bytes made today; -update makes it anew", file, len(shipped), made.Len())
	}
}
