package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/cmd/internal/mcpstdio"
	"github.com/threegate/tool-exec/gate/loopback"
)

// Path is where the server answers.
const Path = "/mcp"

// Bounds of the server.
const (
	// maxMessage holds a draft with its inputs, which come as base64.
	maxMessage  = 4 << 20
	maxHeader   = 16 << 10
	headerTime  = 10 * time.Second
	requestTime = time.Minute
	idleTime    = 2 * time.Minute
	stopTime    = 5 * time.Second
)

// ServeStdio serves one client over streams, until in ends or ctx does.
func (d Desk) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return mcpstdio.Serve(ctx, d.New(), in, out, maxMessage)
}

// ServeHTTP serves clients that have the token, until ctx ends.
func (d Desk) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	server := &http.Server{Handler: d.handler(token), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime,
		WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case !loopbackName(r.Host), !ownOrigin(r.Header.Values("Origin")):
			deny(w, http.StatusForbidden, "this server is for programs of this machine only")
		case !loopback.Bears(r, token):
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
		err = mcpstdio.Strict(body)
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
	_ = json.NewEncoder(w).Encode(mcpstdio.Refusal(why))
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
