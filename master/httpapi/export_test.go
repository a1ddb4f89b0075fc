package httpapi

import (
	"context"
	"time"
)

// What tests of the gate look at and hold up.
var (
	ParseCredentials = parseCredentials
	ViewOf           = viewOf
)

// Compare replaces how passwords are compared with hashes.
func (g *Gate) Compare(f func(hash, password []byte) error) { g.passwords.compare = f }

// WithView is the context of a request of somebody with a view.
func WithView(ctx context.Context, v View) context.Context { return withCaller(ctx, caller{view: v}) }

// SendTimeout sets how long a client may take for a piece of an answer.
func (h *Handler) SendTimeout(d time.Duration) { h.api.sendTimeout = d }
