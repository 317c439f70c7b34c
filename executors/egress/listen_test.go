package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/egress"
)

// inside runs in a sandbox's namespace and tries every way out that the
// namespace could have. Arguments: a TCP port of the host's loopback, one of its
// abstract UNIX sockets, and further addresses of the host.
func inside(args []string) error {
	hostPort, abstract := args[0], args[1]
	try := func(what, network, address string) {
		d := net.Dialer{Timeout: 2 * time.Second}
		c, err := d.Dial(network, address)
		if err == nil && strings.HasPrefix(network, "udp") {
			_, err = c.Write([]byte("x"))
		}
		var errno unix.Errno
		switch {
		case err == nil:
			fmt.Println(what, "REACHED")
		case errors.As(err, &errno):
			fmt.Println(what, unix.ErrnoName(errno))
		default:
			fmt.Println(what, "error")
		}
		if c != nil {
			c.Close()
		}
	}
	try("host-loopback", "tcp4", "127.0.0.1:"+hostPort)
	try("host-abstract", "unix", "@"+abstract)
	try("tcp4", "tcp4", "192.0.2.1:80")
	try("udp4", "udp4", "192.0.2.1:53")
	try("tcp6", "tcp6", "[2001:db8::1]:80")
	try("udp6", "udp6", "[2001:db8::1]:53")
	try("metadata", "tcp4", "169.254.169.254:80")
	try("internet", "tcp4", addrOne+":80")
	for _, a := range args[2:] {
		try("host-address", "tcp", net.JoinHostPort(a, hostPort))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if _, err := (&net.Resolver{PreferGo: true}).LookupNetIP(ctx, "ip", "one.example."); err == nil {
		fmt.Println("dns REACHED")
	}
	for _, table := range []string{"/proc/net/route", "/proc/net/ipv6_route"} {
		data, _ := os.ReadFile(table)
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 0 && f[0] != "Iface" && f[len(f)-1] != "lo" {
				fmt.Println("route REACHED", strings.TrimSpace(line))
			}
		}
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			fmt.Println("interface", i.Name)
		}
	}
	c, err := net.Dial("tcp4", "127.0.0.1:3128")
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(c, getOne+"\r\n")
	answer, _ := bufio.NewReader(c).ReadString('\n')
	fmt.Println("proxy", strings.TrimSpace(answer))
	if _, err := net.Listen("tcp4", "127.0.0.1:3128"); err == nil {
		fmt.Println("port REACHED")
	}
	return nil
}

// From inside nothing can be reached but the proxy.
func TestOnlyTheProxy(t *testing.T) {
	n := newInternet(t)
	host, err := net.Listen("tcp", ":0") // all of the host's addresses
	must(t, err)
	defer host.Close()
	abstract := fmt.Sprintf("egress-test-%d", os.Getpid())
	unixHost, err := net.Listen("unix", "@"+abstract)
	must(t, err)
	defer unixHost.Close()
	own, err := net.InterfaceAddrs()
	must(t, err)
	_, port, _ := net.SplitHostPort(host.Addr().String())
	args := []string{port, abstract}
	for _, a := range own {
		if ip := a.(*net.IPNet).IP; !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			args = append(args, ip.String())
		}
	}
	// From here it can: the test means something.
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	must(t, err)
	c.Close()

	holder, _ := helper(t, true, "hold")
	p, err := egress.Open(n.config(filepath.Join(t.TempDir(), "log"), egress.Limits{}))
	must(t, err)
	defer p.Close()
	ns := fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid)
	must(t, p.ListenIn(ns))
	printed := runInside(t, ns, args)
	t.Log("\n" + printed)
	if strings.Contains(printed, "REACHED") {
		t.Errorf("something was reached:\n%s", printed)
	}
	for _, want := range []string{"host-loopback ECONNREFUSED\n", "host-abstract ECONNREFUSED\n",
		"tcp4 ENETUNREACH\n", "udp4 ENETUNREACH\n", "metadata ENETUNREACH\n",
		"internet ENETUNREACH\n", "proxy HTTP/1.1 200 OK\n", "interface lo\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("missing %q in\n%s", want, printed)
		}
	}
}

// runInside starts the helper "inside" in the namespace: a child inherits that
// of the thread that starts it.
func runInside(t *testing.T, ns string, args []string) (printed string) {
	must(t, inNamespace(ns, func() error {
		_, printed = helper(t, false, "inside", args...)
		return nil
	}))
	return printed
}

func TestListenRefusesOtherNamespaces(t *testing.T) {
	n := newInternet(t)
	p, err := egress.Open(n.config(filepath.Join(t.TempDir(), "log"), egress.Limits{}))
	must(t, err)
	defer p.Close()
	fifo := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(fifo, nil, 0o600))
	other := namespace(t)
	must(t, inNamespace(other, func() error { return addDummy() }))
	for name, path := range map[string]string{
		"own":             "/proc/self/ns/net",
		"own thread":      "/proc/thread-self/ns/net",
		"another kind":    "/proc/self/ns/uts",
		"a file":          fifo,
		"nothing":         "/proc/0/ns/net",
		"more interfaces": other,
	} {
		if err := p.ListenIn(path); !errors.Is(err, egress.ErrNamespace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The test's threads are where they were.
	if c, err := net.DialTimeout("tcp", "127.0.0.1:3128", time.Second); err == nil {
		c.Close()
		t.Error("something listens on the host's loopback")
	}
}

// addDummy makes a pair of devices whose one end is up: an interface besides lo.
func addDummy() error {
	// A TUN device needs neither iproute2 nor netlink.
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ifr, err := unix.NewIfreq("tun7")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return err
	}
	unix.Close(fd)
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if ifr, err = unix.NewIfreq("tun7"); err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr)
}

func TestPortIsTaken(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	other, err := egress.Open(n.config(filepath.Join(t.TempDir(), "log"), egress.Limits{}))
	must(t, err)
	defer other.Close()
	if err := other.ListenIn(s.ns); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a second listener: %v", err)
	}
	if err := s.proxy.ListenIn(s.ns); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("the same again: %v", err)
	}
}

// gateRole is a gate that can be killed: it listens in the namespace args[0]
// with the log args[1] and answers every name with args[2].
func gateRole(args []string) error {
	p, err := egress.Open(egress.Config{Domains: []string{"one.example", "private.example"}, LogPath: args[1],
		Resolver: fixed(args[2]),
		Dial:     func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("no such host") }})
	if err != nil {
		return err
	}
	return p.ListenIn(args[0])
}

type fixed string

func (f fixed) Lookup(ctx context.Context, _ string) ([]netip.Addr, error) {
	if f == "" { // no answer
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []netip.Addr{netip.MustParseAddr(string(f))}, nil
}

// A gate dies; the sandbox lives on; the next gate listens in its place and
// knows what the first one had decided.
func TestNextGate(t *testing.T) {
	n := newInternet(t)
	s := &sandbox{internet: n, ns: namespace(t), path: filepath.Join(t.TempDir(), "log")}
	first, _ := helper(t, false, "gate", s.ns, s.path, addrPrivate)
	for range 5 {
		s.raw(t, "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	}
	s.raw(t, "CONNECT private.example:443 HTTP/1.1\r\n\r\n")
	s.raw(t, "CONNECT private.example:443 HTTP/1.0\r\n\r\n")
	s.raw(t, "rubbish\r\n")
	if _, err := egress.Open(egress.Config{Domains: []string{"one.example"},
		LogPath: filepath.Join(t.TempDir(), "no", "log")}); err == nil {
		t.Error("opened a log in no folder")
	}
	must(t, first.Process.Kill())
	first.Wait()
	if c, err := s.connect(); err == nil {
		c.Close()
		t.Fatal("a dead gate listens")
	}
	rep, err := egress.ReadLog(s.path)
	must(t, err)
	if got := rep.Refused(); !slices.Contains(got, "evil.example:80 is not listed") ||
		!slices.Contains(got, "private.example:443 has an address that is not public") {
		t.Errorf("after the death: %v", got)
	}

	s.proxy, err = egress.Open(n.config(s.path, egress.Limits{}))
	must(t, err)
	defer s.proxy.Close()
	must(t, s.proxy.ListenIn(s.ns))
	if status, body := get(t, s.httpClient(t), "http://one.example/"); status != 200 ||
		!strings.Contains(body, "hello") {
		t.Errorf("%d %q", status, body)
	}
	must(t, s.proxy.Close())
	rep, err = egress.ReadLog(s.path)
	must(t, err)
	if !slices.Equal(rep.Destinations(), []string{"one.example:80"}) ||
		!slices.Contains(rep.Refused(), "evil.example:80 is not listed") || rep.Requests < 7 {
		t.Errorf("in the end: %+v", rep)
	}
	data, err := os.ReadFile(s.path)
	must(t, err)
	if strings.Contains(string(data), "rubbish") {
		t.Error("the log holds what a client sent")
	}
}

// A gate dies during the lookup of a name: that it was asked for is known.
func TestKilledDuringLookup(t *testing.T) {
	s := &sandbox{ns: namespace(t), path: filepath.Join(t.TempDir(), "log")}
	gate, _ := helper(t, false, "gate", s.ns, s.path, "")
	io.WriteString(s.client(t), getOne+"\r\n")
	asked := func() []string {
		rep, err := egress.ReadLog(s.path)
		must(t, err)
		return rep.Failed()
	}
	eventually(t, "the look-up", func() bool { return len(asked()) == 1 })
	must(t, gate.Process.Kill())
	gate.Wait()
	if got := asked(); !slices.Equal(got, []string{"one.example:80 is allowed; what came of it is not known"}) {
		t.Errorf("%q", got)
	}
}

// The listener pins the namespace until it is closed, and not longer.
func TestCloseLetsTheNamespaceGo(t *testing.T) {
	n := newInternet(t)
	holder, _ := helper(t, true, "hold")
	ns := fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid)
	var st unix.Stat_t
	must(t, unix.Stat(ns, &st))
	p, err := egress.Open(n.config(filepath.Join(t.TempDir(), "log"), egress.Limits{}))
	must(t, err)
	must(t, p.ListenIn(ns))
	holder.Process.Kill()
	holder.Wait()
	must(t, p.Close())
	// No thread of this process stays there.
	threads, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, d := range threads {
			var own unix.Stat_t
			if unix.Stat("/proc/self/task/"+d.Name()+"/ns/net", &own) == nil && own.Ino == st.Ino {
				left++
			}
		}
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d threads are still inside", left)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := egress.Environment()
	slices.Sort(env)
	want := []string{"HTTPS_PROXY=http://127.0.0.1:3128", "HTTP_PROXY=http://127.0.0.1:3128", "NO_PROXY=",
		"http_proxy=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128", "no_proxy="}
	if !slices.Equal(env, want) {
		t.Errorf("%v", env)
	}
}

var _ io.Closer = (*egress.Proxy)(nil)
