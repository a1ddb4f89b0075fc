package bench

// history is what other systems took for the same work, in seconds, by number
// of agents and phase. It stands beside our figures; the machines differ.
type history map[int]map[string]float64

func (h history) seconds(agents int, phase string) float64 { return h[agents][phase] }

// published are the figures of MESOS-764 (2014; 12 cores of 2.4 GHz). Its
// readmit wrote every agent, so the figure stands beside both of ours; so does
// recover, for which it made no difference how the process had ended.
var published = history{
	10_000: {
		"admit": 10.04, "readmit": 9.83, "readmit_changed": 9.83,
		"recover": 0.0227, "recover_clean": 0.0227, "remove": 3.58,
	},
}

// mesos112 is Mesos 1.12-dev (c1b42f79d), its Registrar_BENCHMARK_Test on two
// quiet cores with a median fdatasync of 0.16 ms.
var mesos112 = history{
	10_000: {
		"admit": 0.254, "readmit": 0.280, "readmit_changed": 0.280,
		"unreachable": 0.626, "reachable": 0.372,
		"recover": 0.132, "recover_clean": 0.132, "remove": 0.411,
	},
	50_000: {
		"admit": 1.152, "readmit": 1.379, "readmit_changed": 1.379,
		"unreachable": 14.100, "reachable": 7.059,
		"recover": 0.566, "recover_clean": 0.566, "remove": 11.828,
	},
}

// MESOS-2182 (2014), before its change and after, by pairs of linker and
// linkee: 10,000 processes without links are started, exit and are waited for.
var (
	linksBefore    = history{5000: {"exits": 11.6}, 20_000: {"exits": 54}}
	linksPublished = history{5000: {"exits": 0.50}, 20_000: {"exits": 0.68}}
)

// linksMesos112 is the same benchmark of Mesos 1.12-dev (c1b42f79d) on two cores.
var linksMesos112 = history{5000: {"exits": 0.10}, 20_000: {"exits": 0.24}}

// statePublished is Mesos's MasterStateQuery_BENCHMARK_Test.GetState as it was
// published, without batching, by agents: 5 frameworks on each, with 2 tasks that
// run and 2 that have ended.
var statePublished = history{
	1000: {"v0": 0.146}, 10_000: {"v0": 1.795}, 20_000: {"v0": 3.742}, 40_000: {"v0": 10.95},
}

// stateMesos112 is the same of Mesos 1.12-dev (c1b42f79d) on two cores.
var stateMesos112 = history{
	1000: {"v0": 0.154}, 10_000: {"v0": 1.60}, 20_000: {"v0": 3.06}, 40_000: {"v0": 8.3},
}

// loadPublished is review r/68132 with batching, its second setup.
var loadPublished = map[string]struct{ p50, max float64 }{
	"/flags": {0.831, 2.444},
	"/state": {4.253, 4.934},
}

// metricsPublished is review r/67871 (2018), by frameworks.
var metricsPublished = history{
	105:    {"v0": 0.105, "v1_protobuf": 0.074, "v1_json": 0.100},
	1005:   {"v0": 0.921, "v1_protobuf": 0.780, "v1_json": 1.169},
	10_005: {"v0": 10.24, "v1_protobuf": 9.41, "v1_json": 10.58},
	20_005: {"v0": 19.93, "v1_protobuf": 20.32, "v1_json": 22.85},
}

// podsPublished are the requests a second of Marathon with #6786 (2019), by pods.
// Before it they were 74.26. The machine is not told of.
var podsPublished = map[int]float64{100: 161.10}
