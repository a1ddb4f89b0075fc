package httpapi

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/master"
)

// body appends the answer to a query about a state.
type body func(b []byte, s *master.State, query url.Values) ([]byte, error)

// json answers with a body, for a browser's script tag if it asks for that.
func (a *api) json(body body) http.Handler {
	return compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		callback, contentType := "", "application/json"
		if query.Has("jsonp") {
			callback, contentType = query.Get("jsonp"), "text/javascript"
			if !isCallback(callback) {
				fail(w, http.StatusBadRequest, "jsonp is not the name of a JavaScript function.")
				return
			}
		}
		b, err := wrapped(callback, func(b []byte) ([]byte, error) { return body(b, a.source.State(), query) })
		if err != nil {
			a.log.Error("cannot answer", "path", r.URL.Path, "err", err)
			fail(w, http.StatusInternalServerError, "500 Internal Server Error.")
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b)
	}))
}

// wrapped is what one makes, as the argument of a call if a callback is named.
func wrapped(callback string, one func([]byte) ([]byte, error)) ([]byte, error) {
	if callback == "" {
		return one(nil)
	}
	b, err := one(append([]byte(callback), '('))
	return append(b, ')'), err
}

// isCallback reports whether name is a path of JavaScript identifiers, such as
// "angular.callbacks._0". The name comes back in a script: nothing else may.
func isCallback(name string) bool { return len(name) <= 256 && callbackName.MatchString(name) }

var callbackName = regexp.MustCompile(`^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*|\[\d+\])*$`)

// compressed is h with answers of 1,024 bytes and more in gzip, for those who
// accept it, as a Mesos master does it. A state is text that repeats itself: the
// fastest level makes it ten times smaller, the others hardly more.
func compressed(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic("httpapi: " + err.Error()) // of our own options
	}
	return wrap(h)
}

func registryBody(b []byte, s *master.State, _ url.Values) ([]byte, error) {
	w := bytes.NewBuffer(b)
	err := mesosjson.Write(w, s.Registry)
	return w.Bytes(), err
}
