// Package etcdstore is a [store.Store] on etcd v3, for a registry that one
// machine is not enough for: several masters, of which one leads.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//	…
//	lead, err := etcdstore.Campaign(ctx, client, "/registrar/", etcdstore.Candidate{Name: "master-1"})
//	…
//	s, err := etcdstore.Open(ctx, client, etcdstore.Options{Prefix: "/registrar/", Leadership: lead})
//	…
//	r, err := registrar.Open(ctx, s, registrar.Options{})
//
// Only the leader writes. Each write is one transaction of etcd's that compares
// two things: that the key with which this process won its election is still
// there (by its create revision, which no other key ever has), and that the last
// record is the one that this process wrote before. So a leader that was stopped,
// cut off or replaced cannot write any more, whatever it believes; its writes end
// with [store.ErrFenced], and so does its registrar. Close gives the leadership
// back.
//
// A request that etcd does not answer is sent again until etcd says what became of
// it: the transaction can happen only once. The outcome is unknown only if no
// member of etcd answers for Options.Timeout.
//
// What etcd does wrong as a whole, a restored snapshot above all, no client can
// see: the registrar proves what it recovers by its count and digest, and a
// follower that is ahead of what it finds says so.
package etcdstore
