// Package loopback holds what an HTTP door of this program needs: an address that only this
// machine reaches, a guard against browsers and rebound names, a bearer key in a private file, and
// bounds on every connection. It knows nothing of what is served.
package loopback

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Bounds of a door.
const (
	maxConnections = 32
	maxHeaderBytes = 8 << 10
	headerTime     = 10 * time.Second
	idleTime       = time.Minute
	minToken       = 32
	maxToken       = 512
)

// ErrNotLoopback is about an address that others could reach.
var ErrNotLoopback = errors.New("is no loopback address: use 127.0.0.1:PORT or [::1]:PORT")

// Listen opens an address, which must be a number of the loopback interface and a port. It takes
// as many connections at once as a door has room for; others wait.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() { // names resolve to whatever somebody says
		return nil, fmt.Errorf("%s %w", address, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, maxConnections), nil
}

// Server bounds what a client can cost, but for how long an answer takes: a handler bounds that
// itself. One that answers for longer than ReadTimeout takes back the deadline of its reads.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaderBytes, DisableGeneralOptionsHandler: true}
}

// ReadToken reads the bearer token of a file that only its owner, the user of this process, can
// read. The error says how to mend it.
func ReadToken(path string) (string, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	if st.Mode&0o077 != 0 || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("it must be yours alone: chown it to you, and chmod 0600 (it has mode %04o)",
			st.Mode&0o7777)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(raw), "\n")
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		return "", fmt.Errorf("it must hold one token of %d to %d characters without spaces: openssl rand -hex 32",
			minToken, maxToken)
	}
	return token, nil
}

// Bears reports whether a request bears the token, and no other credential.
func Bears(r *http.Request, token string) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	got, want := sha256.Sum256([]byte(given[0])), sha256.Sum256([]byte("Bearer "+token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// Foreign says why a request may be that of a web page or of a name that somebody points here, or
// "" if it is not: its Host must be the address that is served, and no browser sent it.
func Foreign(r *http.Request, served net.Addr) string {
	_, port, err := net.SplitHostPort(served.String())
	if err != nil {
		return "the server has no port"
	}
	if host, hostPort, err := net.SplitHostPort(r.Host); err != nil || hostPort != port ||
		host != "localhost" && !loopbackIP(host) {
		return "the Host header names another server"
	}
	for _, h := range []string{"Origin", "Sec-Fetch-Site", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host"} {
		if _, ok := r.Header[h]; ok {
			return "a request of a browser or by way of a proxy is not answered"
		}
	}
	return ""
}

func loopbackIP(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
