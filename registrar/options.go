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
	// next is decided; 0 means 4, and 1024 is the most. More than a few do not
	// help: the disk is one.
	InFlight int
	// CheckpointBytes is the least the log must have grown since the last
	// checkpoint before the next is written; 0 means 2 MiB. It must also have
	// outgrown that checkpoint. Less means a faster recovery and more writing.
	CheckpointBytes int64
	// HistoryRecords, HistoryBytes and HistoryAge say how much of the log stays
	// readable ([Log], [LoadAt], [Registrar.Watch]): records are let go once
	// newer ones amount to any of the three; 0 means 131,072 records, 256 MiB
	// and 7 days. HistoryBytes counts the checkpoints between them too. It
	// happens when a checkpoint is written, and never costs what the newest two
	// need; so it may be more by what lies between two checkpoints. Age is told
	// by the monotonic clock, and what was found by Open counts from there: a
	// wall clock that is wrong lets go of nothing.
	HistoryRecords uint64
	HistoryBytes   int64
	HistoryAge     time.Duration
	// MaxRequests is how many of the latest requests with an ID are remembered
	// ([Request]); 0 means 65,536. Each takes its ID and about 200 bytes, and
	// up to 512 more if it was refused.
	MaxRequests int
	// SlowAfter is how long a batch may take, from its first operation to
	// durable, before it is logged as slow, once in ten seconds; 0 means 1 s. A
	// store that takes longer for a record makes [Registrar.Health] degraded for
	// a minute.
	SlowAfter time.Duration
	// HungAfter is how long the store may take for a record before the engine
	// stops: what is under way ends with [ErrUnknown], and nothing more is taken.
	// A disk that hangs returns no error, and whoever leads by the grace of a
	// lease would go on leading. 0 means 20 s, as long as Mesos waits for its
	// registry (--registry_store_timeout). The first record after an opening may
	// take thirty times as long.
	HungAfter time.Duration
	// Master, if not nil, is written down as who leads, in the one record
	// that every opening writes. Tools leave it nil.
	Master *registry.Master
	// Follower, if not nil, has read the registry from the same store while another
	// process wrote it: Open goes on from there. It follows no further then.
	Follower *Follower
	// Stored, if not nil, is told how long the store took for each record, once
	// it is durable and before anybody has an answer. It must not wait.
	Stored func(took time.Duration)
	// Logger receives what an operator should know; nil means [slog.Default].
	Logger *slog.Logger
	// Now stamps the records; nil means [time.Now]. The stamp is for people;
	// nothing is decided by it.
	Now func() time.Time
}

const maxInFlight = 1024

func (o Options) validate() error {
	for _, f := range [...]struct {
		name  string
		value int64
	}{
		{"MaxBatch", int64(o.MaxBatch)}, {"MaxBatchBytes", int64(o.MaxBatchBytes)}, {"MaxQueue", int64(o.MaxQueue)},
		{"MaxQueueBytes", o.MaxQueueBytes}, {"InFlight", int64(o.InFlight)}, {"CheckpointBytes", o.CheckpointBytes},
		{"HistoryBytes", o.HistoryBytes}, {"HistoryAge", int64(o.HistoryAge)}, {"MaxRequests", int64(o.MaxRequests)},
		{"SlowAfter", int64(o.SlowAfter)}, {"HungAfter", int64(o.HungAfter)},
	} {
		if f.value < 0 {
			return &registry.FieldError{Field: "options." + f.name, Reason: fmt.Sprintf("%d is negative; 0 means the default", f.value)}
		}
	}
	if o.InFlight > maxInFlight {
		return &registry.FieldError{Field: "options.InFlight", Reason: fmt.Sprintf("%d is above %d", o.InFlight, maxInFlight)}
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
	o.HistoryRecords = cmp.Or(o.HistoryRecords, 1<<17)
	o.HistoryBytes = cmp.Or(o.HistoryBytes, 256<<20)
	o.HistoryAge = cmp.Or(o.HistoryAge, 7*24*time.Hour)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1<<16)
	o.SlowAfter = cmp.Or(o.SlowAfter, time.Second)
	o.HungAfter = cmp.Or(o.HungAfter, 20*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
