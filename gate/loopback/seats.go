package loopback

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"sync"
)

// maxConnections bounds the connections of a door.
const maxConnections = 64

// seats are the connections of a door. When all are taken and another client comes, the one goes that has been still
// for longest: nobody can hold a door by holding connections. First those go that ask for nothing, so that nobody
// takes the seat of a request by making connections. A request that bears the token keeps its seat.
type seats struct {
	net.Listener

	mu    sync.Mutex
	taken map[*seat]bool
	moved uint64 // counts what moves
}

type seat struct {
	net.Conn
	of *seats
	// last is when it moved, by seats.moved, and use says what for. Both are of.mu's.
	last uint64
	use  use
}

// use is what a connection is used for; those of the least go first.
type use int

const (
	idle   use = iota
	asking     // a request is answered
	kept       // the request bears the token
)

func newSeats(l net.Listener) *seats { return &seats{Listener: l, taken: map[*seat]bool{}} }

// Accept never lets a client wait.
func (s *seats) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		next := &seat{Conn: c, of: s}
		goes := s.take(next)
		if goes != nil {
			_ = goes.Close()
		}
		if goes != next {
			return next, nil
		}
	}
}

// take gives a client a seat, and returns who has to go.
func (s *seats) take(next *seat) (goes *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved++
	next.last = s.moved
	s.taken[next] = true
	if len(s.taken) <= maxConnections {
		return nil
	}
	goes = next // if all others keep theirs
	for c := range s.taken {
		if c == next || c.use == kept {
			continue
		}
		if goes == next || cmp.Or(cmp.Compare(c.use, goes.use), cmp.Compare(c.last, goes.last)) < 0 {
			goes = c
		}
	}
	return goes
}

// moves notes that a request began or ended.
func (c *seat) moves(to use) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.moved++
	c.last, c.use = c.of.moved, to
}

// Close frees the seat.
func (c *seat) Close() error {
	c.of.mu.Lock()
	delete(c.of.taken, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets a client that sends on read its answer.
func (c *seat) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type seatKey struct{}

func seated(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, seatKey{}, c)
}

// seatOf is the connection of a request that seats has taken.
func seatOf(r *http.Request) *seat { return r.Context().Value(seatKey{}).(*seat) }
