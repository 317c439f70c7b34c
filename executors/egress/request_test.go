package egress_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/egress"
)

// smuggling are requests that two readers could understand differently, or that
// are not for a proxy.
// A mended one can be passed on: the request to the host says clearly what
// net/http understood.
var smuggling = []struct {
	name, request string
	mended        bool
}{
	{"CL and TE", postOne + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
	{"TE and CL", postOne + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", true},
	{"two CL", postOne + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", false},
	{"two equal CL", postOne + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", true},
	{"CL list", postOne + "Content-Length: 4, 4\r\n\r\nabcd", false},
	{"CL with sign", postOne + "Content-Length: +4\r\n\r\nabcd", false},
	{"CL negative", postOne + "Content-Length: -4\r\n\r\nabcd", false},
	{"CL hex", postOne + "Content-Length: 0x4\r\n\r\nabcd", false},
	{"CL huge", postOne + "Content-Length: 99999999999999999999\r\n\r\n", false},
	{"CL empty", postOne + "Content-Length:\r\n\r\n", false},
	{"TE twice", postOne + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", false},
	{"TE list", postOne + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", false},
	{"TE unknown", postOne + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", false},
	{"TE with a tab inside", postOne + "Transfer-Encoding:\tchun\tked\r\n\r\n0\r\n\r\n", false},
	{"TE with CR", postOne + "Transfer-Encoding: \rchunked\r\n\r\n0\r\n\r\n", false},
	{"TE with a vertical tab", postOne + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", false},
	{"TE in 1.0",
		"POST http://one.example/ HTTP/1.0\r\nHost: one.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
	{"space before colon", postOne + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", false},
	{"underscore", postOne + "Transfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\n", true},
	{"folded", getOne + "X: a\r\n b\r\n\r\n", true},
	{"folded with tab", getOne + "X: a\r\n\tContent-Length: 5\r\n\r\n", true},
	{"folded first line", "GET http://one.example/ HTTP/1.1\r\n Host: one.example\r\n\r\n", false},
	{"bare LF", "GET http://one.example/ HTTP/1.1\nHost: one.example\n\n", true},
	{"one bare LF", "GET http://one.example/ HTTP/1.1\r\nHost: one.example\nX: a\r\n\r\n", true},
	{"bare CR", "GET http://one.example/ HTTP/1.1\r\nHost: one.example\rX: a\r\n\r\n", false},
	{"CR before a field", getOne + "X: a\rXContent-Length: 0\r\n\r\n", false},
	{"CR CR LF", "GET http://one.example/ HTTP/1.1\r\r\nHost: one.example\r\n\r\n", false},
	{"NUL", getOne + "X: a\x00b\r\n\r\n", false},
	{"not ASCII", getOne + "X: \x85\xa0\r\n\r\n", true},
	{"empty line first", "\r\nGET http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"no name", getOne + ": x\r\n\r\n", false},
	{"no colon", getOne + "rubbish\r\n\r\n", false},
	{"two Hosts", getOne + "Host: two.example\r\n\r\n", false},
	{"the same Host twice", getOne + "host: one.example\r\n\r\n", false},
	{"no Host", "GET http://one.example/ HTTP/1.1\r\n\r\n", false},
	{"empty Host", "GET http://one.example/ HTTP/1.1\r\nHost:\r\n\r\n", true},
	{"other Host", "GET http://one.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n", true},
	{"other port in Host", "GET http://one.example/ HTTP/1.1\r\nHost: one.example:81\r\n\r\n", true},
	{"Host list", "GET http://one.example/ HTTP/1.1\r\nHost: one.example, two.example\r\n\r\n", false},
	{"other Host in 1.0", "GET http://one.example/ HTTP/1.0\r\nHost: two.example\r\n\r\n", true},
	{"Host of CONNECT", "CONNECT one.example:443 HTTP/1.1\r\nHost: two.example:443\r\n\r\n", true},
	{"port of CONNECT's Host", "CONNECT one.example:443 HTTP/1.1\r\nHost: one.example:80\r\n\r\n", true},
	{"origin form", "GET / HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"https by absolute form", "GET https://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"other scheme", "GET ftp://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"file", "GET file:///etc/passwd HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"no authority", "GET http:///path HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"user", "GET http://one.example@two.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n", false},
	{"user and password", "GET http://a:b@one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"backslash", "GET http://one.example\\@two.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"backslash in path", "GET http://one.example/\\two.example HTTP/1.1\r\nHost: one.example\r\n\r\n", true},
	{"fragment", "GET http://one.example#@two.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"fragment in path", "GET http://one.example/#x HTTP/1.1\r\nHost: one.example\r\n\r\n", true},
	{"space in target", "GET http://one.example/ HTTP/1.1 HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"tab in request line", "GET\thttp://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"two spaces", "GET  http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"bad percent", "GET http://one.example/%zz HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"HTTP/0.9", "GET http://one.example/\r\n", false},
	{"HTTP/2.0", "GET http://one.example/ HTTP/2.0\r\nHost: one.example\r\n\r\n", false},
	{"HTTP/1.2", "GET http://one.example/ HTTP/1.2\r\nHost: one.example\r\n\r\n", true},
	{"http/1.1", "GET http://one.example/ http/1.1\r\nHost: one.example\r\n\r\n", false},
	{"h2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
	{"lower-case method", "get http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", true},
	{"TRACE", "TRACE http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", true},
	{"unknown method", "PROPFIND http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", true},
	{"CONNECT with a path", "CONNECT one.example:443/x HTTP/1.1\r\nHost: one.example:443\r\n\r\n", false},
	{"CONNECT with a scheme", "CONNECT https://one.example:443 HTTP/1.1\r\nHost: one.example:443\r\n\r\n", false},
	{"CONNECT without a port", "CONNECT one.example HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"CONNECT with a user", "CONNECT a@one.example:443 HTTP/1.1\r\nHost: one.example:443\r\n\r\n", false},
	{"CONNECT with a body",
		"CONNECT one.example:443 HTTP/1.1\r\nHost: one.example:443\r\nContent-Length: 5\r\n\r\nhello", false},
	{"CONNECT chunked",
		"CONNECT one.example:443 HTTP/1.1\r\nHost: one.example:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		false},
	{"upgrade", getOne + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", false},
	{"upgrade to h2c", getOne + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
		false},
	{"upgrade without Connection", getOne + "Upgrade: websocket\r\n\r\n", false},
	{"Connection takes Host away", getOne + "Connection: Host\r\n\r\n", true},
	{"Connection takes the length away", postOne +
		"Connection: close, Content-Length\r\nContent-Length: 1\r\n\r\nx", true},
	{"Expect", postOne + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx", false},
	{"huge field", getOne + "X: " + strings.Repeat("a", 40<<10) + "\r\n\r\n", false},
	{"huge target", "GET http://one.example/" + strings.Repeat("a",
		40<<10) + " HTTP/1.1\r\nHost: one.example\r\n\r\n", false},
	{"endless name", strings.Repeat("A", 40<<10), false},
	{"many fields", getOne + "" + strings.Repeat("X: a\r\n", 101) + "\r\n", true},
	{"TLS to the proxy", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", false},
	{"SOCKS5", "\x05\x01\x00", false},
	{"SOCKS4", "\x04\x01\x00\x50\x0b\x00\x00\x01\x00", false},
}

// wire keeps what is sent to a host.
type wire struct {
	net.Conn
	mu   *sync.Mutex
	sent *bytes.Buffer
}

func (w wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent.Write(b)
	return w.Conn.Write(b)
}

var (
	oneLine  = regexp.MustCompile(`^[A-Za-z]+ /[^ ]* HTTP/1\.1$`)
	oneField = regexp.MustCompile(`^[A-Za-z0-9-]+: [^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// wellFormed says what is wrong with the one request that a host got: every reader
// must understand it in the same way.
func wellFormed(sent string) error {
	head, body, ok := strings.Cut(sent, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	if !ok || !oneLine.MatchString(lines[0]) {
		return fmt.Errorf("no request line, or no end of the head")
	}
	count := map[string]int{}
	length := 0
	for _, l := range lines[1:] {
		if !oneField.MatchString(l) {
			return fmt.Errorf("field %q", l)
		}
		name, value, _ := strings.Cut(l, ": ")
		count[strings.ToLower(name)]++
		if name == "Content-Length" {
			length, _ = strconv.Atoi(value)
		}
		if name == "Host" && value != "one.example" || name == "Transfer-Encoding" && value != "chunked" {
			return fmt.Errorf("field %q", l)
		}
	}
	switch {
	case count["host"] != 1, count["content-length"]+count["transfer-encoding"] > 1,
		count["upgrade"]+count["expect"] > 0:
		return fmt.Errorf("fields %v", count)
	case count["transfer-encoding"] == 1 && !strings.HasSuffix(body, "0\r\n\r\n"):
		return fmt.Errorf("a body without its end")
	case count["transfer-encoding"] == 0 && len(body) != length:
		return fmt.Errorf("a body of %d bytes, not %d", len(body), length)
	}
	return nil
}

// What two readers could understand differently is refused, or is written anew
// so that they can't: a host gets one whole request, made for it, or nothing.
func TestSmuggling(t *testing.T) {
	n := newInternet(t)
	s := &sandbox{internet: n, ns: namespace(t), path: t.TempDir() + "/log"}
	cfg := n.config(s.path, egress.Limits{HeaderTime: 300 * time.Millisecond})
	var mu sync.Mutex
	var sent bytes.Buffer
	cfg.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		c, err := n.dial(ctx, to)
		return wire{c, &mu, &sent}, err
	}
	var err error
	s.proxy, err = egress.Open(cfg)
	must(t, err)
	defer s.proxy.Close()
	must(t, s.proxy.ListenIn(s.ns))
	for _, tt := range smuggling {
		answer := s.raw(t, tt.request)
		mu.Lock()
		got := sent.String()
		sent.Reset()
		mu.Unlock()
		if strings.Count(answer, "HTTP/1.") > 1 {
			t.Errorf("%s: %q", tt.name, answer)
		}
		if got == "" {
			if strings.HasPrefix(answer, "HTTP/1.1 2") && !tt.mended {
				t.Errorf("%s: %q", tt.name, answer)
			}
			continue
		}
		if !tt.mended {
			t.Errorf("%s: %q was sent", tt.name, got)
		}
		if err := wellFormed(got); err != nil {
			t.Errorf("%s: %v in %q", tt.name, err, got)
		}
	}
	for _, name := range n.seen().lookups {
		if name != "one.example" {
			t.Errorf("%s was resolved", name)
		}
	}
	s.has(t, "", 0, egress.CauseMalformed)
}

// TestTarget reads the destination from a request.
func TestTarget(t *testing.T) {
	n := newInternet(t)
	for request, want := range map[string]string{
		"GET http://one.example/a/../b?c=%20&d HTTP/1.1\r\nHost: one.example\r\n\r\n": "one.example:80",
		"GET http://one.example HTTP/1.1\r\nHost: one.example\r\n\r\n":                "one.example:80",
		"GET HTTP://ONE.Example.:8080/ HTTP/1.1\r\nhOST: \tone.example:8080 \r\n\r\n": "one.example:8080",
		"GET http://[2A00:0::1]/ HTTP/1.1\r\nHost: [2a00::1]\r\n\r\n":                 "[2a00::1]:80",
		"GET http://one.example/ HTTP/1.0\r\n\r\n":                                    "one.example:80",
		"GET http://one.example/ HTTP/1.1\r\nHost: two.example\r\n\r\n":               "one.example:80",
		"CONNECT one.example:443 HTTP/1.1\r\nHost: one.example\r\n\r\n":               "one.example:443",
		"CONNECT one.example:443 HTTP/1.0\r\n\r\n":                                    "one.example:443",
		"CONNECT [2A00:0::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n":                         "[2a00::1]:443",
	} {
		s := &sandbox{internet: n, ns: namespace(t), path: filepath.Join(t.TempDir(), "log")}
		cfg := n.config(s.path, egress.Limits{})
		cfg.Domains = []string{"another.example"}
		var err error
		s.proxy, err = egress.Open(cfg)
		must(t, err)
		must(t, s.proxy.ListenIn(s.ns))
		s.raw(t, request)
		must(t, s.proxy.Close())
		if got := s.report(t).Refused(); !slices.Equal(got, []string{want + " is not listed"}) {
			t.Errorf("%q: %q", request, got)
		}
	}
}
