package httpapi

import (
	"cmp"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/internal/jsonout"
	"github.com/eaba02dc/registrar/master"
)

// defaultLimit is how many tasks /tasks shows to those who do not say.
const defaultLimit = 100

// tasksBody is the answer of /tasks: the latest tasks, or the earliest if the
// query says order=asc.
func tasksBody(p *page, s *master.State, q *question) error {
	var list []*wire.Task
	for f := range everyFramework(s) {
		if !q.asksFor("framework_id", f.Info.ID) || !q.seesFramework(&f.Info) {
			continue
		}
		for t := range everyTask(f) {
			if q.asksFor("task_id", t.ID) && q.view.sees(t.Resources) {
				list = append(list, t)
			}
		}
	}
	order := latestFirst
	if q.Get("order") == "asc" {
		order = earliestFirst
	}
	slices.SortStableFunc(list, order)
	b := append(p.b, `{"tasks":`...)
	b = jsonout.List(b, cutOut(list, q.Values), appendTask)
	p.b = append(b, '}')
	return nil
}

func everyFramework(s *master.State) iter.Seq[*master.Framework] {
	return func(yield func(*master.Framework) bool) {
		for _, list := range [...]iter.Seq[*master.Framework]{s.Frameworks(), s.CompletedFrameworks()} {
			for f := range list {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// everyTask yields the tasks of a framework, ended ones too.
func everyTask(f *master.Framework) iter.Seq[*wire.Task] {
	return func(yield func(*wire.Task) bool) {
		for _, list := range [...]iter.Seq[*wire.Task]{f.Tasks(), f.UnreachableTasks(), f.CompletedTasks()} {
			for t := range list {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// earliestFirst compares by the first status; tasks without one come first.
func earliestFirst(x, y *wire.Task) int {
	if len(x.Statuses) == 0 || len(y.Statuses) == 0 {
		return cmp.Compare(len(x.Statuses), len(y.Statuses)) // one is 0
	}
	return cmp.Compare(x.Statuses[0].Timestamp, y.Statuses[0].Timestamp)
}

func latestFirst(x, y *wire.Task) int { return earliestFirst(y, x) }

// cutOut is the part of list that a query asks for. What is no number counts as
// absent; a limit below 0 is none.
func cutOut(list []*wire.Task, query url.Values) []*wire.Task {
	limit, offset := number(query, "limit", defaultLimit), number(query, "offset", 0)
	list = list[min(max(offset, 0), len(list)):]
	if limit >= 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

func number(query url.Values, name string, absent int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil {
		return absent
	}
	return n
}
