package egress_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/egress"
)

// slowLimits end what is slow soon.
var slowLimits = egress.Limits{Connections: 4, HeaderTime: 300 * time.Millisecond, IdleTime: 300 * time.Millisecond,
	TotalTime: 900 * time.Millisecond}

// drip writes a byte now and then, until nobody takes it.
func drip(c net.Conn, b string) {
	for {
		if _, err := io.WriteString(c, b); err != nil {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// A client that is slow at whatever it does holds a connection for a bounded time,
// and then others get it.
func TestSlowClients(t *testing.T) {
	n := newInternet(t)
	const post = postOne + "Content-Length: 100000\r\n\r\n"
	for name, tt := range map[string]struct {
		open func(s *sandbox) net.Conn
		to   egress.Decision
	}{
		"field by field": {func(s *sandbox) net.Conn {
			c := s.client(t)
			go func() { io.WriteString(c, "GET http://one.example/ HTTP/1.1\r\n"); drip(c, "X: a\r\n") }()
			return c
		}, egress.Decision{Cause: egress.CauseMalformed}},
		"byte by byte": {func(s *sandbox) net.Conn {
			c := s.client(t)
			go func() { io.WriteString(c, post); drip(c, "x") }()
			return c
		}, egress.Decision{"one.example", 80, egress.CauseTime}},
		"no body": {func(s *sandbox) net.Conn {
			c := s.client(t)
			go io.WriteString(c, post)
			return c
		}, egress.Decision{"one.example", 80, egress.CauseTime}},
		"chunk by chunk": {func(s *sandbox) net.Conn {
			c := s.client(t)
			go func() {
				io.WriteString(c, strings.Replace(post, "Content-Length: 100000", "Transfer-Encoding: chunked", 1))
				drip(c, "1\r\nx\r\n")
			}()
			return c
		}, egress.Decision{"one.example", 80, egress.CauseTime}},
		"answer not read": {func(s *sandbox) net.Conn {
			c := s.client(t)
			go fmt.Fprintf(c, "GET http://one.example/big?n=%d HTTP/1.1\r\nHost: one.example\r\n\r\n", 64<<20)
			return c
		}, egress.Decision{"one.example", 80, egress.CauseTime}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, n, slowLimits)
			for range slowLimits.Connections { // all that there are
				c := tt.open(s)
				defer c.Close()
				defer io.Copy(io.Discard, c)
			}
			// They are given back, without anybody's help.
			all := int64(slowLimits.Connections)
			eventually(t, "all connections", func() bool { return s.report(t).Requests >= all })
			s.has(t, tt.to.Host, tt.to.Port, tt.to.Cause)
			eventually(t, "the answer to an honest request", func() bool { return strings.HasPrefix(s.get(t), "HTTP/1.1 200 ") })
		})
	}
}
