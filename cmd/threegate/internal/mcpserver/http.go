package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
)

// Path is where the server answers.
const Path = "/mcp"

// Bounds of the HTTP server.
const (
	maxConnections = 64
	maxHeader      = 16 << 10
	headerTime     = 10 * time.Second
	requestTime    = time.Minute
	idleTime       = 2 * time.Minute
	stopTime       = 5 * time.Second
)

// Bounds of a token.
const (
	minToken = 32
	maxToken = 512
)

// ReadToken reads the bearer token of a file that only its owner, the user of this process, can
// read. The error says how to mend it.
func ReadToken(file string) (string, error) {
	f, err := source.Open(file, false)
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
	token := strings.TrimSpace(string(raw))
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		return "", fmt.Errorf("it must hold one token of %d to %d characters without spaces: openssl rand -hex 32",
			minToken, maxToken)
	}
	return token, nil
}

// Loopback listens at an address of this machine that nobody else reaches.
func Loopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is no loopback address: use 127.0.0.1:PORT or [::1]:PORT", address)
	}
	return net.Listen("tcp", address)
}

// ServeHTTP serves clients that have the token, until ctx ends.
func (d Desk) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	server := &http.Server{Handler: d.handler(token), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime,
		WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(l, maxConnections)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close()
	}
	<-ended
	return ctx.Err()
}

// handler refuses what is not addressed to this server, then what has no token, then what is no
// strict JSON; each before anything of what follows is read.
func (d Desk) handler(token string) http.Handler {
	s := d.New()
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage, Logger: d.Log})
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case !loopbackName(r.Host), !ownOrigin(r.Header.Values("Origin")):
			deny(w, http.StatusForbidden, "this server is for programs of this machine only")
		case len(r.Header.Values("Authorization")) != 1 || subtle.ConstantTimeCompare(got[:], want[:]) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			deny(w, http.StatusUnauthorized, "the bearer token is missing or wrong")
		case r.URL.Path != Path:
			deny(w, http.StatusNotFound, "the server answers at "+Path)
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			deny(w, http.StatusMethodNotAllowed, "only POST")
		default:
			if ok := readBody(w, r); ok {
				inner.ServeHTTP(w, r)
			}
		}
	})
}

// readBody reads and checks the body, and puts it back.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		deny(w, http.StatusRequestEntityTooLarge, "the message is too long")
		return false
	}
	if err == nil {
		err = strict(body)
	}
	if err != nil {
		deny(w, http.StatusBadRequest, err.Error())
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func deny(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal(why))
}

// loopbackName says whether a Host header names this machine. A page that a browser took for
// another host's, whose name now leads here, names that one.
func loopbackName(host string) bool {
	u := url.URL{Host: host}
	name := u.Hostname()
	if name == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// ownOrigin says whether a request comes from no web page, or from one of this machine.
func ownOrigin(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !loopbackName(u.Host) {
			return false
		}
	}
	return len(origins) < 2
}
