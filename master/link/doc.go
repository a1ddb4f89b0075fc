// Package link says who is told when a peer goes.
//
// A [Process] that links to a peer gets one [Notice] when that peer goes: a
// local process exits, or the connection to a remote one breaks or could not
// be made. A master links to its agents, and learns here that a stream ended:
//
//	t := link.NewTable()
//	inbox := t.NewInbox()
//	master := t.Start("master", inbox)
//
//	g := t.Connect("10.0.0.7:5051")            // a stream of that agent opens
//	master.LinkAt("10.0.0.7:5051", "agent-7")  // tell master when it ends
//	t.Break("10.0.0.7:5051", g, link.Lost)     // it ended
//
//	<-inbox.Ready()
//	n, _ := inbox.Next() // agent-7 at 10.0.0.7:5051, generation g: connection lost
//
// # The promise
//
// Every link ends once, in one of three ways: a notice to its linker; an
// [Process.Unlink] that returned true; the exit of the linker, who then is
// told nothing more. Never none of them and never two, whatever runs at the
// same time. So:
//
//   - Links are a set: linking again while a link stands adds nothing.
//   - To link to what is known to be gone is a link that ends at once, with its
//     notice. To be told again one links again.
//   - When Exit or Break returns, all its notices are in their inboxes.
//   - An unlink that returned false says that the notice came or is to come.
//   - A link is one-way, and a process that links to itself learns nothing.
//
// # Generations
//
// Whatever starts or connects gets a generation of its table that nothing had
// before. It stands in the notice, and in the call that breaks a connection: a
// connection that was replaced can break nothing any more. [Table.Connect] for
// an address that is connected swaps the connection under all of its links, and
// nobody is told; if the peer behind the address is another one, break the old
// connection first.
//
// A connection begins when it is attempted. If the attempt fails, break it with
// [Unreachable], and everyone who linked meanwhile is told.
//
// The table knows no sockets and starts no goroutine. No code but its own runs
// under its lock, and it holds that for a few hundred links at a time at most.
// It keeps nothing for an address without a connection, nothing for a remote
// peer without links.
package link
