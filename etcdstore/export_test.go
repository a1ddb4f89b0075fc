package etcdstore

import "context"

// LookAtSpace looks how full etcd is now, and not in a few seconds.
func (s *Store) LookAtSpace(ctx context.Context) { s.space.look(ctx) }

// SettleSpace decides as if etcd had said this.
func (s *Store) SettleSpace(size, quota uint64, alarm bool) { s.space.settle(size, quota, alarm) }
