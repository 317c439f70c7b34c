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
)

// Bounds of a door.
const (
	maxConnections = 32
	maxHeaderBytes = 8 << 10
	headerTime     = 10 * time.Second
	idleTime       = time.Minute
	maxKeyBytes    = 4 << 10
	minKeyBytes    = 32
)

// ErrNotLoopback is about an address that others could reach.
var ErrNotLoopback = errors.New("only an address of the loopback interface is served, like 127.0.0.1:8443 or [::1]:0")

// Listen opens an address, which must be a number of the loopback interface and a port. It takes
// as many connections at once as a door has room for; others wait.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() { // names resolve to whatever somebody says
		return nil, fmt.Errorf("%s: %w", address, ErrNotLoopback)
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

// Key is a bearer key.
type Key struct{ sum [sha256.Size]byte }

// ReadKey reads the first line of a file that only its owner, this user or root, can read or write.
func ReadKey(path string) (Key, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Key{}, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return Key{}, errors.New("it is no regular file")
	case st.Mode&0o077 != 0:
		return Key{}, fmt.Errorf("its mode is %04o: others can read it", st.Mode&0o7777)
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return Key{}, errors.New("it belongs to another user")
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	if err != nil {
		return Key{}, err
	}
	text := strings.TrimSuffix(string(raw), "\n")
	if len(text) < minKeyBytes || len(raw) > maxKeyBytes || strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		return Key{}, fmt.Errorf("it must hold one line of %d or more printable characters", minKeyBytes)
	}
	return Key{sha256.Sum256([]byte(text))}, nil
}

// Authorizes reports whether a request bears the key, and no other credential.
func (k Key) Authorizes(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(text))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], k.sum[:]) == 1
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
