package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/metrics"
)

// doorGuard ends a test that hangs; nothing is decided by it.
const doorGuard = 2 * time.Minute

// door is one of the HTTP servers of this program, at an address of its own.
type door struct {
	address string
	// request is a good one, without Host, Authorization and the empty line.
	request string
	// token is what it wants, or "".
	token string
}

// doors starts all of them on a node.
func doors(t *testing.T) map[string]door {
	t.Helper()
	dir := t.TempDir()
	node, drafts, key := filepath.Join(dir, "node"), filepath.Join(dir, "drafts"), filepath.Join(dir, "key")
	token := strings.Repeat("Tt", 16)
	if err := errors.Join(os.Mkdir(drafts, 0o700), os.WriteFile(key, []byte(token), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("threegate", "init", node, "--images", "no-images").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cfg, err := config.Load(node)
	if err != nil {
		t.Fatal(err)
	}
	l, err := metrics.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- metrics.Serve(ctx, l, cfg) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	desk, path, _ := strings.Cut(strings.TrimPrefix(started(t, "desk", "--node", node), "http://"), "/")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	return map[string]door{
		"desk":    {desk, "GET /" + path + "node HTTP/1.1\r\n", ""},
		"metrics": {l.Addr().String(), "GET /metrics HTTP/1.1\r\n", ""},
		"openwop": {address(t, "openwop", "serve", "--node", node, "--listen", "127.0.0.1:0", "--key-file", key),
			"GET /v1/tools HTTP/1.1\r\n", token},
		"mcp": {address(t, "mcp", "--node", node, "--drafts", drafts, "--http", "127.0.0.1:0", "--token-file", key),
			"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
				fmt.Sprintf("Content-Length: %d\r\n", len(ping)), token},
	}
}

// address starts a server and returns the address that it says.
func address(t *testing.T, args ...string) string {
	t.Helper()
	at, _, _ := strings.Cut(strings.TrimPrefix(started(t, args...), "http://"), "/")
	return at
}

// started starts a server and returns the URL that it says.
func started(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("threegate", args...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = r.Close()
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	_, at, ok := strings.Cut(line, "http://")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	return "http://" + strings.TrimSpace(at)
}

func (d door) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(doorGuard))
	return c
}

// text is the good request with other headers, each ended by a line's end. Its Host and its credential are left out if
// those have some.
func (d door) text(headers string) string {
	start, rest, _ := strings.Cut(d.request, "\r\n")
	all := start + "\r\n" + headers + rest
	if !strings.Contains(headers, "Host:") {
		all += "Host: " + d.address + "\r\n"
	}
	if d.token != "" && !strings.Contains(headers, "Authorization:") {
		all += "Authorization: Bearer " + d.token + "\r\n"
	}
	all += "\r\n"
	if strings.HasPrefix(start, "POST") {
		all += `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	return all
}

// status sends a request and returns the status of the answer.
func (d door) status(t *testing.T, request string) int {
	t.Helper()
	c := d.dial(t)
	_, _ = io.WriteString(c, request) // it may be cut off
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if d.token != "" && strings.Contains(string(body), d.token) {
		t.Errorf("the answer holds the token")
	}
	return r.StatusCode
}

// TestDoors has the same hostile clients try each door.
func TestDoors(t *testing.T) {
	for name, d := range doors(t) {
		_, port, err := net.SplitHostPort(d.address)
		if err != nil {
			t.Fatal(err)
		}
		for client, tt := range map[string]struct {
			headers string
			status  int
		}{
			"a good one":                          {"", 200},
			"by the name localhost":               {"Host: localhost:" + port + "\r\n", 200},
			"a page of the door's own":            {"Origin: http://" + d.address + "\r\nSec-Fetch-Site: same-origin\r\n", 200},
			"what a person types":                 {"Sec-Fetch-Site: none\r\n", 200},
			"a name that leads here":              {"Host: evil.example:" + port + "\r\n", 403},
			"another port":                        {"Host: 127.0.0.1:1\r\n", 403},
			"no port":                             {"Host: 127.0.0.1\r\n", 403},
			"another address of this machine":     {"Host: 127.0.0.2:" + port + "\r\n", 403},
			"an address of IPv6":                  {"Host: [::1]:" + port + "\r\n", 403},
			"a longer name":                       {"Host: localhost.evil.example:" + port + "\r\n", 403},
			"no name":                             {"Host: \r\n", 403},
			"a page":                              {"Origin: https://evil.example\r\n", 403},
			"a page without an origin":            {"Origin: null\r\n", 403},
			"a page of another port":              {"Origin: http://127.0.0.1:1\r\n", 403},
			"a page by https":                     {"Origin: https://" + d.address + "\r\n", 403},
			"a page of two origins":               {"Origin: http://" + d.address + "\r\nOrigin: https://evil.example\r\n", 403},
			"a picture on a page":                 {"Sec-Fetch-Site: cross-site\r\n", 403},
			"a picture on a page of another port": {"Sec-Fetch-Site: same-site\r\n", 403},
			"a proxy":                             {"Via: 1.1 proxy\r\n", 403},
			"a proxy that says for whom":          {"X-Forwarded-For: 192.0.2.1\r\n", 403},
			"a proxy that says how":               {"X-Forwarded-Proto: https\r\n", 403},
			"a proxy of nginx":                    {"X-Real-IP: 192.0.2.1\r\n", 403},
			"a proxy of the standard":             {"Forwarded: for=192.0.2.1\r\n", 403},
			"a huge header":                       {"X-Large: " + strings.Repeat("x", 64<<10) + "\r\n", 431},
			"a scheme in small letters":           {"Authorization: bearer " + d.token + "\r\n", 200},
			"a scheme in capital letters":         {"Authorization: BEARER " + d.token + "\r\n", 200},
		} {
			if got := d.status(t, d.text(tt.headers)); got != tt.status {
				t.Errorf("%s: %s: %d, want %d", name, client, got, tt.status)
			}
		}
		absolute := strings.Replace(d.text(""), " /", " http://"+d.address+"/", 1)
		if got := d.status(t, absolute); got != 403 {
			t.Errorf("%s: a request to a proxy: %d", name, got)
		}
		if d.token == "" {
			continue
		}
		for client, credential := range map[string]string{"no token": "", "another token": "Bearer " + d.token + "x",
			"a part of it": "Bearer " + d.token[1:], "other letters": "Bearer " + strings.ToLower(d.token),
			"another scheme": "Basic " + d.token, "no scheme": d.token, "a scheme alone": "Bearer",
			"two": "Bearer " + d.token + "\r\nAuthorization: Bearer " + d.token} {
			if got := d.status(t, d.text("Authorization: "+credential+"\r\n")); got != 401 {
				t.Errorf("%s: %s: %d, want 401", name, client, got)
			}
		}
	}
}

// TestDoorsAreHeldByNobody: clients that hold their connections are let go of when others come, and those are answered.
func TestDoorsAreHeldByNobody(t *testing.T) {
	const many, room = 300, 64
	for name, d := range doors(t) {
		for client, says := range map[string]string{
			"silent": "",
			"slow":   d.text("X-Slow: x\r\n")[:20],
			"idle":   d.text(""),
			"deaf":   strings.Repeat("GET /none HTTP/1.1\r\nHost: "+d.address+"\r\n\r\n", 2000),
		} {
			var held []net.Conn
			for range many {
				c := d.dial(t)
				go func() { _, _ = io.WriteString(c, says) }()
				held = append(held, c)
			}
			if got := d.status(t, d.text("")); got != 200 {
				t.Errorf("%s: %s clients: a good one gets %d", name, client, got)
			}
			closed := make(chan error, many)
			for _, c := range held {
				go func() { _, err := io.Copy(io.Discard, c); closed <- err }()
			}
			for n := range many - room { // the door has closed them
				if err := <-closed; errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("%s: %s clients: only %d of %d connections are closed", name, client, n, many)
				}
			}
			for _, c := range held {
				_ = c.Close()
			}
		}
	}
}
