// Package registrar is the engine: it makes a registry durable, one batch of
// operations at a time, and answers every caller only then.
//
//	log, err := wal.Open(dir, wal.Options{})
//	…
//	r, err := registrar.Open(ctx, log, registrar.Options{})
//	…
//	defer r.Close()
//	result, err := r.Apply(ctx, ops.Admit{Agent: agent})
//	snapshot := r.Snapshot() // immutable; holds the agent
//
// A [Registrar] has one writer. It gathers the operations that wait, decides
// them one after another on a copy-on-write draft, appends what changed to the
// [store.Store] as one record, and goes on with the next batch while that one
// becomes durable. Once it is, its registry is published and its callers are
// answered: durable before visible, visible before told.
//
// An operation has one of three outcomes:
//
//   - nil error: applied, or nothing to change. Durable either way;
//   - [ErrNotApplied], or a refusal such as [*ops.Error]: surely not applied;
//   - [ErrUnknown]: the store failed, or the caller stopped waiting, when the
//     operation was already in a batch.
//
// A caller that is left with the last sends its operation again as a [Request]
// with an ID: of all with one ID the first is decided, and the others get its
// answer, also after a crash.
//
// Records stay readable for a while after a checkpoint has made them
// dispensable. [Log] tells what each operation changed, when, by whom and why;
// [LoadAt] builds the registry as it was; [Registrar.Watch] follows it.
//
// The first failure of the store ends the engine: everything later is refused
// with [ErrFailed] until the store is opened afresh. Readers go on with the
// last durable snapshot.
package registrar
