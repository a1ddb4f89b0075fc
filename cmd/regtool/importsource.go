package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Bounds on where an import comes from.
const (
	maxImport    = 4 << 30          // bytes of JSON, unpacked
	maxConnect   = 10 * time.Second // to reach a master
	maxAnswer    = time.Minute      // until it begins to answer
	maxSilence   = time.Minute      // between two pieces of its answer
	maxErrorBody = 200              // bytes of an error's text that are shown
)

// source is where an import comes from.
type source struct {
	// name is for people and for the log: without user, password and query of
	// a URL, which may be secret.
	name string
	open func(ctx context.Context) (io.ReadCloser, error)
}

// sourceOf reads the command's argument: a URL, "-", or a file.
func sourceOf(arg string, stdin io.Reader) (source, error) {
	lower := strings.ToLower(arg)
	switch {
	case arg == "-":
		return source{"standard input", awaits(func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })}, nil
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		u, err := url.Parse(arg)
		if err != nil {
			var in *url.Error
			if errors.As(err, &in) {
				err = in.Err
			}
			return source{}, usagef("%q is no URL: %w", arg, err)
		}
		shown := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		return source{shown.String(), func(ctx context.Context) (io.ReadCloser, error) { return fetch(ctx, u) }}, nil
	}
	if scheme, _, ok := strings.Cut(lower, "://"); ok && scheme != "" && !strings.Contains(scheme, "/") {
		return source{}, usagef("%q: import reads http:// and https://, files, and standard input", arg)
	}
	return source{arg, awaits(func() (io.ReadCloser, error) { return os.Open(arg) })}, nil
}

func awaits(open func() (io.ReadCloser, error)) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) { return awaited(ctx, open), nil }
}

// fetch asks a master. Its redirect to the leading master is followed.
func fetch(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: maxConnect}).DialContext,
		TLSHandshakeTimeout:   maxConnect,
		ResponseHeaderTimeout: maxAnswer,
		DisableKeepAlives:     true,
	}
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	ctx, cancel := context.WithCancelCause(ctx)
	answer, err := (&http.Client{Transport: transport}).Do(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := newImpatient(answer.Body, ctx, cancel)
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		return nil, errors.Join(fmt.Errorf("the master answers %s: %s", answer.Status, strings.TrimSpace(string(text))), body.Close())
	}
	return body, nil
}

// impatient gives up when nothing comes for maxSilence; the answer as a whole
// may take as long as it takes.
type impatient struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// newImpatient gives up by calling cancel, which ends ctx and with it the
// request that body belongs to.
func newImpatient(body io.ReadCloser, ctx context.Context, cancel context.CancelCauseFunc) *impatient {
	timer := time.AfterFunc(maxSilence, func() { cancel(fmt.Errorf("nothing came for %v", maxSilence)) })
	return &impatient{body, ctx, cancel, timer}
}

func (i *impatient) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	i.timer.Reset(maxSilence)
	if err != nil && err != io.EOF && i.ctx.Err() != nil {
		err = context.Cause(i.ctx)
	}
	return n, err
}

func (i *impatient) Close() error {
	i.timer.Stop()
	defer i.cancel(nil)
	return i.ReadCloser.Close()
}

// spool is a copy of the input, unpacked, that can be read more than once: all
// of it is looked at before the first write.
type spool struct {
	file  *os.File
	bytes int64
	show  showProgress
	bar   *progress
}

// newSpool copies what src holds into a temporary file, which has no name and
// so is gone with the process.
func newSpool(ctx context.Context, src source, show showProgress) (*spool, error) {
	file, err := os.CreateTemp("", "regtool-import-")
	if err != nil {
		return nil, err
	}
	s := &spool{file: file, show: show}
	if err := errors.Join(os.Remove(file.Name()), s.fill(ctx, src)); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", src.name, interrupted(ctx, err)), s.Close())
	}
	return s, nil
}

func (s *spool) fill(ctx context.Context, src source) (err error) {
	in, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	unpacked, err := unpack(in)
	if err != nil {
		return err
	}
	bar := s.show("receiving", -1)
	defer bar.Done()
	s.bytes, err = io.Copy(s.file, &watched{io.LimitReader(unpacked, maxImport+1), ctx, bar})
	if err == nil && s.bytes > maxImport {
		err = fmt.Errorf("is longer than %d GiB", maxImport>>30)
	}
	return err
}

// unpack undoes gzip, told by its first bytes. What a server packed for the
// transport alone, net/http has unpacked already.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" {
		return b, nil
	}
	return gzip.NewReader(b)
}

// reader starts over at the beginning. The reader before it is no longer valid.
func (s *spool) reader(ctx context.Context) (io.Reader, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	s.done()
	s.bar = s.show("reading", s.bytes)
	return &watched{bufio.NewReaderSize(s.file, 64<<10), ctx, s.bar}, nil
}

// isOwn reports whether the input is one of regtool's own forms, by how it
// begins.
func (s *spool) isOwn() bool {
	head := make([]byte, 64<<10)
	n, _ := s.file.ReadAt(head, 0)
	return ownOutput.Match(head[:n])
}

func (s *spool) done() {
	if s.bar != nil {
		s.bar.Done()
	}
}

// Close frees the space.
func (s *spool) Close() error {
	s.done()
	return s.file.Close()
}

// watched tells a progress bar what was read, and stops when ctx ends.
type watched struct {
	r   io.Reader
	ctx context.Context
	bar *progress
}

func (w *watched) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.r.Read(p)
	w.bar.Add(int64(n))
	return n, err
}
