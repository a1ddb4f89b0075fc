package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eaba02dc/registrar/registrar/store"
)

// Why a registry in etcd was not opened or made; test with [errors.Is]. Nothing
// was written then.
var (
	// ErrNotExist: there is no registry below the prefix.
	ErrNotExist = errors.New("there is no registry here")
	// ErrExist: there is one already.
	ErrExist = errors.New("a registry is already here")
	// ErrForeign: there are keys below the prefix, but no registry.
	ErrForeign = errors.New("this is not a registry")
	// ErrLed: another process leads, and only who leads may write.
	ErrLed = errors.New("another process leads")
	// ErrVersion: the registry was written in a newer format than this program
	// reads. It is not damaged: use a newer program.
	ErrVersion = errors.New("the registry has a newer format than this program reads")
)

// ErrLeadershipOver says that this process leads no more: its lease ended, or
// etcd did not confirm it for as long as the lease lasts.
var ErrLeadershipOver = errors.New("the leadership is over")

// CorruptError says that a value in etcd is not what was once written, or that a
// key is missing.
type CorruptError struct {
	Key string // whole, with the prefix
	Err error  // what is wrong with it
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("etcd key %s is damaged: %v; restore a backup", e.Key, e.Err)
}

// Unwrap is what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

var errMissing = errors.New("it is not there")

// answered tells what etcd said of a transaction that it did not carry out: an
// error of the request, which will not get better, or a lack of room. Anything
// else leaves open what becomes of the request.
func answered(err error) bool {
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return true
	}
	code := status.Code(err)
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		code = e.Code()
	}
	switch code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
		return true
	}
	return false
}

// explain puts what etcd says in our words, where we have some.
func explain(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%w: %w: compact and defragment etcd, or raise --quota-backend-bytes, then disarm the alarm (etcdctl alarm disarm)", store.ErrDiskFull, err)
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: etcd must take requests of 1.5 MiB, as it does by default (--max-request-bytes)", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("etcd did not answer in time: %w", err)
	}
	return err
}
