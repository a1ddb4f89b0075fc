package pod

// Condition is how it stands with a task, or with an instance.
type Condition uint8

// The conditions, those first that count before others in an instance.
const (
	Error Condition = iota
	Failed
	Gone
	Dropped
	Unreachable
	UnreachableInactive
	Killing
	Starting
	Staging
	Unknown
	Provisioned
	Scheduled
	Running
	Finished
	Killed
)

// mesosStates are the states of Mesos, by condition. A task that Mesos does not
// have yet is shown as one that is staging.
var mesosStates = [...]string{
	Error: "TASK_ERROR", Failed: "TASK_FAILED", Gone: "TASK_GONE", Dropped: "TASK_DROPPED",
	Unreachable: "TASK_UNREACHABLE", UnreachableInactive: "TASK_UNREACHABLE", Killing: "TASK_KILLING",
	Starting: "TASK_STARTING", Staging: "TASK_STAGING", Unknown: "TASK_UNKNOWN", Provisioned: "TASK_STAGING",
	Scheduled: "TASK_STAGING", Running: "TASK_RUNNING", Finished: "TASK_FINISHED", Killed: "TASK_KILLED",
}

// ConditionOf is what a state of Mesos means. One that is not known, and a
// TASK_LOST, say nothing.
func ConditionOf(state string) Condition {
	switch state {
	case "TASK_GONE_BY_OPERATOR":
		return Gone
	case "TASK_LOST":
		return Unknown
	}
	for c, s := range mesosStates {
		if s == state && Condition(c) != UnreachableInactive {
			return Condition(c)
		}
	}
	return Unknown
}

// State is the state of Mesos that a condition is shown as.
func (c Condition) State() string { return mesosStates[c] }

// Terminal reports whether nothing comes after it.
func (c Condition) Terminal() bool {
	switch c {
	case Error, Failed, Gone, Dropped, Unknown, Finished, Killed:
		return true
	}
	return false
}

// holds reports whether a task in this condition may have its resources.
func (c Condition) holds() bool {
	switch c {
	case Staging, Starting, Running, Unreachable, UnreachableInactive, Killing:
		return true
	}
	return false
}

// failure reports whether it is an end that nobody wanted.
func (c Condition) failure() bool {
	switch c {
	case Error, Failed, Gone, Dropped, Unknown:
		return true
	}
	return false
}

// aggregate is the condition of an instance: of its tasks' the one that counts
// before the others.
func aggregate(tasks []Task) Condition {
	if len(tasks) == 0 {
		return Unknown
	}
	first := tasks[0].Condition
	for _, t := range tasks[1:] {
		first = min(first, t.Condition)
	}
	return first
}

// InstanceState is the state of an instance.
type InstanceState string

// The states of instances.
const (
	InstancePending  InstanceState = "PENDING"
	InstanceStaging  InstanceState = "STAGING"
	InstanceStable   InstanceState = "STABLE"
	InstanceDegraded InstanceState = "DEGRADED"
	InstanceTerminal InstanceState = "TERMINAL"
)

// Goal is what is wanted of an instance.
type Goal uint8

// The goals.
const (
	ToRun  Goal = iota // if it ends, it is launched again
	ToStop             // if it ends, that is that
)

const (
	unreachableMessage = "pod instance has become unreachable"
	unhealthyMessage   = "at least one container is not healthy"
)

// stateOf derives the state of an instance: what is said first here counts.
func stateOf(goal Goal, c Condition, unhealthy bool) (state InstanceState, message string) {
	switch {
	case goal == ToRun && (c.Terminal() || c == Scheduled || c == Provisioned):
		return InstancePending, ""
	case c == Scheduled || c == Provisioned:
		return InstanceTerminal, ""
	case c == Staging || c == Starting:
		return InstanceStaging, ""
	case c.Terminal() || c == Killing:
		return InstanceTerminal, ""
	case c == Unreachable || c == UnreachableInactive:
		return InstanceDegraded, unreachableMessage
	case unhealthy:
		return InstanceDegraded, unhealthyMessage
	}
	return InstanceStable, ""
}

// State is the state of a pod.
type State string

// The states of pods.
const (
	Degraded State = "DEGRADED"
	Stable   State = "STABLE"
	Terminal State = "TERMINAL"
)
