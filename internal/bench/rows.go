package bench

import (
	"math"
	"runtime"
)

// Report is what a benchmark found, in the form of its JSON.
type Report struct {
	Benchmark string `json:"benchmark"`
	Host      Host   `json:"host"`
	Params    Params `json:"params"`
	Results   []Row  `json:"results"`
}

// Host is where it ran.
type Host struct {
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	OS   string `json:"os"` // "linux/amd64"
}

func thisHost() Host {
	return Host{CPUs: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH}
}

// Params is how it was called.
type Params struct {
	Agents     []int `json:"agents"`
	Rounds     int   `json:"rounds"` // that counted; one more ran before them
	AgentBytes int   `json:"agent_bytes"`
	// LoopAdmits is the most Admits of one client in closed_loop.
	LoopAdmits int `json:"closed_loop_admits,omitzero"`
	// Etcd are the members of the etcd that was measured in place of a disk.
	Etcd []string `json:"etcd,omitempty"`
}

// Row is one phase at one number of agents: medians over the rounds. Seconds
// and bytes are plain numbers. What was not measured for a phase, and a ratio
// that would be undefined, is left out.
type Row struct {
	Phase        string  `json:"phase"`
	Agents       int     `json:"agents"`
	Clients      int     `json:"clients,omitzero"` // closed_loop
	Seconds      float64 `json:"seconds"`
	OpsPerSecond float64 `json:"ops_per_second"`
	// Batches and Bytes are what the engine wrote: records and the bytes in
	// them. For recovery they are what was read back: the records after the
	// checkpoint, and the live bytes that the floor reads too.
	Batches uint64 `json:"batches"`
	Bytes   uint64 `json:"bytes"`

	FloorSeconds  float64 `json:"floor_seconds,omitzero"`
	RatioToFloor  float64 `json:"ratio_to_floor,omitzero"`
	PebbleSeconds float64 `json:"pebble_seconds,omitzero"`
	RatioToPebble float64 `json:"ratio_to_pebble,omitzero"`

	// On etcd: the same bytes in puts of 1 MiB, and one put for each agent, by 64
	// clients.
	EtcdBulkSeconds   float64 `json:"etcd_bulk_seconds,omitzero"`
	RatioToEtcdBulk   float64 `json:"ratio_to_etcd_bulk,omitzero"`
	EtcdPutSeconds    float64 `json:"etcd_put_seconds,omitzero"`
	FasterThanEtcdPut float64 `json:"faster_than_etcd_put,omitzero"`

	P50      float64 `json:"p50_seconds,omitzero"` // closed_loop: one Admit
	P99      float64 `json:"p99_seconds,omitzero"`
	FsyncP50 float64 `json:"fsync_p50_seconds,omitzero"` // one raw append and fdatasync

	CPUMicrosPerOp float64 `json:"cpu_us_per_op"`
	HeapBytes      uint64  `json:"heap_bytes"`

	Published float64 `json:"published_seconds,omitzero"`
	Mesos112  float64 `json:"mesos112_seconds,omitzero"`
}

// sample is one phase of one repetition. Times are in seconds; 0 is not measured.
type sample struct {
	phase             string
	clients           int
	ops               int
	seconds, cpu      float64
	batches, bytes    uint64
	heap              uint64
	floor, pebble     float64
	p50, p99, fsync50 float64
	bulk, put         float64
}

// rows makes one row of each phase. Each round has the same phases in the same
// order. A ratio is the median of the rounds' ratios, not the ratio of the
// medians: what was slow in one round was slow for both.
func rows(agents int, rounds [][]sample) []Row {
	var out []Row
	for at := range rounds[0] {
		phase := make([]sample, len(rounds))
		for i, round := range rounds {
			phase[i] = round[at]
		}
		out = append(out, row(agents, phase))
	}
	return out
}

func row(agents int, rounds []sample) Row {
	of := func(f func(s sample) float64) float64 {
		var all []float64
		for _, s := range rounds {
			all = append(all, f(s))
		}
		return median(all)
	}
	count := func(f func(s sample) uint64) uint64 {
		return uint64(math.Round(of(func(s sample) float64 { return float64(f(s)) })))
	}
	phase := rounds[0].phase
	return Row{
		Phase: phase, Agents: agents, Clients: rounds[0].clients,
		Seconds:           of(func(s sample) float64 { return s.seconds }),
		OpsPerSecond:      of(func(s sample) float64 { return ratio(float64(s.ops), s.seconds) }),
		Batches:           count(func(s sample) uint64 { return s.batches }),
		Bytes:             count(func(s sample) uint64 { return s.bytes }),
		FloorSeconds:      of(func(s sample) float64 { return s.floor }),
		RatioToFloor:      of(func(s sample) float64 { return ratio(s.seconds, s.floor) }),
		PebbleSeconds:     of(func(s sample) float64 { return s.pebble }),
		RatioToPebble:     of(func(s sample) float64 { return ratio(s.seconds, s.pebble) }),
		EtcdBulkSeconds:   of(func(s sample) float64 { return s.bulk }),
		RatioToEtcdBulk:   of(func(s sample) float64 { return ratio(s.seconds, s.bulk) }),
		EtcdPutSeconds:    of(func(s sample) float64 { return s.put }),
		FasterThanEtcdPut: of(func(s sample) float64 { return ratio(s.put, s.seconds) }),
		P50:               of(func(s sample) float64 { return s.p50 }),
		P99:               of(func(s sample) float64 { return s.p99 }),
		FsyncP50:          of(func(s sample) float64 { return s.fsync50 }),
		CPUMicrosPerOp:    of(func(s sample) float64 { return 1e6 * ratio(s.cpu, float64(s.ops)) }),
		HeapBytes:         count(func(s sample) uint64 { return s.heap }),
		Published:         published.seconds(agents, phase),
		Mesos112:          mesos112.seconds(agents, phase),
	}
}
