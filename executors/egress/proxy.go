// Package egress is the only way out of a sandbox with network: allowlist: an
// HTTP and HTTPS proxy of the gate's own, listening on loopback inside the
// sandbox's network namespace, which has no interface but loopback, no route
// and no resolver.
//
// Every byte that arrives at the listener is hostile; so is every byte that an
// allowed host answers, and so are the answers of name servers. The host and
// port of a request must be on the node's list, the name is resolved
// here, every address is judged, and the connection goes to a judged address,
// never through a second resolution. A CONNECT tunnel carries only a TLS
// handshake that names the same host in the clear. Requests, connections, bytes
// and times are bounded. What is asked for is written down, with host, port and
// cause and nothing else, before a name is resolved or a connection is made.
//
// net/http's server reads a request and its ReverseProxy writes a new one from
// what was read. The client's own bytes never reach a host. Each connection
// carries one request, to the host and back. So nobody can disagree about where
// a request ends, or to whom it goes.
//
// What it can't see: after the first TLS client hello a client may ask an allowed
// server for another site that the same server holds (domain fronting, or a
// second hello that the server asked for). List hosts that one trusts as a
// whole, not those of a shared delivery network.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a proxy needs. Domains and LogPath have no default.
type Config struct {
	// Domains are the node's allowed domains, see ParseDomains.
	Domains []string
	Limits  Limits
	// Resolver is SystemResolver and Dial the function Dial if nil.
	Resolver Resolver
	Dial     DialFunc
	// HostNetworks are refused as well; those of the host's interfaces if nil.
	HostNetworks func() ([]netip.Prefix, error)
	// LogPath is the run's log. Nobody but the gate may write to its folder.
	LogPath string
}

// ErrClosed: the proxy is closed, or has closed its listener for good because
// the run has used up its requests.
var ErrClosed = errors.New("egress proxy is closed")

// Proxy is one run's way out. It is safe for concurrent use.
type Proxy struct {
	cfg     Config
	allowed Allowlist
	log     *recorder
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	server  *http.Server
	slots   chan struct{} // one for each connection that may be served at a time
	running sync.WaitGroup

	mu       sync.Mutex // guards the rest
	closed   bool
	listener net.Listener
}

// Open makes the proxy of one run. If the log says that the run has used some
// of its limits already, under another process, it goes on from there. Nothing
// listens yet.
func Open(cfg Config) (*Proxy, error) {
	allowed, err := ParseDomains(cfg.Domains)
	if err != nil {
		return nil, err
	}
	if len(cfg.Domains) == 0 {
		return nil, fmt.Errorf("%w: there are none, so that there is nothing to reach", ErrDomain)
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Resolver == nil {
		cfg.Resolver = SystemResolver{}
	}
	if cfg.Dial == nil {
		cfg.Dial = Dial
	}
	if cfg.HostNetworks == nil {
		cfg.HostNetworks = hostNetworks
	}
	p := &Proxy{cfg: cfg, allowed: allowed, slots: make(chan struct{}, cfg.Limits.Connections)}
	if p.log, err = openRecorder(cfg.LogPath); err != nil {
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: cfg.Limits.HeaderTime,
		MaxHeaderBytes:    cfg.Limits.HeaderBytes,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, clientKey{}, c)
		},
		ErrorLog:                     silent,
		DisableGeneralOptionsHandler: true,
		Protocols:                    new(http.Protocols),
	}
	p.server.Protocols.SetHTTP1(true)
	p.server.SetKeepAlivesEnabled(false)
	return p, nil
}

// silent takes what net/http logs: it may hold text of a client or a host.
var silent = log.New(io.Discard, "", 0)

// Close ends the listener and every connection, waits for them, and completes
// the log. It may be called again.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	_ = p.server.Close() // it only says that the listener was closed before
	p.running.Wait()
	return p.log.close()
}

// serve takes connections from l until it is closed.
func (p *Proxy) serve(l net.Listener) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed, p.log.report().Requests >= p.cfg.Limits.Requests:
		l.Close()
		return ErrClosed
	case p.listener != nil:
		l.Close()
		return errors.New("egress proxy listens already")
	}
	p.listener = &listener{Listener: l, p: p}
	p.running.Go(func() { _ = p.server.Serve(p.listener) }) // it ends when Close or listener closes
	return nil
}

// begin says whether a request may be served; then p.running.Done must follow.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// listener bounds the connections of a run: how many there are at a time, and
// how many in all.
type listener struct {
	net.Listener
	p *Proxy
}

// Accept waits for a slot and then for a connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.p.slots <- struct{}{}:
	case <-l.p.ctx.Done():
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.p.slots
		return nil, err
	}
	if !l.p.log.request(l.p.cfg.Limits.Requests) {
		<-l.p.slots
		_ = l.p.log.note(endpoint{}, CauseRequests)
		c.Close()
		l.Close()
		return nil, net.ErrClosed
	}
	return &client{TCPConn: c.(*net.TCPConn), p: l.p}, nil
}

// client is a connection from the sandbox.
type client struct {
	*net.TCPConn
	p     *Proxy
	once  sync.Once
	spoke atomic.Bool // it has sent something
	asked atomic.Bool // it has sent a valid HTTP request
}

type clientKey struct{}

func (c *client) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// Close gives the slot back, and notes what was no request.
func (c *client) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(func() {
		if c.spoke.Load() && !c.asked.Load() {
			_ = c.p.log.note(endpoint{}, CauseMalformed)
		}
		<-c.p.slots
	})
	return err
}

// ServeHTTP serves the one request of a connection.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.running.Done()
	c := r.Context().Value(clientKey{}).(*client)
	c.asked.Store(true)
	to, err := target(r)
	if err != nil {
		_ = p.log.note(endpoint{}, CauseMalformed)
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	if cause := p.allowed.decide(to); cause != "" {
		_ = p.log.note(to, cause)
		refuse(w, to, cause)
		return
	}
	up, cause := p.connect(to)
	if cause != CauseReached {
		refuse(w, to, cause)
		return
	}
	s := &session{p: p, to: to, client: c}
	s.up = &upstream{Conn: up, s: s}
	defer up.Close()
	s.idle = time.AfterFunc(p.cfg.Limits.IdleTime, s.late)
	defer s.idle.Stop()
	defer time.AfterFunc(p.cfg.Limits.TotalTime, s.late).Stop()
	defer context.AfterFunc(p.ctx, s.cut)()
	defer s.once.Do(func() {}) // from then on nothing ends it
	if r.Method == http.MethodConnect {
		s.tunnel(w)
	} else {
		s.forward(w, r)
	}
}

// target is where a request wants to go.
func target(r *http.Request) (endpoint, error) {
	if r.Method == http.MethodConnect {
		to, err := parseEndpoint(r.RequestURI, 0)
		if err != nil || r.ContentLength != 0 {
			return to, errors.New("the target of CONNECT is not host:port, or it has a body")
		}
		return to, nil
	}
	if r.URL.Scheme != "http" || r.URL.Opaque != "" || r.URL.User != nil {
		return endpoint{}, errors.New("the target is no absolute http:// URL; https goes through CONNECT")
	}
	if len(r.Header["Upgrade"]) > 0 {
		return endpoint{}, errors.New("the request asks for another protocol")
	}
	to, err := parseEndpoint(r.URL.Host, portHTTP)
	if err != nil {
		return to, errors.New("the target names no valid host")
	}
	return to, nil
}

// refuse answers a request that is understood.
func refuse(w http.ResponseWriter, to endpoint, cause Cause) {
	status := http.StatusForbidden
	if cause == CauseUnresolved || cause == CauseUnreachable {
		status = http.StatusBadGateway
	}
	answer(w, status, Decision{to.host, to.port, cause}.String())
}

// answer tells the client why its request ends here. The text is ours.
func answer(w http.ResponseWriter, status int, text string) {
	http.Error(w, "threegate egress: "+text, status)
}

// Limits bound one run. A zero field means its default.
type Limits struct {
	// Requests is how many connections a run may make to the proxy, each for one
	// request; Connections how many of them are served at a time.
	Requests    int64
	Connections int
	// UpBytes and DownBytes bound what is sent to and received from all hosts.
	UpBytes, DownBytes int64
	// HeaderBytes bounds the head of a request, and of a response.
	HeaderBytes int
	// HeaderTime bounds how long a client takes for its head or TLS hello.
	HeaderTime time.Duration
	// DialTime bounds resolving and connecting.
	DialTime time.Duration
	// IdleTime and TotalTime bound one connection.
	IdleTime, TotalTime time.Duration
}

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		Requests:    cmp.Or(l.Requests, 2000),
		Connections: cmp.Or(l.Connections, 64),
		UpBytes:     cmp.Or(l.UpBytes, 64<<20),
		DownBytes:   cmp.Or(l.DownBytes, 1<<30),
		HeaderBytes: cmp.Or(l.HeaderBytes, 32<<10),
		HeaderTime:  cmp.Or(l.HeaderTime, 10*time.Second),
		DialTime:    cmp.Or(l.DialTime, 10*time.Second),
		IdleTime:    cmp.Or(l.IdleTime, time.Minute),
		TotalTime:   cmp.Or(l.TotalTime, time.Hour),
	}
}
