// Package backup keeps a registry in one self-contained file.
//
//	image, err := registrar.LoadImage(ctx, s) // from any store; or r.Image(), while it runs
//	…
//	summary, err := backup.Write(file, image, time.Now())
//
// A backup holds the registry and the requests that are remembered with it, as a
// checkpoint does, and not the log of how it came about. Every byte of it counts:
// [Read] finds any that was changed, is missing or was added, and proves that
// what is there amounts to the registry that was written. It takes no more memory
// than a small multiple of what the file's chunks hold, and they at most 128 times
// the file.
//
//	b, err := backup.Read(ctx, file)
//	…
//	l, err := wal.CreateAt(ctx, dir, wal.Options{}, b.Begin(time.Now()), b.Image.Chunks())
//	r, err := registrar.Open(ctx, l, registrar.Options{})
//
// A store that is made so has a history of its own, and goes on at a revision that
// nothing was ever given (see [Backup.Begin]): whoever follows the original
// notices, and a condition on a revision of the original never holds for another
// change.
package backup
