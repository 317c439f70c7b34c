package egress_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/egress"
)

type netURL = url.URL

var proxyURL = &url.URL{Scheme: "http", Host: "127.0.0.1:3128"}

func get(t *testing.T, c *http.Client, target string) (int, string) {
	t.Helper()
	resp, err := c.Get(target)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(body)
}

func TestAllowedHosts(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	c := s.httpClient(t)
	for _, target := range []string{"http://one.example/", "https://one.example/", "http://sub.wild.example/a?b",
		"https://sub.wild.example", "http://11.0.0.1/", "https://11.0.0.1/"} {
		if status, body := get(t, c, target); status != 200 || !strings.Contains(body, "hello from") {
			t.Errorf("%s: %d %q", target, status, body)
		}
	}
	resp, err := c.Post("http://one.example/post?q=%2F..", "text/plain",
		strings.NewReader(strings.Repeat("y", 100_000)))
	must(t, err)
	resp.Body.Close()
	if n.seen().uri != "/post?q=%2F.." || n.seen().host != "one.example" || len(n.seen().body) != 100_000 {
		t.Errorf("the host saw %q, %q and %d bytes", n.seen().uri, n.seen().host, len(n.seen().body))
	}
	want := []string{"11.0.0.1:80", "11.0.0.1:443", "one.example:80", "one.example:443", "sub.wild.example:80",
		"sub.wild.example:443"}
	r := s.report(t)
	if !slices.Equal(r.Destinations(), want) || len(r.Refused()) != 0 || len(r.Failed()) != 0 {
		t.Errorf("destinations %v, refused %v, failed %v", r.Destinations(), r.Refused(), r.Failed())
	}
	if r.Up < 100_000 || r.Down < 1000 || r.Requests != 7 {
		t.Errorf("usage %+v", r)
	}
}

func TestRefusedHosts(t *testing.T) {
	tests := []struct {
		target string
		host   string
		port   uint16
		cause  egress.Cause
	}{
		{"two.example", "two.example", 0, egress.CauseUnlistedHost},
		{"wild.example", "wild.example", 0, egress.CauseUnlistedHost},
		{"evilwild.example", "evilwild.example", 0, egress.CauseUnlistedHost},
		{"one.example.evil.example", "one.example.evil.example", 0, egress.CauseUnlistedHost},
		{"11.0.0.2", "11.0.0.2", 0, egress.CauseUnlistedHost},
		{"127.0.0.1", "127.0.0.1", 0, egress.CauseUnlistedHost},
		{"[::1]", "::1", 0, egress.CauseUnlistedHost},
		{"[::ffff:11.0.0.1]", "::ffff:11.0.0.1", 0, egress.CauseUnlistedHost},
		{"169.254.169.254", "169.254.169.254", 0, egress.CauseUnlistedHost},
		{"localhost", "localhost", 0, egress.CauseUnlistedHost},
		{"one.example:8080", "one.example", 8080, egress.CauseUnlistedPort},
		{"port.example", "port.example", 0, egress.CauseUnlistedPort},
		{"private.example", "private.example", 0, egress.CauseAddress},
		{"metadata.example", "metadata.example", 0, egress.CauseAddress},
		{"nowhere.wild.example", "nowhere.wild.example", 0, egress.CauseUnresolved},
		{"dead.example", "dead.example", 0, egress.CauseUnreachable},
		// other ways to write an address, or something that is no host
		{"0x0b000001", "", 0, egress.CauseMalformed},
		{"184549377", "", 0, egress.CauseMalformed},
		{"11.1", "", 0, egress.CauseMalformed},
		{"011.0.0.1", "", 0, egress.CauseMalformed},
		{"one_example", "", 0, egress.CauseMalformed},
		{"one..example", "", 0, egress.CauseMalformed},
		{"one.example..", "", 0, egress.CauseMalformed},
		{"%6fne.example", "", 0, egress.CauseMalformed},
		{"user@one.example", "", 0, egress.CauseMalformed},
		{"one.example:0", "", 0, egress.CauseMalformed},
		{"one.example:080", "", 0, egress.CauseMalformed},
		{"one.example:65536", "", 0, egress.CauseMalformed},
		{"one.example:", "", 0, egress.CauseMalformed},
		{"[one.example]", "", 0, egress.CauseMalformed},
		{"[fe80::1%25eth0]", "", 0, egress.CauseMalformed},
		{"[11.0.0.1]", "", 0, egress.CauseMalformed},
	}
	n := newInternet(t)
	n.set("dead.example", "11.9.9.9")
	n.set("port.example", addrOne)
	s := newSandbox(t, n, egress.Limits{})
	for _, tt := range tests {
		for _, method := range []string{"GET", "CONNECT"} {
			authority, port := tt.target, uint16(80)
			request := fmt.Sprintf("GET http://%s/secret-path HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
			if method == "CONNECT" {
				port = 443
				if i := strings.LastIndexByte(authority, ':'); i < 0 || strings.HasSuffix(authority, "]") {
					authority += ":443"
				}
				request = fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
			}
			answer := s.raw(t, request)
			want := "HTTP/1.1 403 "
			switch tt.cause {
			case egress.CauseMalformed:
				want, port = "HTTP/1.1 400 ", 0
			case egress.CauseUnresolved, egress.CauseUnreachable:
				want = "HTTP/1.1 502 "
			}
			if tt.port != 0 {
				port = tt.port
			}
			if !strings.HasPrefix(answer, want) || strings.Contains(answer, "secret-path") {
				t.Errorf("%s %s: %q, want %s", method, tt.target, answer, want)
			}
			s.has(t, tt.host, port, tt.cause)
		}
	}
	if n.requests.Load() != 0 {
		t.Error("a refused request reached a host")
	}
	for _, l := range n.seen().lookups {
		switch l {
		case "private.example", "metadata.example", "nowhere.wild.example", "dead.example":
		default:
			t.Errorf("the name server was asked for %s, which is not on the list", l)
		}
	}
	for _, d := range n.seen().dialed {
		if !strings.HasPrefix(d, "11.9.9.9:") {
			t.Errorf("dialed %s", d)
		}
	}
}

// A name that has a public address first and another one later, or both at once,
// never leads to the other one.
func TestRebinding(t *testing.T) {
	public, private := netip.MustParseAddr(addrOne), netip.MustParseAddr(addrPrivate)
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	t.Run("second answer", func(t *testing.T) {
		var asked atomic.Int64
		n.answers(func(string) ([]netip.Addr, error) {
			if asked.Add(1) == 1 {
				return []netip.Addr{public}, nil
			}
			return []netip.Addr{private}, nil
		})
		if answer := s.get(t); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("first: %q", answer)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("one connection asked %d times", n)
		}
		if answer := s.get(t); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
			t.Errorf("second: %q", answer)
		}
	})
	bad := []string{addrPrivate, addrMetadata, "127.0.0.1", "0.0.0.0", "224.0.0.1", "100.64.0.1", "::1", "::",
		"fe80::1", "fd00:ec2::254", "::ffff:11.0.0.1",
		"::ffff:10.0.0.5", "64:ff9b::a00:5", "2002:a00:5::1", "2001:0:a00:5::1", "168.63.129.16"}
	for _, b := range bad {
		for _, answers := range [][]string{{b}, {addrOne, b}, {b, addrOne}} {
			n.answers(func(string) ([]netip.Addr, error) {
				var addrs []netip.Addr
				for _, a := range answers {
					addrs = append(addrs, netip.MustParseAddr(a))
				}
				return addrs, nil
			})
			before := len(n.seen().dialed)
			if answer := s.get(t); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
				t.Errorf("%v: %q", answers, answer)
			}
			if len(n.seen().dialed) != before {
				t.Errorf("%v: dialed %v", answers, n.seen().dialed[before:])
			}
		}
	}
	for _, a := range []string{addrPrivate, addrMetadata, "127.0.0.1"} {
		if n.connections(a+":80")+n.connections(a+":443") != 0 {
			t.Errorf("%s was reached", a)
		}
	}
	s.has(t, "one.example", 80, egress.CauseAddress)
}

// The gate's own machine and its neighbours are out of reach also by a public address.
func TestHostNetworks(t *testing.T) {
	n := newInternet(t)
	s := &sandbox{internet: n, ns: namespace(t), path: t.TempDir() + "/log"}
	cfg := n.config(s.path, egress.Limits{})
	own := []netip.Prefix{netip.MustParsePrefix(addrTwo + "/8")}
	cfg.HostNetworks = func() ([]netip.Prefix, error) { return own, nil }
	var err error
	s.proxy, err = egress.Open(cfg)
	must(t, err)
	defer s.proxy.Close()
	must(t, s.proxy.ListenIn(s.ns))
	for _, host := range []string{"one.example", addrOne} {
		answer := s.raw(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
			t.Errorf("%s: %q", host, answer)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	c := s.httpClient(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Get("http://one.example/redirect")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 302 || resp.Header.Get("Location") != "http://private.example/secret" {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
	if n.connections(addrPrivate+":80") != 0 || len(n.seen().dialed) != 1 {
		t.Errorf("dialed %v", n.seen().dialed)
	}
}

func TestHopByHop(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	answer := s.raw(t, "GET http://one.example/hop HTTP/1.1\r\nHost: one.example\r\n"+
		"Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n"+
		"Connection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: 5\r\n"+
		"TE: trailers\r\nTrailer: X\r\nAccept: a\r\nAccept: b\r\n\r\n")
	for _, gone := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Private", "Keep-Alive", "Te",
		"Trailer", "User-Agent", "Via", "X-Forwarded-For", "Accept-Encoding"} {
		if v, ok := n.seen().header[gone]; ok {
			t.Errorf("%s: %v was passed on", gone, v)
		}
	}
	if got := n.seen().header["Accept"]; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Accept %v", got)
	}
	if strings.Contains(answer, "Proxy-Authenticate") || strings.Contains(answer, "Keep-Alive") ||
		!strings.Contains(answer, "X-Kept: yes") ||
		!strings.Contains(answer, "Connection: close") || !strings.HasSuffix(answer, "\r\nhop") {
		t.Errorf("answer %q", answer)
	}
}

func TestUpgradeOfTheHost(t *testing.T) {
	s := newSandbox(t, newInternet(t), egress.Limits{})
	answer := s.raw(t, "GET http://one.example/upgrade HTTP/1.1\r\nHost: one.example\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 502 ") || strings.Contains(answer, "free at last") {
		t.Errorf("answer %q", answer)
	}
}

// Bytes after the one request of a connection are read by nobody.
func TestNothingFollows(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	second := "GET http://one.example/second HTTP/1.1\r\nHost: one.example\r\n\r\n"
	for _, first := range []string{
		"GET http://one.example/first HTTP/1.1\r\nHost: one.example\r\n\r\n",
		"POST http://one.example/first HTTP/1.1\r\nHost: one.example\r\nContent-Length: 3\r\n\r\nabc",
		"POST http://one.example/first HTTP/1.1\r\nHost: one.example\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"3\r\nabc\r\n0\r\n\r\n",
	} {
		before := n.requests.Load()
		answer := s.raw(t, first+second)
		if got := n.requests.Load() - before; got != 1 || n.seen().uri != "/first" ||
			strings.Count(answer, "HTTP/1.1 ") != 1 {
			t.Errorf("%q: %d requests, the last for %s\n%s", first, got, n.seen().uri, answer)
		}
	}
}

func TestContinue(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	c := s.client(t)
	io.WriteString(c, postOne+"Content-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	io.WriteString(c, "body")
	rest, _ := io.ReadAll(in)
	if !strings.Contains(string(rest), "you sent 4 bytes") || n.seen().body != "body" {
		t.Errorf("%q, the host got %q", rest, n.seen().body)
	}
}

// A body that two readers could end at different places does not arrive whole.
func TestChunks(t *testing.T) {
	n := newInternet(t)
	post := postOne + "Transfer-Encoding: chunked\r\n\r\n"
	answer := newSandbox(t, n, egress.Limits{}).raw(t, post+"3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n")
	if !strings.Contains(answer, "you sent 3 bytes") || len(n.seen().header["Trailer"]) != 0 {
		t.Errorf("good chunks: %q", answer)
	}
	s := newSandbox(t, n, egress.Limits{IdleTime: 300 * time.Millisecond})
	for _, body := range []string{"3\nabc\r\n0\r\n\r\n", "3;x\ny\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
		"0x3\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n",
		"ffffffffffffffffff\r\nabc", " \r\n", "3 3\r\nabc\r\n0\r\n\r\n"} {
		if answer := s.raw(t, post+body); strings.Contains(answer, "hello from") {
			t.Errorf("%q: %q", body, answer)
		}
	}
}

func TestHead(t *testing.T) {
	s := newSandbox(t, newInternet(t), egress.Limits{})
	answer := s.raw(t, "HEAD http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.HasSuffix(answer, "\r\n\r\n") ||
		!strings.Contains(answer, "Content-Length: 40\r\n") {
		t.Errorf("%q", answer)
	}
}

func TestOldClients(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	// As Python before 3.12 does: HTTP/1.0 and no Host.
	c := s.client(t)
	io.WriteString(c, "CONNECT one.example:443 HTTP/1.0\r\n\r\n")
	if line, _ := bufio.NewReader(onlyReader{c}).ReadString('\n'); !strings.Contains(line, " 200 ") {
		t.Fatalf("%q", line)
	}
	answer := s.raw(t, "GET http://one.example/big?n=3000 HTTP/1.0\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.0 200 ") || strings.Contains(answer, "chunked") ||
		!strings.HasSuffix(answer, strings.Repeat("x", 3000)) {
		t.Errorf("%.300q", answer)
	}
}

func TestServerName(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	handshake := func(t *testing.T, target string, cfg *tls.Config) error {
		c, status := s.tunnel(t, target)
		if status != "200" {
			t.Fatal(status)
		}
		cfg.RootCAs = n.pool
		tc := tls.Client(c, cfg)
		if err := tc.Handshake(); err != nil {
			return err
		}
		fmt.Fprintf(tc, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		_, err := io.ReadAll(tc)
		return err
	}
	for _, tt := range []struct {
		name, target string
		cfg          *tls.Config
		ok           bool
	}{
		{"same", "one.example:443", &tls.Config{ServerName: "one.example"}, true},
		{"TLS 1.2", "one.example:443", &tls.Config{ServerName: "one.example", MaxVersion: tls.VersionTLS12}, true},
		{"other case", "ONE.Example.:443", &tls.Config{ServerName: "one.example"}, true},
		{"other host", "one.example:443", &tls.Config{ServerName: "two.example"}, false},
		{"other allowed host", "one.example:443", &tls.Config{ServerName: "sub.wild.example"}, false},
		{"below", "one.example:443", &tls.Config{ServerName: "a.one.example"}, false},
		{"none", "one.example:443", &tls.Config{InsecureSkipVerify: true}, false},
		{"address", "11.0.0.1:443", &tls.Config{ServerName: "11.0.0.1"}, true},
		{"address with a name", "11.0.0.1:443", &tls.Config{ServerName: "one.example"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := n.requests.Load()
			if err := handshake(t, tt.target, tt.cfg); (err == nil) != tt.ok {
				t.Errorf("handshake: %v", err)
			} else if !tt.ok && !strings.Contains(err.Error(), "access denied") {
				t.Errorf("the client is not told why: %v", err)
			}
			if got := n.requests.Load() - before; (got == 1) != tt.ok {
				t.Errorf("%d requests arrived", got)
			}
		})
	}
	s.has(t, "one.example", 443, egress.CauseServerName)
	s.has(t, "11.0.0.1", 443, egress.CauseServerName)
}

// realHello is what Go's client sends.
func realHello(t testing.TB, cfg *tls.Config) []byte {
	a, b := net.Pipe()
	defer b.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(a, cfg).Handshake()
	}()
	buf := make([]byte, 1<<15)
	n, err := b.Read(buf)
	must(t, err)
	a.Close()
	<-done
	return buf[:n]
}

// What is not TLS does not pass a tunnel; not one byte of it arrives.
func TestTunnelIsTLS(t *testing.T) {
	n := newInternet(t)
	l := n.listen(t, addrTwo+":8443")
	defer l.Close()
	got := make(chan []byte, 16)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(c)
			c.Close()
			got <- data
		}
	})
	defer accepting.Wait()
	defer l.Close()
	s := &sandbox{internet: n, ns: namespace(t), path: t.TempDir() + "/log"}
	cfg := n.config(s.path, egress.Limits{HeaderTime: 2 * time.Second})
	cfg.Domains = []string{"two.example:8443"}
	var err error
	s.proxy, err = egress.Open(cfg)
	must(t, err)
	defer s.proxy.Close()
	must(t, s.proxy.ListenIn(s.ns))
	hello := realHello(t, &tls.Config{ServerName: "two.example"})
	for name, send := range map[string]string{
		"http":          "GET / HTTP/1.1\r\nHost: two.example\r\n\r\n",
		"ssh":           "SSH-2.0-x\r\n",
		"h2":            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"alert":         "\x15\x03\x01\x00\x02\x02\x28",
		"SSLv2":         "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",
		"half a hello":  string(hello[:40]),
		"nothing":       "",
		"hello and not": string(hello[:5]) + strings.Repeat("A", 60),
	} {
		c, status := s.tunnel(t, "two.example:8443")
		if status != "200" {
			t.Fatal(status)
		}
		io.WriteString(c, send)
		io.ReadAll(c)
		if data := <-got; len(data) != 0 {
			t.Errorf("%s: %q arrived", name, data)
		}
	}
	s.has(t, "two.example", 8443, egress.CauseNotTLS)
	s.has(t, "two.example", 8443, egress.CauseTime)
	if d := s.report(t).Destinations(); !slices.Equal(d, []string{"two.example:8443"}) {
		t.Errorf("destinations %v", d) // a connection was opened, if nothing more
	}
}

func TestBytes(t *testing.T) {
	n := newInternet(t)
	t.Run("down", func(t *testing.T) {
		s := newSandbox(t, n, egress.Limits{DownBytes: 50_000})
		answer := s.raw(t, "GET http://one.example/big?n=200000 HTTP/1.1\r\nHost: one.example\r\n\r\n")
		if len(answer) > 60_000 || strings.HasSuffix(answer, "0\r\n\r\n") {
			t.Errorf("%d bytes came through, the end is %q", len(answer), answer[len(answer)-20:])
		}
		s.has(t, "one.example", 80, egress.CauseBytes)
		must(t, s.proxy.Close())
		if r := s.report(t); r.Down != 50_000 {
			t.Errorf("counted %d", r.Down)
		}
	})
	t.Run("up", func(t *testing.T) {
		s := newSandbox(t, n, egress.Limits{UpBytes: 50_000})
		c := s.client(t)
		go func() {
			fmt.Fprintf(c, "POST http://one.example/up HTTP/1.1\r\nHost: one.example\r\nContent-Length: 200000\r\n\r\n")
			c.Write(bytes.Repeat([]byte("u"), 200_000))
		}()
		io.ReadAll(c)
		s.has(t, "one.example", 80, egress.CauseBytes)
		// All later connections are cut as well.
		if answer := s.get(t); strings.Contains(answer, "hello") {
			t.Errorf("after the limit: %q", answer)
		}
		must(t, s.proxy.Close())
		if r := s.report(t); r.Up != 50_000 {
			t.Errorf("counted %d", r.Up)
		}
	})
	t.Run("in a tunnel", func(t *testing.T) {
		s := newSandbox(t, n, egress.Limits{DownBytes: 50_000})
		resp, err := s.httpClient(t).Get("https://one.example/big?n=200000")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Error("all came through")
		}
		s.has(t, "one.example", 443, egress.CauseBytes)
	})
}

// patience ends what hangs; it decides no outcome.
const patience = 2 * time.Minute

func TestTimes(t *testing.T) {
	n := newInternet(t)
	for name, l := range map[string]egress.Limits{
		"idle":  {IdleTime: time.Second},
		"total": {TotalTime: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, n, l)
			s.raw(t, "GET http://one.example/hang HTTP/1.1\r\nHost: one.example\r\n\r\n")
			c, _ := s.tunnel(t, "one.example:443")
			tc := tls.Client(c, &tls.Config{RootCAs: n.pool, ServerName: "one.example"})
			_ = tc.Handshake() // its time may be over before
			io.ReadAll(tc)
			s.has(t, "one.example", 80, egress.CauseTime)
			s.has(t, "one.example", 443, egress.CauseTime)
		})
	}
	t.Run("slow head", func(t *testing.T) {
		s := newSandbox(t, n, egress.Limits{HeaderTime: 200 * time.Millisecond})
		c := s.client(t)
		go func() {
			for range 100 { // a byte now and then does not help
				if _, err := c.Write([]byte("G")); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		if data, _ := io.ReadAll(c); strings.HasPrefix(string(data), "HTTP/1.1 2") {
			t.Errorf("%q", data)
		}
		eventually(t, "a decision", func() bool { return len(s.report(t).Refused()) == 1 })
		s.has(t, "", 0, egress.CauseMalformed)
	})
}

func TestConnections(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{Connections: 4})
	var idle []net.Conn
	for range 4 {
		idle = append(idle, s.client(t)) // it sends nothing
	}
	eventually(t, "four connections", func() bool {
		return s.report(t).Requests == 4
	})
	fifth := s.client(t)
	io.WriteString(fifth, "GET http://two.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n")
	if r := s.report(t); r.Requests != 4 || len(r.Decisions) != 0 {
		t.Errorf("the fifth did not wait: %+v", r)
	}
	idle[0].Close()
	if data, _ := io.ReadAll(fifth); !strings.HasPrefix(string(data), "HTTP/1.1 403 ") {
		t.Errorf("then the fifth got %q", data)
	}
}

func TestRequests(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{Requests: 3})
	request := "GET http://two.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n"
	for range 3 {
		if answer := s.raw(t, request); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
			t.Fatalf("%q", answer)
		}
	}
	c := s.client(t)
	if data, _ := io.ReadAll(c); len(data) > 0 {
		t.Errorf("the fourth got %q", data)
	}
	eventually(t, "the end of the listener", func() bool {
		c, err := s.connect()
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if r := s.report(t); r.Requests != 3 || !slices.Contains(r.Refused(),
		"a destination that was beyond the limit of requests") {
		t.Errorf("%+v", r)
	}
	// Nor does the next process.
	must(t, s.proxy.Close())
	again, err := egress.Open(n.config(s.path, egress.Limits{Requests: 3}))
	must(t, err)
	defer again.Close()
	if err := again.ListenIn(s.ns); err == nil {
		t.Error("the next process listens again")
	}
}

func TestManyAtOnce(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	c := s.httpClient(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			target := []string{"http://one.example/big?n=100000", "https://sub.wild.example/big?n=100000",
				"http://two.example/", "http://private.example/"}[i%4]
			resp, err := c.Get(target)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if want := i%4 < 2; err != nil || want != (resp.StatusCode == 200 && len(body) == 100_000) || !want &&
				resp.StatusCode != 403 {
				t.Errorf("%s: %d, %d bytes, %v", target, resp.StatusCode, len(body), err)
			}
		})
	}
	all.Wait()
	r := s.report(t)
	if got := len(r.Decisions); got != 4 {
		t.Errorf("decisions %+v", r.Decisions)
	}
}

// Close ends what is open, whatever it does, and leaves no goroutine.
func TestCloseEndsAll(t *testing.T) {
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{})
	idle := s.client(t)
	hanging := s.client(t)
	io.WriteString(hanging, "GET http://one.example/hang HTTP/1.1\r\nHost: one.example\r\n\r\n")
	tunnel, _ := s.tunnel(t, "one.example:443")
	tc := tls.Client(tunnel, &tls.Config{RootCAs: n.pool, ServerName: "one.example"})
	must(t, tc.Handshake())
	must(t, s.proxy.Close())
	must(t, s.proxy.Close())
	for _, c := range []io.Reader{idle, hanging, tunnel} {
		io.ReadAll(c)
	}
	if c, err := s.connect(); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}
