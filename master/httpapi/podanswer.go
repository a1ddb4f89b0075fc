package httpapi

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/pod"
)

// podAnswer is an answer about pods. All who ask for a list share it until a pod
// changes: copying the parts of a list for each of them would cost a tenth of the
// answers.
type podAnswer struct {
	once  sync.Once
	err   error
	bytes []byte
	tag   string

	packing sync.Once
	packed  []part
}

// newPodAnswer is one about a single pod, of which the pod keeps the bytes.
func newPodAnswer(s *master.State, one *pod.Status, kind string, bytes []byte) *podAnswer {
	return &podAnswer{bytes: bytes, tag: podTag(s, one.Version, kind+one.Definition.ID)}
}

// podTag names an answer for its client's cache, as [api.tag] does: by the version
// of what is in it, which other changes of the cluster leave as it is.
func podTag(s *master.State, version uint64, what string) string {
	h := xxh3.HashString128(fmt.Sprintf("%q %d %d %s", s.Master.ID, s.Started.UnixNano(), version, what)).Bytes()
	return `"` + hex.EncodeToString(h[:]) + `"`
}

// podLists are the lists of all pods, by who may see what, as of one version.
type podLists struct {
	mu      sync.Mutex
	started time.Time // of the master
	version uint64
	answers map[string]*podAnswer
	weight  int64
}

// find finds a list of the pods that are in a view, or makes it. What takes more
// than most bytes with the others is not kept.
func (c *podLists) find(s *master.State, what podRoute, view View, most int64) *podAnswer {
	key := "pods"
	if what == statusesRoute {
		key = "statuses"
	}
	if view.Roles != nil {
		key += view.key()
	}
	a := c.answer(s, key)
	a.once.Do(func() {
		a.err = errPanicked // who comes after a panic is not to take nothing for an answer
		a.bytes = podList(s, what, view)
		a.tag = podTag(s, s.PodsVersion, key)
		a.err = nil
		c.weigh(a, key, most)
	})
	return a
}

// answer is the place of a list. Who has a State from before gets one of his own.
func (c *podLists) answer(s *master.State, key string) *podAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch same := s.Started.Equal(c.started); {
	case same && s.PodsVersion < c.version:
		return &podAnswer{}
	case !same || s.PodsVersion > c.version || c.answers == nil:
		c.started, c.version, c.answers, c.weight = s.Started, s.PodsVersion, map[string]*podAnswer{}, 0
	}
	a := c.answers[key]
	if a == nil {
		a = &podAnswer{}
		if len(c.answers) < maxShared {
			c.answers[key] = a
		}
	}
	return a
}

func (c *podLists) weigh(a *podAnswer, key string, most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[key] != a {
		return
	}
	if c.weight += int64(len(a.bytes)); c.weight > most {
		c.weight -= int64(len(a.bytes))
		delete(c.answers, key)
	}
}

// podList puts a list together of what each pod keeps.
func podList(s *master.State, what podRoute, view View) []byte {
	text := func(p *pod.Status) []byte { return p.JSON() }
	if what == podsRoute {
		text = func(p *pod.Status) []byte { return p.Definition.JSON() }
	}
	size := len("[]")
	for p := range s.Pods() {
		if view.Sees(p.Definition.Role) {
			size += len(text(p)) + len(",")
		}
	}
	b := append(make([]byte, 0, size), '[')
	for p := range s.Pods() {
		if view.Sees(p.Definition.Role) {
			b = append(next(b), text(p)...)
		}
	}
	return append(b, ']')
}

// bigPods is the size from which an answer about pods waits for its turn.
const bigPods = 1 << 20

// send sends an answer, or says that the client has it.
func (d *podDoor) send(w http.ResponseWriter, r *http.Request, found *podAnswer) {
	if found.err != nil {
		d.log.Error("cannot answer", "path", r.URL.Path, "err", found.err)
		failPods(w, http.StatusInternalServerError, podError{Message: "Internal Server Error"})
		return
	}
	h := w.Header()
	if asked := r.Header["If-None-Match"]; asked != nil {
		for _, tag := range [...]string{found.tag, packedTag(found.tag)} {
			if hasTag(asked, tag) {
				head(h, tag)
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
	}
	h.Set("Content-Type", asJSON)
	gzip := len(found.bytes) >= minPacked && takesGzip(r)
	if !gzip {
		head(h, found.tag)
		h.Set("Content-Length", strconv.Itoa(len(found.bytes)))
	} else {
		found.packing.Do(func() { found.packed = gzipped([]part{{bytes: found.bytes}}) })
		head(h, packedTag(found.tag))
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(sizeOf(found.packed)))
	}
	if r.Method == http.MethodHead {
		return
	}
	mine := &turn{}
	if len(found.bytes) >= bigPods {
		var err error
		if mine, err = d.turns.take(r.Context()); err != nil {
			return // the client is gone
		}
		defer mine.end()
	}
	if gzip {
		out := newCopier(w, mine)
		copyParts(out, found.packed)
		out.flush()
		return
	}
	straight(w, mine, found.bytes)
}

// straightPiece is how much is written at once of what is there as a whole.
const straightPiece = 256 << 10

// straight writes bytes without copying them, for as long as the client reads fast
// enough.
func straight(w http.ResponseWriter, mine *turn, bytes []byte) {
	started := time.Now()
	for sent := 0; sent < len(bytes); {
		if sent > 0 && time.Since(started) > grace+time.Duration(sent)*time.Second/leastRate {
			return
		}
		piece := bytes[sent:min(sent+straightPiece, len(bytes))]
		var err error
		mine.piece(func() { _, err = w.Write(piece) })
		if err != nil {
			return
		}
		sent += len(piece)
	}
}
