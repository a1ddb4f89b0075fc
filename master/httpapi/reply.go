package httpapi

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/master"
)

// body appends to a page the answer to a question about a state.
type body func(p *page, s *master.State, q *question) error

// endpoint answers questions about a state.
type endpoint struct {
	path  string
	body  body
	asks  []string // the parameters that it knows
	small bool     // the answer is, however large the cluster
	// agents is how agents look that are in it, nil if none are; frameworks that they
	// are in it.
	agents     *kind[*master.Agent]
	frameworks bool
}

// question is what a request asks here: of its parameters, those that the endpoint
// knows.
func (e *endpoint) question(r *http.Request) *question {
	q := &question{url.Values{}, viewOf(r.Context())}
	for name, values := range r.URL.Query() {
		if slices.Contains(e.asks, name) {
			q.Values[name] = values[:1]
		}
	}
	return q
}

// reply is what is said about a state to everybody who asks the same. It is made
// once, and does not change after.
type reply struct {
	once  sync.Once
	err   error
	parts []part
	size  int // bytes, or -1 while a part is to be made later

	packing sync.Once
	packed  []part
}

// sizeOf adds up what is there, or is -1 while a part is to be made later.
func sizeOf(parts []part) (n int) {
	for _, p := range parts {
		if p.later != nil {
			return -1
		}
		n += p.len()
	}
	return n
}

// partBytes is about what a part takes beside its bytes.
const partBytes = 40

// own is how many bytes an answer takes beside what leaves remember.
func (r *reply) own() (n int) {
	for _, p := range r.parts {
		n += partBytes
		if p.of == nil {
			n += len(p.bytes)
		}
	}
	return n
}

// inGzip is the answer, packed.
func (r *reply) inGzip() []part {
	r.packing.Do(func() { r.packed = gzipped(r.parts) })
	return r.packed
}

// json serves an endpoint, for a browser's script tag if it asks for that.
func (a *api) json(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		callback := query.Get("jsonp")
		if query.Has("jsonp") && !isCallback(callback) {
			fail(w, http.StatusBadRequest, "jsonp is not the name of a JavaScript function.")
			return
		}
		q := e.question(r)
		if a.has(w, r, e, q, callback) {
			return
		}
		mine := &turn{}
		if !e.small {
			var err error
			if mine, err = a.turns.take(r.Context()); err != nil {
				return // the client is gone
			}
			defer mine.end()
		}
		s := a.source.State() // what was acknowledged before the turn is in it
		found := a.reply(e, s, q)
		if found.err != nil {
			a.log.Error("cannot answer", "path", r.URL.Path, "err", found.err)
			fail(w, http.StatusInternalServerError, "500 Internal Server Error.")
			return
		}
		a.send(w, r, found, a.tag(e, s, q, callback), callback, mine)
	})
}

// has says that a client has the answer, if that is so: it need not be made for that.
func (a *api) has(w http.ResponseWriter, r *http.Request, e endpoint, q *question, callback string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header["If-None-Match"] == nil {
		return false
	}
	tag := a.tag(e, a.source.State(), q, callback)
	for _, tag := range [...]string{tag, packedTag(tag)} {
		if hasTag(r.Header.Values("If-None-Match"), tag) {
			head(w.Header(), tag)
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// head is what every answer says of itself.
func head(h http.Header, tag string) {
	h.Add("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "private, no-cache") // it may be kept, and is to be asked for again
	h.Set("ETag", tag)
}

var errPanicked = errors.New("somebody who asked before has met with a panic")

// reply finds the answer to a question, or makes it.
func (a *api) reply(e endpoint, s *master.State, q *question) *reply {
	found := a.shared.find(s, e.key(q))
	found.once.Do(func() {
		found.err = errPanicked // who comes after a panic is not to take nothing for an answer
		warm(s, &e, q, a.cacheBytes)
		p := &page{}
		found.err = e.body(p, s, q)
		found.parts = p.finished()
		found.size = sizeOf(found.parts)
		a.shared.weigh(s, e.key(q), found.own(), a.cacheBytes)
	})
	return found
}

// key tells questions apart whose answers differ, whatever their parameters are.
func (e *endpoint) key(q *question) string {
	var b strings.Builder
	b.WriteString(e.path)
	for _, name := range e.asks {
		if q.Has(name) {
			fmt.Fprintf(&b, " %s=%q", name, q.Get(name))
		}
	}
	b.WriteString(q.view.key())
	return b.String()
}

// tag names an answer for its client's cache (RFC 9110, 8.8.3): by who leads and
// since when, so that no master's is taken for another's, by the state, the
// question and who asks.
func (a *api) tag(e endpoint, s *master.State, q *question, callback string) string {
	h := xxh3.HashString128(fmt.Sprintf("%q %d %d %s %s", s.Master.ID, s.Started.UnixNano(), s.Version, e.key(q), callback)).Bytes()
	return `"` + hex.EncodeToString(h[:]) + `"`
}

// packedTag names the same answer, packed.
func packedTag(tag string) string { return tag[:len(tag)-1] + `-gzip"` }

// send sends an answer.
func (a *api) send(w http.ResponseWriter, r *http.Request, found *reply, tag, callback string, mine *turn) {
	header, parts, size := w.Header(), found.parts, found.size
	header.Set("Content-Type", "application/json")
	if callback != "" {
		header.Set("Content-Type", "text/javascript")
		parts = slices.Concat([]part{{bytes: []byte(callback + "(")}}, parts, []part{{bytes: []byte(")")}})
		size = sizeOf(parts)
	}
	gzip := (size < 0 || size >= minPacked) && takesGzip(r)
	if gzip {
		tag = packedTag(tag)
		header.Set("Content-Encoding", "gzip")
	}
	head(header, tag)
	switch {
	case !gzip || size < 0:
	case callback == "":
		parts = found.inGzip()
		size = sizeOf(parts)
	default:
		parts = gzipped(parts)
		size = sizeOf(parts)
	}
	if size >= 0 {
		header.Set("Content-Length", strconv.Itoa(size))
	}
	if r.Method == http.MethodHead {
		return
	}
	out := newCopier(w, mine)
	if gzip && size < 0 {
		z := packing(out)
		copyParts(z, parts)
		z.Close()
	} else {
		copyParts(out, parts)
	}
	out.flush()
}

// hasTag reports whether a client has what is named so.
func hasTag(ifNoneMatch []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(ifNoneMatch, ","), ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// copyParts writes an answer, until the other side takes no more.
func copyParts(w io.Writer, parts []part) {
	var made []byte
	for _, p := range parts {
		if p.later != nil {
			made = p.later(made[:0])
			p.bytes = made
		}
		if copyPart(w, p) != nil {
			return
		}
	}
}

func copyPart(w io.Writer, p part) (err error) {
	if p.of == nil {
		_, err = w.Write(p.bytes)
		return err
	}
	first := true
	for piece := range p.of.Pieces() {
		if !first {
			w.Write(comma)
		}
		if _, err = w.Write(piece); err != nil {
			return err
		}
		first = false
	}
	return nil
}

var comma = []byte{','}

// copier writes in pieces that are large enough for the system. A client that reads
// more slowly than leastRate, after a grace, is cut off: it keeps a state alive that
// is of no use any more.
type copier struct {
	w       io.Writer
	turn    *turn
	started time.Time
	sent    int
	buffer  *[]byte
	err     error
}

const (
	leastRate = 64 << 10 // bytes a second
	grace     = 30 * time.Second
)

var errSlowReader = errors.New("the client reads too slowly")

// pieces are the buffers of copiers.
var pieces = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize); return &b }}

const pieceSize = 128 << 10

func newCopier(w io.Writer, mine *turn) *copier {
	return &copier{w: w, turn: mine, started: time.Now(), buffer: pieces.Get().(*[]byte)}
}

func (c *copier) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && c.err == nil {
		k := min(len(b), pieceSize-len(*c.buffer))
		*c.buffer = append(*c.buffer, b[:k]...)
		if b = b[k:]; len(*c.buffer) == pieceSize {
			c.piece()
		}
	}
	return n, c.err
}

func (c *copier) piece() {
	if time.Since(c.started) > grace+time.Duration(c.sent)*time.Second/leastRate {
		c.err = errSlowReader
		return
	}
	c.turn.piece(func() { _, c.err = c.w.Write(*c.buffer) })
	c.sent += len(*c.buffer)
	*c.buffer = (*c.buffer)[:0]
}

// flush writes what is left.
func (c *copier) flush() {
	if len(*c.buffer) > 0 && c.err == nil {
		c.piece()
	}
	*c.buffer = (*c.buffer)[:0]
	pieces.Put(c.buffer)
}

// isCallback reports whether name is a path of JavaScript identifiers, such as
// "angular.callbacks._0". The name comes back in a script: nothing else may.
func isCallback(name string) bool { return len(name) <= 256 && callbackName.MatchString(name) }

var callbackName = regexp.MustCompile(`^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*|\[\d+\])*$`)

func registryBody(p *page, s *master.State, _ *question) error {
	w := bytes.NewBuffer(p.b)
	err := mesosjson.Write(w, s.Registry)
	p.b = w.Bytes()
	return err
}
