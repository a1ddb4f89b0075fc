package wire

import (
	"math"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// TaskState is the state of a task by Mesos's name for it. A newer agent may
// have others than those here.
type TaskState string

// The states that Mesos has.
const (
	TaskStaging        TaskState = "TASK_STAGING"
	TaskStarting       TaskState = "TASK_STARTING"
	TaskRunning        TaskState = "TASK_RUNNING"
	TaskKilling        TaskState = "TASK_KILLING"
	TaskFinished       TaskState = "TASK_FINISHED"
	TaskFailed         TaskState = "TASK_FAILED"
	TaskKilled         TaskState = "TASK_KILLED"
	TaskError          TaskState = "TASK_ERROR"
	TaskLost           TaskState = "TASK_LOST"
	TaskDropped        TaskState = "TASK_DROPPED"
	TaskUnreachable    TaskState = "TASK_UNREACHABLE"
	TaskGone           TaskState = "TASK_GONE"
	TaskGoneByOperator TaskState = "TASK_GONE_BY_OPERATOR"
	TaskUnknown        TaskState = "TASK_UNKNOWN"
)

// Terminal reports whether a task in this state has ended, and uses nothing any
// more. In a state that is not known it has not.
func (s TaskState) Terminal() bool {
	switch s {
	case TaskFinished, TaskFailed, TaskKilled, TaskError, TaskLost, TaskDropped, TaskGone, TaskGoneByOperator:
		return true
	default:
		return false
	}
}

// Raw is a value that this package hands on without knowing what it means: JSON
// in one line, without a space that could be left out; "" is none. Decoding
// gives the same Raw in both encodings. A number in it is a whole number of 64
// bits, or a float64.
type Raw string

// Task is a task on an agent. ID, FrameworkID, Name and State are required.
type Task struct {
	// Packed is what whoever shows tasks has made of the fields that do not change
	// while a task runs, so as not to look at them again; nil if nobody has. It is not
	// sent. It stands beside what he does look at. Uses is the same for what the task
	// uses.
	Packed   any
	Uses     Uses
	State    TaskState
	Statuses []TaskStatus // the oldest first

	ID          string
	FrameworkID string
	ExecutorID  string // "" if the task is its own executor
	AgentID     registry.AgentID
	Name        string
	User        string
	Resources   []Resource
	Limits      map[string]float64 // by name of a resource; may be +Inf
	Labels      []registry.Label

	// StatusUpdateState and StatusUpdateUUID are of the last status that its
	// framework has acknowledged.
	StatusUpdateState TaskState
	StatusUpdateUUID  []byte

	Discovery   Raw
	Container   Raw
	HealthCheck Raw
	KillPolicy  Raw
}

// TaskStatus is a status of the task that it stands in. State is required.
type TaskStatus struct {
	State           TaskState
	Timestamp       float64 // seconds since 1970
	Message         string
	Source          string // as in "SOURCE_EXECUTOR"
	Reason          string // as in "REASON_CONTAINER_LIMITATION_MEMORY"
	Healthy         *bool  // nil if nobody checks
	Data            []byte
	UUID            []byte
	Labels          []registry.Label
	ContainerStatus Raw
	CheckStatus     Raw
	Limitation      Raw
}

// TaskRef names a task: its ID is its framework's choice.
type TaskRef struct{ FrameworkID, ID string }

// ExecutorRef names an executor of an agent.
type ExecutorRef struct{ FrameworkID, ID string }

// FrameworkInfo is what a framework says of itself. ID, Name and User are
// required.
type FrameworkInfo struct {
	ID              string
	Name            string
	User            string
	Role            string // of before a framework could have many
	Roles           []string
	FailoverTimeout float64 // seconds
	Checkpoint      bool
	Hostname        string
	Principal       string
	WebUIURL        string
	Capabilities    []string
	Labels          []registry.Label
	OfferFilters    Raw
}

// ExecutorInfo is an executor on an agent. ID and FrameworkID are required.
type ExecutorInfo struct {
	ID                  string
	FrameworkID         string
	Name                string
	Type                string // "DEFAULT" or "CUSTOM"
	Source              string
	Resources           []Resource
	Labels              []registry.Label
	Data                []byte
	ShutdownGracePeriod *time.Duration
	Command             Raw
	Container           Raw
	Discovery           Raw
}

// CompletedFramework is a framework that has ended, and its tasks that ran here.
type CompletedFramework struct {
	Info  FrameworkInfo
	Tasks []Task
}

var task = object(
	must("name", plain, func(t *Task) *string { return &t.Name }),
	must("task_id", stringID, func(t *Task) *string { return &t.ID }),
	must("framework_id", stringID, func(t *Task) *string { return &t.FrameworkID }),
	opt("executor_id", stringID, func(t *Task) *string { return &t.ExecutorID }),
	opt("agent_id", agentID, func(t *Task) *registry.AgentID { return &t.AgentID }),
	must("state", state, func(t *Task) *TaskState { return &t.State }),
	opt("user", plain, func(t *Task) *string { return &t.User }),
	opt("resources", allocated, func(t *Task) *[]Resource { return &t.Resources }),
	opt("limits", entries(object(must("value", limit, same))), func(t *Task) *map[string]float64 { return &t.Limits }),
	opt("statuses", list(status), func(t *Task) *[]TaskStatus { return &t.Statuses }),
	opt("labels", labels, func(t *Task) *[]registry.Label { return &t.Labels }),
	opt("status_update_state", state, func(t *Task) *TaskState { return &t.StatusUpdateState }),
	opt("status_update_uuid", data, func(t *Task) *[]byte { return &t.StatusUpdateUUID }),
	opt("discovery", raw, func(t *Task) *Raw { return &t.Discovery }),
	opt("container", raw, func(t *Task) *Raw { return &t.Container }),
	opt("health_check", raw, func(t *Task) *Raw { return &t.HealthCheck }),
	opt("kill_policy", raw, func(t *Task) *Raw { return &t.KillPolicy }),
)

var state = text[TaskState]()

// limit is a number, or the text Infinity, for which MessagePack has a number.
var limit = scalar(func(r *reader) float64 {
	if r.err != nil || r.dec.PeekKind() != '"' {
		return r.float()
	}
	if string(r.name()) != "Infinity" {
		r.fail("is a text, and not Infinity")
	}
	return math.Inf(1)
}, func(w *writer, v float64) {
	if math.IsInf(v, 1) {
		w.text("Infinity")
		return
	}
	w.float(v)
})

var status = object(
	must("state", state, func(s *TaskStatus) *TaskState { return &s.State }),
	opt("timestamp", number, func(s *TaskStatus) *float64 { return &s.Timestamp }),
	opt("message", plain, func(s *TaskStatus) *string { return &s.Message }),
	opt("source", plain, func(s *TaskStatus) *string { return &s.Source }),
	opt("reason", plain, func(s *TaskStatus) *string { return &s.Reason }),
	opt("healthy", codec[*bool]{
		read:  func(r *reader, v **bool) { *v = new(bool); **v = r.boolean() },
		write: func(w *writer, v **bool) { w.boolean(**v) },
		none:  func(v **bool) bool { return *v == nil },
	}, func(s *TaskStatus) **bool { return &s.Healthy }),
	opt("data", data, func(s *TaskStatus) *[]byte { return &s.Data }),
	opt("uuid", data, func(s *TaskStatus) *[]byte { return &s.UUID }),
	opt("labels", labels, func(s *TaskStatus) *[]registry.Label { return &s.Labels }),
	opt("container_status", raw, func(s *TaskStatus) *Raw { return &s.ContainerStatus }),
	opt("check_status", raw, func(s *TaskStatus) *Raw { return &s.CheckStatus }),
	opt("limitation", raw, func(s *TaskStatus) *Raw { return &s.Limitation }),
)

var framework = object(
	must("id", stringID, func(f *FrameworkInfo) *string { return &f.ID }),
	must("name", plain, func(f *FrameworkInfo) *string { return &f.Name }),
	must("user", plain, func(f *FrameworkInfo) *string { return &f.User }),
	opt("role", role, func(f *FrameworkInfo) *string { return &f.Role }),
	opt("roles", roles, func(f *FrameworkInfo) *[]string { return &f.Roles }),
	opt("failover_timeout", number, func(f *FrameworkInfo) *float64 { return &f.FailoverTimeout }),
	opt("checkpoint", flag, func(f *FrameworkInfo) *bool { return &f.Checkpoint }),
	opt("hostname", plain, func(f *FrameworkInfo) *string { return &f.Hostname }),
	opt("principal", plain, func(f *FrameworkInfo) *string { return &f.Principal }),
	opt("webui_url", plain, func(f *FrameworkInfo) *string { return &f.WebUIURL }),
	opt("capabilities", kinds, func(f *FrameworkInfo) *[]string { return &f.Capabilities }),
	opt("labels", labels, func(f *FrameworkInfo) *[]registry.Label { return &f.Labels }),
	opt("offer_filters", raw, func(f *FrameworkInfo) *Raw { return &f.OfferFilters }),
)

var executor = object(
	must("executor_id", stringID, func(e *ExecutorInfo) *string { return &e.ID }),
	must("framework_id", stringID, func(e *ExecutorInfo) *string { return &e.FrameworkID }),
	opt("name", plain, func(e *ExecutorInfo) *string { return &e.Name }),
	opt("type", plain, func(e *ExecutorInfo) *string { return &e.Type }),
	opt("source", plain, func(e *ExecutorInfo) *string { return &e.Source }),
	opt("resources", allocated, func(e *ExecutorInfo) *[]Resource { return &e.Resources }),
	opt("labels", labels, func(e *ExecutorInfo) *[]registry.Label { return &e.Labels }),
	opt("data", data, func(e *ExecutorInfo) *[]byte { return &e.Data }),
	opt("shutdown_grace_period", grace, func(e *ExecutorInfo) **time.Duration { return &e.ShutdownGracePeriod }),
	opt("command", raw, func(e *ExecutorInfo) *Raw { return &e.Command }),
	opt("container", raw, func(e *ExecutorInfo) *Raw { return &e.Container }),
	opt("discovery", raw, func(e *ExecutorInfo) *Raw { return &e.Discovery }),
)

var completed = object(
	must("framework_info", framework, func(f *CompletedFramework) *FrameworkInfo { return &f.Info }),
	opt("tasks", list(task), func(f *CompletedFramework) *[]Task { return &f.Tasks }),
)

var taskRef = object(
	must("framework_id", stringID, func(t *TaskRef) *string { return &t.FrameworkID }),
	must("task_id", stringID, func(t *TaskRef) *string { return &t.ID }),
)

var executorRef = object(
	must("framework_id", stringID, func(e *ExecutorRef) *string { return &e.FrameworkID }),
	must("executor_id", stringID, func(e *ExecutorRef) *string { return &e.ID }),
)
