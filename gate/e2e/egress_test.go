package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
)

// These make the test binary a gate that sees a fake internet, the sockets of which
// lie in a folder. It has a network namespace of its own.
const (
	webNodeEnv = "THREEGATE_TEST_WEB_NODE"
	webDirEnv  = "THREEGATE_TEST_WEB_DIR"
	webInitEnv = "THREEGATE_TEST_WEB_INIT"
)

// webAddress is the fake internet's only host; hostAddress is one of the gate's own
// machine, and neighbour lies in the same network.
const (
	webAddress  = "11.0.0.1"
	hostAddress = "12.0.0.1" // of class A: its network is 12.0.0.0/8
	neighbour   = "12.0.0.2"
)

// fakeWeb resolves and connects for the gate under test.
type fakeWeb string

func (w fakeWeb) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	switch {
	case name == "one.example", strings.HasPrefix(name, "found"):
		return []netip.Addr{netip.MustParseAddr(webAddress)}, nil
	case name == "neighbour.example":
		return []netip.Addr{netip.MustParseAddr(neighbour)}, nil
	}
	return nil, errors.New("no such name")
}

func (w fakeWeb) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(string(w), fmt.Sprint(to.Port())))
}

// webGate is `serve`, with a fake internet.
func webGate() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := addAddress("lo", hostAddress); err != nil {
		return err
	}
	cfg, err := config.Load(os.Getenv(webNodeEnv))
	if err != nil {
		return err
	}
	web := fakeWeb(os.Getenv(webDirEnv))
	c := executorConfig(cfg, os.Getenv(webInitEnv), cfg.Backends.Images)
	c.Images["tools"] = cfg.Backends.ERA.Languages["tools"].Image
	c.Egress = egress.Config{Resolver: web, Dial: web.dial}
	e, err := container.Open(ctx, c)
	if err != nil {
		return err
	}
	g, err := gate.Open(cfg, gate.Options{Executor: e, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return errors.Join(err, e.Shutdown(context.Background()))
	}
	err = g.Run(ctx)
	return errors.Join(err, g.Close(), e.Shutdown(context.Background()), container.Dismantle(cfg.RunDir()))
}

// addAddress gives an interface of this network namespace an address, and brings it up.
func addAddress(name, address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ip := netip.MustParseAddr(address).As4()
	if err := ifr.SetInet4Addr(ip[:]); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, ifr); err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// newWebNode serves a node whose gate sees a fake internet, with git's own server of the repositories in a folder.
func newWebNode(t *testing.T, repositories string) *node {
	t.Helper()
	dir, err := os.MkdirTemp("", "web") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	git := gitServer(t, repositories)
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/git/") {
			git.ServeHTTP(w, r)
			return
		}
		var hops int
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		} else if _, err := fmt.Sscanf(r.URL.Path, "/hops/%d", &hops); err == nil && hops > 0 {
			http.Redirect(w, r, fmt.Sprint("/hops/", hops-1), http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "hello, you sent %d bytes\n", len(body))
	})
	starts := map[string]func(*httptest.Server){"80": (*httptest.Server).Start, "443": (*httptest.Server).StartTLS}
	for port, start := range starts {
		s := httptest.NewUnstartedServer(site)
		s.Listener.Close()
		s.Listener, err = net.Listen("unix", filepath.Join(dir, port))
		must(t, err)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		start(s)
		t.Cleanup(s.Close)
	}
	n := newNode(t, "network:\n  allowed_domains: [one.example, \"*.wild.example\", neighbour.example]\n")
	n.untilServed()
	must(t, n.stop())
	n.command = func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), webNodeEnv+"="+n.dir, webDirEnv+"="+dir,
			webInitEnv+"="+filepath.Join(filepath.Dir(threegate), "threegate-init"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		return cmd
	}
	n.serve()
	return n
}

func gitServer(t *testing.T, repositories string) http.Handler {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	return &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_NOSYSTEM=1"}, Logger: log.New(io.Discard, "", 0), Stderr: io.Discard}
}

// visit is a program that may use the network.
func visit(id, script string) request {
	r := era(id, visitScript+script)
	r.network = "allowlist"
	return r
}

// visitScript has get, which asks for a page, and connect, which opens a tunnel.
const visitScript = `import socket, ssl, time, urllib.error, urllib.request

def get(url, data=None):
    try:
        with urllib.request.urlopen(url, data) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()

def connect(host):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    assert b" 200 " in s.recv(1000)
    return s
`

// decided is what the ledger has of a run's network, as "decision destination".
func (n *node) decided(id string) []string {
	n.t.Helper()
	var all []string
	for _, e := range n.events() {
		if e.Type == ledger.EgressDecided && e.RequestID == id {
			all = append(all, e.Decision+" "+e.Destination)
		}
	}
	return all
}

// networkCase is a program, and what its result and the ledger must say.
type networkCase struct {
	name, script string
	printed      string
	destinations []string
	notes        []string // each is in one of the safety notes
	decided      []string // each is in the ledger
}

// TestNetworkIsOnRecord: what a run asked for, reached or not, is in its result and in
// the ledger, or counted there.
func TestNetworkIsOnRecord(t *testing.T) {
	n := newWebNode(t, t.TempDir())
	for i, tt := range []networkCase{
		{
			name: "many refusals before a host is reached",
			script: `
for i in range(300):
    assert get(f"http://h{i}.example/")[0] == 403
print(get("http://one.example/", b"data")[1])
`,
			printed:      "hello, you sent 4 bytes",
			destinations: []string{"one.example:80"},
			notes:        []string{"refused: h0.example:80 is not listed", "and 280 more"},
			decided: []string{"allowed one.example:80", "denied h0.example:80 is not listed",
				"denied 44 more that are not listed"},
		},
		{
			name: "a tunnel that ends before a whole hello",
			script: `
s = connect("one.example")
s.sendall(bytes([22, 3, 1, 0]))
s.close()
print("closed")
`,
			printed:      "closed",
			destinations: []string{"one.example:443"},
			decided:      []string{"allowed one.example:443"},
		},
		{
			name: "names that are not found",
			script: `
for i in range(25):
    print(get(f"http://data{i}.wild.example/")[0])
`,
			printed: "502",
			notes: []string{"asked for in vain: data0.wild.example:80 is allowed, but no address was found",
				"and 5 more"},
			decided: []string{"allowed data24.wild.example:80 is allowed, but no address was found"},
		},
		{
			name:    "a neighbour of the host",
			script:  "print(get('http://neighbour.example/')[0])\n",
			printed: "403",
			notes:   []string{"neighbour.example:80 has an address that is not public"},
			decided: []string{"denied neighbour.example:80 has an address that is not public"},
		},
		{
			name: "a name that a result must not repeat",
			script: `
get("http://glpat" + "-0123456789abcdefghij.example/")
print(get("http://found.wild.example/")[1])
`,
			printed:      "hello",
			destinations: []string{"found.wild.example:80"},
			notes:        []string{"refused: ⟦withheld - holds a secret - secrets.scan⟧."},
			decided:      []string{"denied glpat-0123456789abcdefghij.example:80 is not listed"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			r := visit(fmt.Sprintf("TR-20260209-18%02d00Z-network", i), tt.script)
			n.send(r)
			n.hasNetwork(r.id, tt)
		})
	}
	n.t = t
	n.check()
}

// hasNetwork awaits a result and compares what it and the ledger say of the network.
func (n *node) hasNetwork(id string, want networkCase) {
	n.t.Helper()
	t := n.t
	res := n.result(n.await(id))
	if !strings.Contains(res.Stdout.Text, want.printed) {
		t.Errorf("it printed %q and %q", res.Stdout.Text, res.Stderr.Text)
	}
	if !slices.Equal(res.NetworkDestinations, want.destinations) {
		t.Errorf("destinations %v", res.NetworkDestinations)
	}
	notes := strings.Join(res.Safety.Unexpected, "\n")
	for _, note := range want.notes {
		if !strings.Contains(notes, note) {
			t.Errorf("no %q in\n%s", note, notes)
		}
	}
	decided := n.decided(id)
	for _, d := range want.decided {
		if !slices.Contains(decided, d) {
			t.Errorf("no %q in %d events", d, len(decided))
		}
	}
}

// TestTunnelOutlivesItsGate: a gate is killed while a tunnel is open. The next one
// knows where it led.
func TestTunnelOutlivesItsGate(t *testing.T) {
	n := newWebNode(t, t.TempDir())
	r := visit("TR-20260209-190000Z-tunnel", `
c = ssl.create_default_context()
c.check_hostname = False
c.verify_mode = ssl.CERT_NONE
s = c.wrap_socket(connect("one.example"), server_hostname="one.example")
s.sendall(b"GET / HTTP/1.1\r\nHost: one.example\r\n\r\n")
assert b" 200 OK" in s.recv(1000)
print("open")
while s.recv(1000):
    pass
print("cut")
`)
	n.send(r)
	n.untilPrinted("open")
	n.kill()
	logs, err := filepath.Glob(filepath.Join(n.cfg.RunDir(), "boxes", "*", "egress.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if rep, err := egress.ReadLog(logs[0]); err != nil || rep.Down == 0 {
		t.Errorf("the bytes of the tunnel are lost: %+v, %v", rep, err)
	}
	n.serve()
	n.hasNetwork(r.id, networkCase{printed: "cut", destinations: []string{"one.example:443"},
		decided: []string{"allowed one.example:443"}})
	n.check()
}

// TestPublicSuffixes: a node that allows names which anybody can register is not served.
func TestPublicSuffixes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	n := &node{t: t, dir: dir}
	n.threegate("init", dir, "--images", images, "--name", "e2e")
	file := filepath.Join(dir, config.FileName)
	for _, suffix := range []string{"*.workers.dev", "*.s3.amazonaws.com"} {
		must(t, os.WriteFile(file, []byte(fmt.Sprintf("version: 1\nnetwork:\n  allowed_domains: [%q]\n", suffix)),
			0o640))
		for _, args := range [][]string{{"serve"}, {"doctor"}, {"config", "show"}} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			out, err := exec.CommandContext(ctx, threegate, append(args, "--node", dir)...).CombinedOutput()
			cancel()
			if err == nil || !strings.Contains(string(out), "anybody can register") {
				t.Errorf("%s: %v: %v\n%s", suffix, args, err, out)
			}
		}
	}
}
