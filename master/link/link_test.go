package link_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/master/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const agent = "10.0.0.7:5051"

func newMaster() (*link.Table, *link.Inbox, *link.Process) {
	t := link.NewTable()
	inbox := t.NewInbox()
	return t, inbox, t.Start("master", inbox)
}

// wantNotices takes all that waits. Linkers are compared by name, order counts.
func wantNotices(t *testing.T, inbox *link.Inbox, want ...string) {
	t.Helper()
	var got []string
	for n, ok := inbox.Next(); ok; n, ok = inbox.Next() {
		got = append(got, fmt.Sprintf("%s: %s at %q, generation %d: %s", n.Linker.ID(), n.Linkee, n.Address, n.Generation, n.Reason))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("notices\n%q, want\n%q", got, want)
	}
}

func want(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s returned %v, want %v", what, got, want)
	}
}

func TestLateBreakDoesNotHitANewerConnection(t *testing.T) { // faults 9, 10 and 11
	table, inbox, master := newMaster()
	old := table.Connect(agent)
	master.LinkAt(agent, "a")
	want(t, "breaking the old connection", table.Break(agent, old, link.Lost), true)
	wantNotices(t, inbox, `master: a at "10.0.0.7:5051", generation 2: connection lost`)

	newer := table.Connect(agent)
	want(t, "linking again", master.LinkAt(agent, "a"), true)
	want(t, "breaking the old connection again", table.Break(agent, old, link.Lost), false)
	want(t, "an exit told over the old connection", table.ExitAt(agent, old, "a", link.Exited), false)
	wantNotices(t, inbox)
	if g := table.Generation(agent); g != newer {
		t.Errorf("generation %d is connected, want %d", g, newer)
	}
}

func TestSwapTellsNobodyAndKeepsEveryLink(t *testing.T) { // faults 5 and 8
	table, inbox, master := newMaster()
	other := table.Start("other", inbox)
	first := table.Connect(agent)
	master.LinkAt(agent, "a")
	other.LinkAt(agent, "a")
	second := table.Connect(agent)
	third := table.Connect(agent) // two relinks race: only the last may break anything
	want(t, "breaking the first", table.Break(agent, first, link.Lost), false)
	want(t, "breaking the second", table.Break(agent, second, link.Unreachable), false)
	wantNotices(t, inbox)
	want(t, "breaking the third", table.Break(agent, third, "heartbeats missed"), true)
	wantNotices(t, inbox,
		`other: a at "10.0.0.7:5051", generation 5: heartbeats missed`,
		`master: a at "10.0.0.7:5051", generation 5: heartbeats missed`)
}

func TestFailedAttemptTellsItsLinkersOnce(t *testing.T) { // fault 3
	table, inbox, master := newMaster()
	attempt := table.Connect(agent)
	want(t, "linking to an attempt", master.LinkAt(agent, "a"), true)
	table.Break(agent, attempt, link.Unreachable)
	table.Break(agent, attempt, link.Unreachable)
	wantNotices(t, inbox, `master: a at "10.0.0.7:5051", generation 2: no connection could be made`)
	if g := table.Generation(agent); g != 0 {
		t.Errorf("generation %d is left of the attempt", g)
	}
}

func TestLinkToWhatIsGoneTellsAtOnceEachTime(t *testing.T) {
	table, inbox, master := newMaster()
	p := table.Start("p", nil)
	p.Exit("killed")
	want(t, "Link", master.Link(p), false)
	want(t, "LinkAt", master.LinkAt(agent, "a"), false)
	want(t, "Link", master.Link(p), false)
	wantNotices(t, inbox,
		`master: p at "", generation 2: killed`,
		`master: a at "10.0.0.7:5051", generation 0: no connection at time of link`,
		`master: p at "", generation 2: killed`)
}

func TestLinkingTwiceIsOneLink(t *testing.T) { // fault 13: link at every registration
	table, inbox, master := newMaster()
	p := table.Start("p", nil)
	want(t, "Link", master.Link(p), true)
	want(t, "Link again", master.Link(p), true)
	p.Exit(link.Exited)
	want(t, "a second Exit", p.Exit(link.Exited), false)
	wantNotices(t, inbox, `master: p at "", generation 2: exited`)
}

func TestUnlinkedLinkerIsToldNothing(t *testing.T) {
	table, inbox, master := newMaster()
	p := table.Start("p", nil)
	g := table.Connect(agent)
	master.Link(p)
	master.LinkAt(agent, "a")
	want(t, "Unlink", master.Unlink(p), true)
	want(t, "Unlink again", master.Unlink(p), false)
	want(t, "UnlinkAt", master.UnlinkAt(agent, "a"), true)
	want(t, "UnlinkAt again", master.UnlinkAt(agent, "a"), false)
	p.Exit(link.Exited)
	table.Break(agent, g, link.Lost)
	wantNotices(t, inbox)
}

// The last linker of a remote peer goes: nothing may be left in the index by
// address, whose next loss once aborted the master. Fault 2.
func TestLastLinkerLeavesNothingAtTheAddress(t *testing.T) {
	table, inbox, master := newMaster()
	g := table.Connect(agent)
	short := table.Start("short", table.NewInbox())
	short.LinkAt(agent, "a")
	master.LinkAt(agent, "b")
	short.Exit(link.Exited)
	want(t, "an exit of a, which nobody watches", table.ExitAt(agent, g, "a", link.Exited), false)
	table.Break(agent, g, link.Lost)
	wantNotices(t, inbox, `master: b at "10.0.0.7:5051", generation 2: connection lost`)
}

func TestExitedLinkerIsToldNothingMore(t *testing.T) {
	table, inbox, master := newMaster()
	p, q := table.Start("p", inbox), table.Start("q", inbox)
	p.Link(q)
	master.Link(q)
	p.Link(p)
	p.Link(master)
	q.Exit(link.Exited) // the notice to p waits
	p.Exit(link.Exited)
	want(t, "Link of who exited", p.Link(master), false)
	want(t, "LinkAt of who exited", p.LinkAt(agent, "a"), false)
	want(t, "Unlink of who exited", p.Unlink(master), false)
	wantNotices(t, inbox, `master: q at "", generation 3: exited`)
}

func TestExitAtTellsOfOnePeerOnly(t *testing.T) {
	table, inbox, master := newMaster()
	g := table.Connect(agent)
	master.LinkAt(agent, "a")
	master.LinkAt(agent, "b")
	want(t, "ExitAt", table.ExitAt(agent, g, "a", link.Exited), true)
	wantNotices(t, inbox, `master: a at "10.0.0.7:5051", generation 2: exited`)
	table.Break(agent, g, link.Lost)
	wantNotices(t, inbox, `master: b at "10.0.0.7:5051", generation 2: connection lost`)
}

func TestReadySaysThatANoticeWaits(t *testing.T) {
	table, inbox, master := newMaster()
	for range 3 {
		for range 2 { // the second needs no signal of its own
			p := table.Start("p", nil)
			master.Link(p)
			p.Exit(link.Exited)
		}
		select {
		case <-inbox.Ready():
		default:
			t.Fatal("a notice waits and Ready does not say so")
		}
		for range 2 {
			if _, ok := inbox.Next(); !ok {
				t.Fatal("a notice is missing")
			}
		}
		if n, ok := inbox.Next(); ok {
			t.Fatalf("%v was never due", n)
		}
	}
}

// TestEveryLinkEndsOnce links and unlinks while linkees exit, connections break
// and others are swapped in, and counts: who linked and did not get to unlink
// is told once.
func TestEveryLinkEndsOnce(t *testing.T) {
	table := link.NewTable()
	linkees := make([]*link.Process, 400)
	for i := range linkees {
		linkees[i] = table.Start("linkee", nil)
	}
	var linking, ending sync.WaitGroup
	stop := make(chan struct{})
	ending.Go(func() {
		for _, q := range linkees {
			q.Exit(link.Exited)
			runtime.Gosched()
		}
	})
	ending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			old := table.Connect(agent)
			g := table.Connect(agent)
			runtime.Gosched()
			want(t, "breaking a replaced connection", table.Break(agent, old, link.Lost), false)
			want(t, "breaking the connection", table.Break(agent, g, link.Lost), true)
		}
	})
	inboxes := make([]*link.Inbox, 4)
	due := make([]map[string]int, len(inboxes))
	for i := range inboxes {
		inboxes[i] = table.NewInbox()
		due[i] = map[string]int{}
		linking.Go(func() { linkAndUnlink(table.Start("linker", inboxes[i]), linkees, due[i], uint64(i)) })
	}
	linking.Wait()
	close(stop)
	ending.Wait()
	for i, inbox := range inboxes {
		for n, ok := inbox.Next(); ok; n, ok = inbox.Next() {
			due[i][n.Address+n.Linkee]--
		}
		for linkee, n := range due[i] {
			if n != 0 {
				t.Errorf("linker %d was told of %s %d times too few", i, linkee, n)
			}
		}
	}
}

// linkAndUnlink counts in due what it must be told of. Once the linkees are all
// gone, it is told each time it links.
func linkAndUnlink(p *link.Process, linkees []*link.Process, due map[string]int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		q := linkees[random.IntN(len(linkees))]
		if !p.Link(q) || !p.Unlink(q) {
			due["linkee"]++
		}
		id := fmt.Sprint(random.IntN(20))
		if !p.LinkAt(agent, id) || !p.UnlinkAt(agent, id) {
			due[agent+id]++
		}
	}
}

// TestLinkTakesLessThan400Bytes counts the processes and peers at both ends, too.
func TestLinkTakesLessThan400Bytes(t *testing.T) {
	const links = 20_000
	table := link.NewTable()
	inbox := table.NewInbox()
	table.Connect(agent)
	ids := make([]string, links)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	linkers := make([]*link.Process, links)
	before := heap()
	for i := range linkers {
		linkers[i] = table.Start(ids[i], inbox)
		linkers[i].LinkAt(agent, ids[i])
	}
	if each := (heap() - before) / links; each > 400 {
		t.Errorf("a link takes %d bytes", each)
	} else {
		t.Logf("a link takes %d bytes", each)
	}
	runtime.KeepAlive(linkers)
	runtime.KeepAlive(table)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestUnlinkDuringABigExit: an exit of more links than are ended under one hold
// of the lock lets unlinks in between, and each link has one of the two ends.
func TestUnlinkDuringABigExit(t *testing.T) {
	const links = 5000
	table, inbox, _ := newMaster()
	g := table.Connect(agent)
	p := table.Start("p", nil)
	linkers := make([]*link.Process, links)
	for i := range linkers {
		linkers[i] = table.Start("linker", inbox)
		linkers[i].Link(p)
		linkers[i].LinkAt(agent, fmt.Sprint(i))
	}
	var ending sync.WaitGroup
	ending.Go(func() { p.Exit(link.Exited) })
	ending.Go(func() { table.Break(agent, g, link.Lost) })
	unlinked := 0
	for i, linker := range linkers {
		if linker.Unlink(p) {
			unlinked++
		}
		if linker.UnlinkAt(agent, fmt.Sprint(i)) {
			unlinked++
		}
	}
	ending.Wait()
	told := 0
	for _, ok := inbox.Next(); ok; _, ok = inbox.Next() {
		told++
	}
	if told+unlinked != 2*links {
		t.Errorf("%d links were unlinked and %d told, of %d", unlinked, told, 2*links)
	}
}
