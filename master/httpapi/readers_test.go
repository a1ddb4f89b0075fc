package httpapi_test

import (
	"bytes"
	"net/http"
	"sync"
	"testing"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// The race detector sees whether rendering changes what it reads (MESOS-9177).
func TestReadersOfOneStateDoNotGetInEachOthersWay(t *testing.T) {
	s := fullCluster(t)
	h := httpapi.New(still{s}, options)
	want := map[string][]byte{}
	for _, ask := range golden {
		want[ask.path] = get(t, s, ask.path)
	}
	var wg sync.WaitGroup
	for range 8 {
		for path, body := range want {
			wg.Go(func() {
				if w := send(h, http.MethodGet, path); !bytes.Equal(w.Body.Bytes(), body) {
					t.Errorf("GET %s: another answer than alone", path)
				}
			})
		}
	}
	wg.Wait()
}
