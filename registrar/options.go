package registrar

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// Options tunes a registrar. The zero value is ready for production.
type Options struct {
	// MaxBatch is the most operations made durable by one record; 0 means
	// 4096. A larger batch raises throughput and the latency of its first
	// operation.
	MaxBatch int
	// MaxBatchBytes ends a batch once its changes take this much, encoded; 0
	// means 192 KiB, and 32 MiB is the most. One operation may exceed it
	// alone, up to 32 MiB as well.
	MaxBatchBytes int
	// MaxQueue is the most operations that may wait for a batch; 0 means
	// 131,072. One more is refused with [ErrOverloaded].
	MaxQueue int
	// MaxQueueBytes bounds what the waiting operations hold in memory,
	// roughly; 0 means 256 MiB.
	MaxQueueBytes int64
	// InFlight is how many records may be on their way to the disk while the
	// next is decided; 0 means 4. More does not help: the disk is one.
	InFlight int
	// CheckpointBytes is the least the log must have grown since the last
	// checkpoint before the next is written; 0 means 2 MiB. It must also have
	// outgrown that checkpoint. Less means a faster recovery and more writing.
	CheckpointBytes int64
	// Master, if not nil, is written down as who leads, in the one record
	// that every opening writes. Tools leave it nil.
	Master *registry.Master
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
	// Now stamps the records; nil means [time.Now]. The stamp is for people;
	// nothing is decided by it.
	Now func() time.Time
}

func (o Options) validate() error {
	for _, f := range [...]struct {
		name  string
		value int64
	}{
		{"MaxBatch", int64(o.MaxBatch)}, {"MaxBatchBytes", int64(o.MaxBatchBytes)}, {"MaxQueue", int64(o.MaxQueue)},
		{"MaxQueueBytes", o.MaxQueueBytes}, {"InFlight", int64(o.InFlight)}, {"CheckpointBytes", o.CheckpointBytes},
	} {
		if f.value < 0 {
			return &registry.FieldError{Field: "options." + f.name, Reason: fmt.Sprintf("%d is negative; 0 means the default", f.value)}
		}
	}
	if o.MaxBatchBytes > maxOperation {
		return &registry.FieldError{Field: "options.MaxBatchBytes", Reason: fmt.Sprintf("%d is above %d", o.MaxBatchBytes, maxOperation)}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.MaxBatch = cmp.Or(o.MaxBatch, 4096)
	o.MaxBatchBytes = cmp.Or(o.MaxBatchBytes, 192<<10)
	o.MaxQueue = cmp.Or(o.MaxQueue, 1<<17)
	o.MaxQueueBytes = cmp.Or(o.MaxQueueBytes, 256<<20)
	o.InFlight = cmp.Or(o.InFlight, 4)
	o.CheckpointBytes = cmp.Or(o.CheckpointBytes, 2<<20)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
