package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/egress"
)

// roleVar makes the test binary one of the helpers of roles.
const roleVar = "EGRESS_TEST_ROLE"

var roles = map[string]func(args []string) error{
	"hold":   func([]string) error { return nil },
	"inside": inside,
	"gate":   gateRole,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
		return
	}
	goleak.VerifyTestMain(m)
}

// helper starts the test binary in a role, waits until it is ready, and returns
// it with what it printed before. It ends with the test.
func helper(t testing.TB, newNet bool, role string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	if newNet {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	var printed strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			return cmd, printed.String()
		}
		printed.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("helper %s ended: %s", role, printed.String())
	return nil, ""
}

// inNamespace calls f on a thread in the network namespace, which ends with f.
func inNamespace(path string, f func() error) error {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread()
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			err = f()
		}
		ended <- err
	}()
	return <-ended
}

// loopbackUp brings up the loopback of the thread's namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namespace makes a network namespace that has nothing but loopback, down.
func namespace(t testing.TB) string {
	cmd, _ := helper(t, true, "hold")
	return fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)
}

// Addresses of the fake internet. They exist on the loopback of one namespace
// and nowhere else.
const (
	addrOne      = "11.0.0.1"
	addrTwo      = "11.0.0.2"
	addrPrivate  = "10.0.0.5"
	addrMetadata = "169.254.169.254"
)

// internet is several hosts in a namespace of their own, with a resolver.
type internet struct {
	ns   string
	pool *x509.CertPool
	cert func(names ...string) tls.Certificate

	requests atomic.Int64
	mu       sync.Mutex // guards the rest
	names    map[string][]netip.Addr
	answer   func(name string) ([]netip.Addr, error) // instead of names
	accepted map[string]int                          // connections by local address
	log      seen
}

// seen is what the fake internet saw.
type seen struct {
	lookups, dialed []string
	// of the last request
	header          http.Header
	uri, host, body string
}

func (n *internet) seen() seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.log
	s.lookups, s.dialed = slices.Clone(s.lookups), slices.Clone(s.dialed)
	return s
}

// answers takes the place of the names.
func (n *internet) answers(f func(name string) ([]netip.Addr, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

func newInternet(t testing.TB) *internet {
	n := &internet{ns: namespace(t), names: map[string][]netip.Addr{}, accepted: map[string]int{}}
	n.pool, n.cert = authority(t)
	must(t, inNamespace(n.ns, func() error {
		if err := loopbackUp(); err != nil {
			return err
		}
		for i, a := range []string{addrOne, addrPrivate, addrMetadata} {
			if err := addAddress("lo:"+strconv.Itoa(i+1), a); err != nil {
				return err
			}
		}
		return nil
	}))
	n.set("one.example", addrOne)
	n.set("two.example", addrTwo)
	n.set("sub.wild.example", addrTwo)
	n.set("private.example", addrPrivate)
	n.set("metadata.example", addrMetadata)
	for _, a := range []string{addrOne, addrTwo, addrPrivate, addrMetadata, "127.0.0.1"} {
		n.serveHTTP(t, a+":80")
		n.serveTLS(t, a+":443")
	}
	return n
}

// addAddress makes a, with its class's whole network, local.
func addAddress(alias, a string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(alias)
	if err != nil {
		return err
	}
	ip := netip.MustParseAddr(a).As4()
	if err := ifr.SetInet4Addr(ip[:]); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, ifr)
}

func (n *internet) set(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = nil
	for _, a := range addrs {
		n.names[name] = append(n.names[name], netip.MustParseAddr(a))
	}
}

// Lookup implements Resolver.
func (n *internet) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log.lookups = append(n.log.lookups, name)
	if n.answer != nil {
		return n.answer(name)
	}
	if a := n.names[name]; len(a) > 0 {
		return a, nil
	}
	return nil, errors.New("no such name")
}

// dial is the real Dial, inside the fake internet.
func (n *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.log.dialed = append(n.log.dialed, to.String())
	n.mu.Unlock()
	var c net.Conn
	err := inNamespace(n.ns, func() (err error) { c, err = egress.Dial(ctx, to); return err })
	return c, err
}

// listen opens a listener in the fake internet and counts what it accepts.
func (n *internet) listen(t testing.TB, address string) net.Listener {
	var l net.Listener
	must(t, inNamespace(n.ns, func() (err error) { l, err = net.Listen("tcp4", address); return err }))
	return &countingListener{l, n}
}

type countingListener struct {
	net.Listener
	n *internet
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.n.mu.Lock()
		l.n.accepted[l.Addr().String()]++
		l.n.mu.Unlock()
	}
	return c, err
}

func (n *internet) connections(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.accepted[address]
}

// serve runs a server until the test ends.
func (n *internet) serve(t testing.TB, l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { s.Serve(l); close(done) }()
	t.Cleanup(func() { s.Close(); <-done })
}

func (n *internet) serveHTTP(t testing.TB, address string) {
	n.serve(t, n.listen(t, address), http.HandlerFunc(n.plain))
}

func (n *internet) serveTLS(t testing.TB, address string) {
	l := tls.NewListener(n.listen(t, address),
		&tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			c := n.cert(h.ServerName, "11.0.0.1")
			return &c, nil
		}, NextProtos: []string{"http/1.1"}})
	n.serve(t, l, http.HandlerFunc(n.plain))
}

// plain is the site that all hosts have.
func (n *internet) plain(w http.ResponseWriter, r *http.Request) {
	n.requests.Add(1)
	body, _ := io.ReadAll(r.Body)
	n.mu.Lock()
	n.log.header, n.log.uri, n.log.host, n.log.body = r.Header.Clone(), r.RequestURI, r.Host, string(body)
	n.mu.Unlock()
	switch r.URL.Path {
	case "/redirect":
		http.Redirect(w, r, "http://private.example/secret", http.StatusFound)
	case "/big":
		size, _ := strconv.Atoi(r.URL.Query().Get("n"))
		chunk := bytes.Repeat([]byte("x"), 1000)
		for range size / 1000 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	case "/hang":
		<-r.Context().Done()
	case "/upgrade":
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			io.WriteString(c,
				"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nfree at last")
			c.Close()
		}
	case "/hop":
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("Keep-Alive", "timeout=99")
		w.Header().Set("X-Kept", "yes")
		io.WriteString(w, "hop")
	default:
		fmt.Fprintf(w, "hello from %s, you sent %d bytes", r.Host, len(body))
	}
}

// authority is a certificate authority of our own.
func authority(t testing.TB) (*x509.CertPool, func(names ...string) tls.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fake internet"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	ca, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return pool, func(names ...string) tls.Certificate {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter}
		for _, n := range names {
			if ip := net.ParseIP(n); ip != nil {
				leaf.IPAddresses = append(leaf.IPAddresses, ip)
			} else if n != "" {
				leaf.DNSNames = append(leaf.DNSNames, n)
			}
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
}

// sandbox is a namespace with a proxy in it.
type sandbox struct {
	*internet
	proxy *egress.Proxy
	ns    string
	path  string // of the log
}

// newSandbox opens a proxy to the fake internet. Allowed are one.example,
// *.wild.example, private.example, metadata.example, dead.example and 11.0.0.1.
func newSandbox(t testing.TB, n *internet, l egress.Limits) *sandbox {
	s := &sandbox{internet: n, ns: namespace(t), path: filepath.Join(t.TempDir(), "egress.log")}
	var err error
	s.proxy, err = egress.Open(n.config(s.path, l))
	must(t, err)
	must(t, s.proxy.ListenIn(s.ns))
	t.Cleanup(func() { s.proxy.Close() })
	return s
}

func (n *internet) config(log string, l egress.Limits) egress.Config {
	return egress.Config{
		Domains: []string{"one.example", "*.wild.example", "private.example", "metadata.example", "dead.example",
			"11.0.0.1", "port.example:8080"},
		Limits: l, Resolver: n, Dial: n.dial, LogPath: log,
	}
}

// client connects to the proxy from inside the sandbox.
func (s *sandbox) client(t testing.TB) net.Conn {
	t.Helper()
	c, err := s.connect()
	must(t, err)
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *sandbox) connect() (net.Conn, error) {
	var c net.Conn
	err := inNamespace(s.ns, func() (err error) { c, err = net.Dial("tcp4", "127.0.0.1:3128"); return err })
	return c, err
}

// raw sends bytes and returns all that comes back.
func (s *sandbox) raw(t testing.TB, request string) string {
	t.Helper()
	c := s.client(t)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(c)
	c.Close()
	return string(data)
}

// The heads of ordinary requests, without their ends.
const (
	getOne  = "GET http://one.example/ HTTP/1.1\r\nHost: one.example\r\n"
	postOne = "POST http://one.example/ HTTP/1.1\r\nHost: one.example\r\n"
)

// get asks for a page of one.example.
func (s *sandbox) get(t testing.TB) string {
	t.Helper()
	return s.raw(t, getOne+"\r\n")
}

// tunnel asks for CONNECT and returns the connection after the answer.
func (s *sandbox) tunnel(t testing.TB, target string) (net.Conn, string) {
	t.Helper()
	c := s.client(t)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	resp, err := http.ReadResponse(bufio.NewReader(onlyReader{c}), &http.Request{Method: http.MethodConnect})
	must(t, err)
	resp.Body.Close()
	return c, strconv.Itoa(resp.StatusCode)
}

// onlyReader reads byte by byte, so that nothing of what follows is swallowed.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(b []byte) (int, error) { return o.r.Read(b[:min(len(b), 1)]) }

// httpClient is an ordinary client that uses the proxy.
func (s *sandbox) httpClient(t testing.TB) *http.Client {
	tr := &http.Transport{
		Proxy: func(*http.Request) (*netURL, error) { return proxyURL, nil },
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return s.connect()
		},
		TLSClientConfig: &tls.Config{RootCAs: s.pool},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// report is what the log says.
func (s *sandbox) report(t testing.TB) egress.Report {
	t.Helper()
	r, err := egress.ReadLog(s.path)
	must(t, err)
	return r
}

// has waits until the report holds the decision: a client may be told of it before.
func (s *sandbox) has(t testing.TB, host string, port uint16, c egress.Cause) {
	t.Helper()
	eventually(t, fmt.Sprintf("the decision %s %d %s", host, port, c), func() bool {
		return slices.Contains(s.report(t).Decisions, egress.Decision{host, port, c})
	})
}

// eventually waits for what follows an answer.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for " + what)
		}
	}
}
