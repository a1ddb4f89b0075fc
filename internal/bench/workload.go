package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// workload makes the operations of a round: the agents of Mesos's
// Registrar_BENCHMARK_Test, in an order that is shuffled between phases.
//
// Every operation gets copies of its own of every string. If operations shared
// them with each other or with the registry, comparing would be comparing
// pointers, and an unchanged readmission would look twice as cheap as it is.
// The workload keeps nothing of an operation, so that the heap measured after
// a phase is the engine's.
type workload struct {
	order   []int32 // the agents 0…n-1
	rng     *rand.Rand
	padding string // the payload of each agent
}

// newWorkload makes agents that take agentBytes each in the log, or as few as
// they can if that is more.
func newWorkload(agents, agentBytes int, seed uint64) (*workload, error) {
	w := &workload{order: make([]int32, agents), rng: rand.New(rand.NewPCG(seed, 0))}
	for i := range w.order {
		w.order[i] = int32(i)
	}
	bare, err := w.encodedLen()
	if err != nil {
		return nil, err
	}
	if agentBytes > bare {
		w.padding = strings.Repeat("p", agentBytes-bare)
		padded, err := w.encodedLen() // a payload also needs its length written
		if err != nil {
			return nil, err
		}
		w.padding = w.padding[:max(0, len(w.padding)-(padded-agentBytes))]
	}
	return w, nil
}

// encodedLen is what admitting one agent adds to the log.
func (w *workload) encodedLen() (int, error) {
	d := registry.New().Draft()
	if err := d.PutAgent(w.agent(0, 0), registry.Status{State: registry.Admitted}); err != nil {
		return 0, fmt.Errorf("encode an agent of the benchmark: %w", err)
	}
	return len(d.Rows()), nil
}

func (w *workload) shuffle() {
	w.rng.Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
}

// operations makes one operation for each agent, in the present order.
func (w *workload) operations(operation func(w *workload, i int) ops.Operation) []ops.Operation {
	all := make([]ops.Operation, len(w.order))
	for at, i := range w.order {
		all[at] = operation(w, int(i))
	}
	return all
}

// id is 40-odd characters, like the IDs that a Mesos master gives.
func (w *workload) id(i int) registry.AgentID {
	return registry.AgentID("7f9c24e8-3b12-4fef-91e0-5ad1c6b8f6e5-S" + strconv.Itoa(i))
}

// agent is the agent i after as many upgrades as generation says, each of
// which gives it a new attribute value.
func (w *workload) agent(i, generation int) registry.Agent {
	baz := strings.Clone("quux")
	if generation > 0 {
		baz = fmt.Sprintf("q%03d", generation%1000) // as long as the first
	}
	a := registry.Agent{
		ID:       w.id(i),
		Hostname: strings.Clone("localhost"),
		Resources: []registry.Resource{
			{Name: strings.Clone("cpus"), Value: registry.Scalar(1)},
			{Name: strings.Clone("mem"), Value: registry.Scalar(512)},
			{Name: strings.Clone("disk"), Value: registry.Scalar(2048)},
		},
		Attributes: []registry.Attribute{
			{Name: strings.Clone("foo"), Value: registry.Text(strings.Clone("bar"))},
			{Name: strings.Clone("baz"), Value: registry.Text(baz)},
		},
	}
	if w.padding != "" {
		a.Payload = []byte(w.padding)
	}
	return a
}

// lost is when the agents became unreachable. The time is data to the engine.
var lost = time.Unix(1_400_000_000, 0)

// storm is a phase in which one operation for each agent is submitted at once.
type storm struct {
	phase     string
	operation func(w *workload, i int) ops.Operation
	changes   bool // every operation changes the registry; otherwise none does
	leaves    registry.State
}

// The storms before the engine is killed and recovers, and the one after.
// Leaves is the state in which all agents end up; 0 is unknown.
var (
	stormsBefore = []storm{
		{"admit", func(w *workload, i int) ops.Operation { return ops.Admit{Agent: w.agent(i, 0)} }, true, registry.Admitted},
		{"readmit", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 0)} }, false, registry.Admitted},
		{"readmit_changed", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 1)} }, true, registry.Admitted},
		{"unreachable", func(w *workload, i int) ops.Operation { return ops.MarkUnreachable{ID: w.id(i), At: lost} }, true, registry.Unreachable},
		{"reachable", func(w *workload, i int) ops.Operation { return ops.Readmit{Agent: w.agent(i, 1)} }, true, registry.Admitted},
	}
	removal = storm{"remove", func(w *workload, i int) ops.Operation { return ops.Remove{ID: w.id(i)} }, true, 0}
)
