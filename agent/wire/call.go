package wire

import "github.com/eaba02dc/registrar/registry"

// Call is what an agent sends up: [*Subscribe], [*Update], [*Unregister],
// [*Heartbeat], or [*Unknown].
//
// A call that changes something has a sequence number: 1 for the first of a
// stream, and more from call to call. The master names it in an [Ack] when what
// it changed can be seen.
type Call interface{ isCall() }

// Subscribe opens the stream: who the agent is, and what runs on it.
type Subscribe struct {
	Sequence uint64
	// Agent is what the agent says of itself. Its ID may be empty: the master
	// then finds one. It is decoded, but not validated as the registry does.
	Agent        registry.Agent
	Version      string
	Capabilities []string // as in "AGENT_DRAINING"
	// Supersedes is the incarnation that this one takes the place of, and the
	// agent's right to the ID of another machine; empty means none.
	Supersedes string

	// AgentID is set when the agent comes back: the ID it had. What follows is
	// what it has run and knows of.
	AgentID             registry.AgentID
	Frameworks          []FrameworkInfo
	Tasks               []Task
	Executors           []ExecutorInfo
	CompletedFrameworks []CompletedFramework
	CompletedTasks      []Task // of Frameworks
}

// Update is what has changed on the agent since it subscribed.
type Update struct {
	Sequence         uint64
	Tasks            []Task // new or changed, whole
	RemovedTasks     []TaskRef
	Frameworks       []FrameworkInfo // new or changed
	Executors        []ExecutorInfo  // new or changed
	RemovedExecutors []ExecutorRef
	// Resources are all that the agent has now; nil means as before, which is
	// not the same as none.
	Resources []registry.Resource
}

// Unregister says that the agent goes, and does not come back.
type Unregister struct{ Sequence uint64 }

// Heartbeat, up or down, says that the sender is alive, as any record does.
type Heartbeat struct{}

// Unknown is a record of a type that this package does not know: somebody newer
// sent it. It changes nothing.
type Unknown struct {
	Type     string
	Sequence uint64 // 0 if it had none
}

func (*Subscribe) isCall()  {}
func (*Update) isCall()     {}
func (*Unregister) isCall() {}
func (*Heartbeat) isCall()  {}
func (*Unknown) isCall()    {}

var calls = records[Call]{
	recordOf[Call]("SUBSCRIBE",
		must("sequence", bounded(whole[uint64](), wrongFirst), func(c *Subscribe) *uint64 { return &c.Sequence }),
		must("subscribe", object(
			must("agent_info", agent, func(c *Subscribe) *registry.Agent { return &c.Agent }),
			must("version", plain, func(c *Subscribe) *string { return &c.Version }),
			opt("capabilities", kinds, func(c *Subscribe) *[]string { return &c.Capabilities }),
			opt("supersedes", incarnation, func(c *Subscribe) *string { return &c.Supersedes }),
			opt("agent_id", agentID, func(c *Subscribe) *registry.AgentID { return &c.AgentID }),
			opt("frameworks", list(framework), func(c *Subscribe) *[]FrameworkInfo { return &c.Frameworks }),
			opt("tasks", list(task), func(c *Subscribe) *[]Task { return &c.Tasks }),
			opt("executors", list(executor), func(c *Subscribe) *[]ExecutorInfo { return &c.Executors }),
			opt("completed_frameworks", list(completed), func(c *Subscribe) *[]CompletedFramework { return &c.CompletedFrameworks }),
			opt("completed_tasks", list(task), func(c *Subscribe) *[]Task { return &c.CompletedTasks }),
		), same)),
	recordOf[Call]("UPDATE",
		must("sequence", whole[uint64](), func(c *Update) *uint64 { return &c.Sequence }),
		must("update", object(
			opt("tasks", list(task), func(c *Update) *[]Task { return &c.Tasks }),
			opt("removed_tasks", list(taskRef), func(c *Update) *[]TaskRef { return &c.RemovedTasks }),
			opt("frameworks", list(framework), func(c *Update) *[]FrameworkInfo { return &c.Frameworks }),
			opt("executors", list(executor), func(c *Update) *[]ExecutorInfo { return &c.Executors }),
			opt("removed_executors", list(executorRef), func(c *Update) *[]ExecutorRef { return &c.RemovedExecutors }),
			opt("resources", newResources, func(c *Update) *[]registry.Resource { return &c.Resources }),
		), same)),
	recordOf[Call]("UNREGISTER", must("sequence", whole[uint64](), func(c *Unregister) *uint64 { return &c.Sequence })),
	recordOf[Call, Heartbeat](heartbeat),
}

// newResources tells a list that is empty from none. It may be what an agent may
// have that subscribes.
var newResources = func() codec[[]registry.Resource] {
	c := bounded(list(agentResource), wrongResources)
	return codec[[]registry.Resource]{
		read: func(r *reader, v *[]registry.Resource) {
			if c.read(r, v); *v == nil {
				*v = []registry.Resource{}
			}
		},
		write: c.write,
		none:  func(v *[]registry.Resource) bool { return *v == nil },
	}
}()

// AppendCall appends the record of a call, without the line before it. It
// returns dst and a [*FieldError] for a call in which [DecodeCall] would refuse a
// field.
func AppendCall(dst []byte, e Encoding, c Call) ([]byte, error) { return calls.append(dst, e, c) }

// DecodeCall reads the record of a call; the call keeps nothing of it. It
// returns a [*FieldError] or a [*SyntaxError] for what is no call, and for one
// that would take much more memory than its record.
func DecodeCall(e Encoding, record []byte) (Call, error) { return calls.decode(e, record) }
