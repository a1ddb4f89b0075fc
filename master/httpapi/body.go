package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// bounded hands requests on when their body is there. One that is too long, or
// takes too long to come, or ends early, goes no further: who sends it byte by
// byte keeps a connection, and nothing else.
func (o *Options) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		body, err := o.read(w, r)
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong):
			RefuseEarly(w, r, http.StatusRequestEntityTooLarge, fmt.Sprintf("a body may have %d bytes here", o.MaxBody))
		case errors.Is(err, os.ErrDeadlineExceeded):
			RefuseEarly(w, r, http.StatusRequestTimeout, "the body took too long to come")
		case err != nil:
			RefuseEarly(w, r, http.StatusBadRequest, "the body cannot be read: "+err.Error())
		default:
			r = r.WithContext(r.Context()) // a copy, for the body
			r.Body, r.ContentLength = bodyRead{bytes.NewReader(body)}, int64(len(body))
			h.ServeHTTP(w, r)
		}
	})
}

// bodyRead is the body of a request of which nothing is left on the connection.
type bodyRead struct{ io.Reader }

// Close implements [io.Closer].
func (bodyRead) Close() error { return nil }

func (o *Options) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > int64(o.MaxBody) {
		return nil, &http.MaxBytesError{Limit: int64(o.MaxBody)}
	}
	g := guestOf(r.Context())
	g.waits()
	defer g.works()
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(o.BodyTimeout))
	defer control.SetReadDeadline(time.Time{})
	return io.ReadAll(http.MaxBytesReader(w, r.Body, int64(o.MaxBody)))
}
