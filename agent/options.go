package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// Options says who an agent is and how it behaves. Masters and Info.Hostname are
// required; zero is right for production for all others.
//
// The functions are called one at a time, from [Agent.Run], which hears nothing
// further until they return. They may call the methods of the agent.
type Options struct {
	// Masters are the URLs of the masters, as in "http://master-1:5050". They are
	// tried in turn, and one that does not lead may name the one that does. Who the
	// agent is does not stand in them: see Username.
	Masters []string
	// Info is what the agent says of itself. Its ID is what a new agent would
	// like to be called; empty leaves that to the master. Its Incarnation is the
	// agent's own affair.
	Info registry.Agent
	// Version is of the agent, and Capabilities are what it can do.
	Version      string
	Capabilities []string

	// StateFile is where the agent keeps who it is; its folder must be there.
	// Empty means nowhere: each [New] is then a new agent.
	StateFile string
	// BootID is unlike that of any other boot of the machine; empty means that of
	// the kernel.
	BootID string

	// Backoff bounds the pause before the agent first connects, and each time
	// after it was connected: the pause is drawn between 0 and it, so that not all
	// agents come at once to a master that has just started. The bound doubles
	// from failure to failure. 0 means 1 s; less than 0 means no pauses at all, as
	// benchmarks want.
	Backoff time.Duration
	// MaxBackoff is the most that the bound becomes, and the most that the agent
	// stays away because a master asks for it; 0 means a minute.
	MaxBackoff time.Duration
	// AnswerTimeout is how long connecting may take, and how long it may take the
	// master after that to make the agent a member; 0 means a minute.
	AnswerTimeout time.Duration
	// WriteTimeout is how long the master may take to accept a record; 0 means 10 s.
	WriteTimeout time.Duration

	// Msgpack makes the stream a fifth shorter than JSON, and costs more time.
	Msgpack bool
	// TLSConfig is for masters with https URLs; nil means the system's trust.
	TLSConfig *tls.Config
	// Username and Password are sent with each request, if there is a Username,
	// also to the master that another one names as the leader.
	Username, Password string
	// Dial makes connections; nil means [net.Dialer.DialContext].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Subscribed is called when the agent has become a member, again after each
	// time that it had to connect.
	Subscribed func(*wire.Subscribed)
	// Drain is called when the agent is to end its tasks and take no new ones;
	// again each time it comes back, until it is drained.
	Drain func(*wire.Drain)
	// Kill is called when a task is to end.
	Kill func(*wire.Kill)
	// Shutdown is called when all is to end. [Agent.Run] returns a
	// [*ShutdownError] after it.
	Shutdown func(*wire.Shutdown)
	// Error is called with what went wrong, before the agent tries again: a
	// [*RefusedError], a [*MasterError], or an error of the connection.
	Error func(error)
	// Logger receives what an operator should know: at Info, that the agent was cut
	// off, why, and when it tries again; at Debug, each further attempt that failed.
	// Nil means [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, time.Minute)
	if o.Backoff < 0 {
		o.MaxBackoff = 0
	}
	o.AnswerTimeout = cmp.Or(o.AnswerTimeout, time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return o
}

func (o *Options) encoding() wire.Encoding {
	if o.Msgpack {
		return wire.Msgpack
	}
	return wire.JSON
}

// endpoints are where the masters serve agents.
func (o *Options) endpoints() ([]*url.URL, error) {
	if len(o.Masters) == 0 {
		return nil, fmt.Errorf("agent: Options.Masters: is missing")
	}
	urls := make([]*url.URL, len(o.Masters))
	for i, text := range o.Masters {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("agent: Options.Masters[%d]: %w", i, err)
		}
		if u.User != nil {
			return nil, fmt.Errorf("agent: Options.Masters[%d]: has a user in it: use Options.Username and Password", i) // not what it is: it has a password
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("agent: Options.Masters[%d]: %q is not like http://host:5050", i, text)
		}
		urls[i] = endpoint(u)
	}
	return urls, nil
}

func endpoint(master *url.URL) *url.URL {
	at := *master
	at.Path = cmp.Or(at.Path, "/") // or JoinPath leaves out the first slash
	return at.JoinPath("api/v1/agent")
}
