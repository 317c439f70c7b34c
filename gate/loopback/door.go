package loopback

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Bounds of a door.
const (
	maxHeaderBytes = 8 << 10
	headerTime     = 10 * time.Second
	// requestTime bounds a whole request, and its answer. A handler that answers for longer sets other deadlines.
	requestTime = time.Minute
	idleTime    = time.Minute
	// stopTime bounds how long answers may take that are on their way when the server stops.
	stopTime = 5 * time.Second
)

// Door is what is served behind the guards.
type Door struct {
	Handler http.Handler
	// Token must be borne by every request for which Free does not say otherwise. A door without one is for
	// everybody on this machine.
	Token string
	Free  func(r *http.Request) bool
	// Refuse answers in the handler's place, with StatusForbidden or StatusUnauthorized. why has nothing of the
	// request.
	Refuse func(w http.ResponseWriter, status int, why string)
}

// Serve serves until ctx ends, which also ends the requests that go on. An orderly stop is no error.
func (d Door) Serve(ctx context.Context, l net.Listener) error {
	s := newSeats(l)
	server := &http.Server{Handler: d.guard(l.Addr()), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime,
		WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return ctx }, ConnContext: seated}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		stopped <- errors.Join(server.Shutdown(end), server.Close())
	})
	err := server.Serve(s)
	if stop() { // it ended by itself
		return err
	}
	if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // what did not end in time was cut off
}

// guard refuses what is not addressed to this server, then what lacks the token, before anything of it is read.
func (d Door) guard(served net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := seatOf(r)
		c.moves(asking)
		defer c.moves(idle)
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		why, status := foreign(r, served), http.StatusForbidden
		if why == "" && d.Token != "" && !(d.Free != nil && d.Free(r)) {
			if !bears(r, d.Token) {
				why, status = "the bearer token is missing or wrong", http.StatusUnauthorized
				h.Set("WWW-Authenticate", `Bearer realm="threegate"`)
			}
			if why == "" {
				c.moves(kept)
			}
		}
		if why == "" {
			d.Handler.ServeHTTP(w, r)
			return
		}
		if r.ContentLength != 0 {
			h.Set("Connection", "close") // nobody reads the body
		}
		d.Refuse(w, status, why)
	})
}
