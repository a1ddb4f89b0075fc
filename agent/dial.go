package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
)

var ports = map[string]string{"http": "80", "https": "443"}

// dial connects to a master, with TLS if its URL says so.
func (a *Agent) dial(ctx context.Context, master *url.URL) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, a.o.AnswerTimeout)
	defer cancel()
	address := net.JoinHostPort(master.Hostname(), cmp.Or(master.Port(), ports[master.Scheme]))
	conn, err := a.o.Dial(ctx, "tcp", address)
	if err != nil || master.Scheme != "https" {
		return conn, err
	}
	config := a.o.TLSConfig.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.ServerName = cmp.Or(config.ServerName, master.Hostname())
	config.NextProtos = nil // HTTP/1.1 is what this agent speaks
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}
