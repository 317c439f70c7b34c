package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/cmd/internal/mcpstdio"
	"github.com/threegate/tool-exec/gate/loopback"
)

// Path is where the server answers.
const Path = "/mcp"

// maxMessage holds a draft with its inputs, which come as base64.
const maxMessage = 4 << 20

// ServeStdio serves one client over streams, until in ends or ctx does.
func (d Desk) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return mcpstdio.Serve(ctx, d.New(), in, out, maxMessage)
}

// ServeHTTP serves clients that have the token, until ctx ends.
func (d Desk) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	return loopback.Door{Handler: d.handler(), Token: token, Refuse: deny}.Serve(ctx, l)
}

// handler refuses what is no strict JSON before anything of it is taken in.
func (d Desk) handler() http.Handler {
	s := d.New()
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage, Logger: d.Log})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
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
