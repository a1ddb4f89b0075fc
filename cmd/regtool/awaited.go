package main

import (
	"context"
	"io"
)

// awaited hands on what comes from a place where one may wait for it for ever: a
// pipe, a terminal, a file that is one of these. It ends with ctx even then; what
// still waits is left to the end of the process.
func awaited(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		from, err := open()
		if err == nil {
			_, err = io.Copy(in, from)
			from.Close()
		}
		in.CloseWithError(err)
	}()
	return out
}
