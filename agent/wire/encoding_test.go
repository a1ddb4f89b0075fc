package wire_test

import (
	"testing"

	"github.com/eaba02dc/registrar/agent/wire"
)

func TestContentTypesNameEncodings(t *testing.T) {
	for header, want := range map[string]any{
		"application/json":                  wire.JSON,
		"application/json; charset=utf-8":   wire.JSON,
		"Application/JSON":                  wire.JSON,
		"application/msgpack":               wire.Msgpack,
		"":                                  nil,
		"text/plain":                        nil,
		"application/x-protobuf":            nil,
		"application/json; charset":         nil,
		"application/json,application/json": nil,
	} {
		if e, ok := wire.ParseContentType(header); ok != (want != nil) || ok && e != want {
			t.Errorf("%q is %v, %v, want %v", header, e, ok, want)
		}
	}
}

func TestTheEncodingLikedBestIsChosen(t *testing.T) {
	for _, c := range []struct {
		accept string
		asked  wire.Encoding
		want   any
	}{
		{"", wire.JSON, wire.JSON},
		{" ", wire.Msgpack, wire.Msgpack},
		{"*/*", wire.JSON, wire.JSON},
		{"*/*", wire.Msgpack, wire.Msgpack},
		{"application/*", wire.Msgpack, wire.Msgpack},
		{"application/json", wire.Msgpack, wire.JSON},
		{"application/msgpack", wire.JSON, wire.Msgpack},
		{"application/json, application/msgpack", wire.Msgpack, wire.Msgpack},
		{"application/json;q=0.5, application/msgpack;q=0.6", wire.JSON, wire.Msgpack},
		{"application/json;q=0.5, */*", wire.JSON, wire.Msgpack},
		{"application/msgpack;q=0, */*", wire.Msgpack, wire.JSON},
		{"*/*, application/msgpack;q=0", wire.Msgpack, wire.JSON},
		{"application/*;q=0.1, */*;q=0.9, application/json;q=0.2", wire.Msgpack, wire.JSON},
		{"text/html, application/json", wire.Msgpack, wire.JSON},
		{"text/html", wire.JSON, nil},
		{"*/*;q=0", wire.JSON, nil},
		{"application/json;q=2", wire.JSON, nil},
		{"application/json;q=NaN", wire.JSON, nil},
		{";;;, application/json", wire.Msgpack, wire.JSON},
	} {
		if e, ok := wire.Negotiate(c.accept, c.asked); ok != (c.want != nil) || ok && e != c.want {
			t.Errorf("%q, asked in %v: %v, %v, want %v", c.accept, c.asked, e, ok, c.want)
		}
	}
}
