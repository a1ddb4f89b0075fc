package link_test

import (
	"fmt"

	"github.com/eaba02dc/registrar/master/link"
)

// A master binds each agent's stream to a link. Whoever notices first that the
// stream is dead breaks its generation; the others come late and do nothing.
func Example() {
	t := link.NewTable()
	inbox := t.NewInbox()
	master := t.Start("master", inbox)

	first := t.Connect("10.0.0.7:5051") // a stream of agent-7 opens
	master.LinkAt("10.0.0.7:5051", "agent-7")
	second := t.Connect("10.0.0.7:5051") // the agent dialled again: nobody is told
	master.LinkAt("10.0.0.7:5051", "agent-7")

	fmt.Println("the first stream ends:", t.Break("10.0.0.7:5051", first, link.Lost))
	fmt.Println("the second falls silent:", t.Break("10.0.0.7:5051", second, "heartbeats missed"))
	fmt.Println("and then ends:", t.Break("10.0.0.7:5051", second, link.Lost))

	<-inbox.Ready()
	for n, ok := inbox.Next(); ok; n, ok = inbox.Next() {
		fmt.Printf("%s: %s at %s is gone: %s (current: %v)\n",
			n.Linker.ID(), n.Linkee, n.Address, n.Reason, n.Generation == second)
	}
	// Output:
	// the first stream ends: false
	// the second falls silent: true
	// and then ends: false
	// master: agent-7 at 10.0.0.7:5051 is gone: heartbeats missed (current: true)
}
