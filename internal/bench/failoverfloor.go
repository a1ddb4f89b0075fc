package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eaba02dc/registrar/agent/wire"
)

// RunFailoverFloor is the process that stands for the least a master could do
// with an agent that comes back: a bare handler that decodes one record and
// answers with one, and then holds the stream open. It writes its address to
// stdout, and serves until stdin ends; lines on stdin are those of [ServeMeter].
func RunFailoverFloor(stdin io.Reader, stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := http.Server{Handler: http.HandlerFunc(floorHandler)}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	if _, err := fmt.Fprintln(stdout, l.Addr()); err != nil {
		return err
	}
	return errors.Join(ServeMeter(stdin, stdout), s.Close(), ended(<-served))
}

func floorHandler(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	encoding, _ := wire.ParseContentType(r.Header.Get("Content-Type"))
	record, err := wire.NewReader(r.Body, math.MaxInt).Next()
	if err == nil {
		_, err = wire.DecodeCall(encoding, record)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if wire.NewWriter(w).Event(encoding, &wire.Ack{Sequence: 1}) != nil || http.NewResponseController(w).Flush() != nil {
		return
	}
	for buf := [1]byte{}; err == nil; {
		_, err = r.Body.Read(buf[:])
	}
}

func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// floor is how long a process at address takes to answer every agent's first
// record, all sent at once over connections of their own.
func (f fleet) floor(ctx context.Context, address string, encoding wire.Encoding, bodies [][]byte) (time.Duration, error) {
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for _, body := range bodies {
		g.Go(func() error { return askFloor(ctx, address, encoding, body) })
	}
	err := g.Wait()
	return time.Since(start), err
}

func askFloor(ctx context.Context, address string, encoding wire.Encoding, body []byte) error {
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	return say(c, address, encoding, body)
}

// holdFloor keeps its stream until ctx ends.
func holdFloor(ctx context.Context, address string, body []byte, answered chan<- struct{}) error {
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := say(c, address, wire.JSON, body); err != nil {
		return err
	}
	answered <- struct{}{}
	<-ctx.Done()
	return nil
}

// say sends a first record, and reads the answer to it.
func say(c net.Conn, address string, encoding wire.Encoding, body []byte) error {
	head := fmt.Sprintf("POST /api/v1/agent HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n",
		address, encoding.ContentType(), len(body))
	if _, err := (&net.Buffers{[]byte(head), body, []byte("\r\n")}).WriteTo(c); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(c, 1024), nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
		return fmt.Errorf("the bare handler answered %s: %s", answer.Status, strings.TrimSpace(string(why)))
	}
	_, err = wire.NewReader(answer.Body, math.MaxInt).Next()
	return err
}
