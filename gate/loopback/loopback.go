// Package loopback holds what an HTTP door of this program needs: an address that only this machine reaches, a bearer
// token in a private file, guards against browsers, proxies and rebound names, and bounds on every connection. Every
// door has all of them. It knows nothing of what is served.
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
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Bounds of a token.
const (
	minToken = 32
	maxToken = 512
)

// ErrNotLoopback is about an address that others could reach.
var ErrNotLoopback = errors.New("is not a loopback address: use 127.0.0.1:PORT or [::1]:PORT")

// Listen opens an address, which must be a number of the loopback interface and a port.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() { // names resolve to whatever somebody says
		return nil, fmt.Errorf("%s %w", address, ErrNotLoopback)
	}
	return net.Listen("tcp", address)
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

// bears reports whether a request bears the token, and no other credential.
func bears(r *http.Request, token string) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, credential, _ := strings.Cut(given[0], " ")
	got, want := sha256.Sum256([]byte(strings.TrimLeft(credential, " "))), sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	return same && strings.EqualFold(scheme, "Bearer")
}

// foreign says why a request may be that of a web page, of a proxy or of a name that somebody points here, or "" if it
// is none. Its Host must be the address that is served, by its number or as localhost, and a page must come from there.
// A Unix socket has no such address: no page reaches it.
func foreign(r *http.Request, served net.Addr) string {
	if served.Network() == "unix" {
		return ""
	}
	_, port, _ := net.SplitHostPort(served.String())
	if r.Host != served.String() && r.Host != "localhost:"+port || r.URL.Host != "" {
		return "the Host header names another server than " + served.String()
	}
	for name, values := range r.Header {
		var own []string // the values that it may have
		switch {
		case name == "Origin":
			own = []string{"http://" + r.Host}
		case name == "Sec-Fetch-Site":
			own = []string{"same-origin", "none"}
		case name != "Via" && name != "Forwarded" && name != "X-Real-Ip" && !strings.HasPrefix(name, "X-Forwarded-"):
			continue
		}
		if len(values) != 1 || !slices.Contains(own, values[0]) {
			return "a request of another web page, or by way of a proxy, is not answered: it has " + name
		}
	}
	return ""
}
