package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// maxWaiting is how many calls are read ahead of the one that runs.
const maxWaiting = 64

// errGone says that nobody reads what the server writes.
var errGone = errors.New("the client is gone: stdout has no reader")

// watch ends a server whose client is gone, also while it has nothing to write.
func watch(ctx context.Context, out io.Writer, stop context.CancelCauseFunc) {
	f, ok := out.(*os.File)
	for ok && ctx.Err() == nil {
		look := []unix.PollFd{{Fd: int32(f.Fd())}} // an error of the other end is told unasked
		if n, err := unix.Poll(look, 500); err == nil && n > 0 {
			stop(errGone)
		}
	}
}

// lines answers one client that sends envelopes, a line each. Calls run one after the other; other envelopes are
// answered at once.
type lines struct {
	session *toolruntime.Session
	waiting chan pending
	mu      sync.Mutex
	out     io.Writer
	broken  error
	// cancel ends calls that wait or run, by request id.
	cancel map[string]context.CancelFunc
}

type pending struct {
	ctx     context.Context
	cancel  context.CancelFunc
	request *contract.ToolRequest
}

func serveLines(ctx context.Context, session func(func(contract.EventMessage)) (*toolruntime.Session, error),
	in io.Reader, out io.Writer) (err error) {
	l := &lines{waiting: make(chan pending, maxWaiting), out: out, cancel: map[string]context.CancelFunc{}}
	if l.session, err = session(func(e contract.EventMessage) { l.send(e) }); err != nil {
		return err
	}
	defer l.session.Close()
	var unread error
	go func() {
		defer close(l.waiting)
		unread = l.read(ctx, in)
	}()
	for c := range l.waiting {
		if ctx.Err() != nil {
			break
		}
		resp := l.session.Do(c.ctx, c.request)
		c.cancel()
		l.forget(c.request.RequestID)
		l.send(resp)
		if err := errors.Join(l.failed(), l.session.Err()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(unread, l.failed())
}

// send writes an envelope.
func (l *lines) send(v any) {
	line, err := contract.Encode(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.out.Write(line)
	}
	l.broken = errors.Join(l.broken, err)
}

func (l *lines) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// read takes in what the client sends, until it ends.
func (l *lines) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReader(in)
	for ctx.Err() == nil && l.failed() == nil {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errTooLong):
			l.refuse(nil, contract.Errorf(contract.Validation, "a line has %d bytes at most", contract.MaxLine))
		case len(bytes.TrimSpace(line)) > 0:
			l.take(ctx, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return fmt.Errorf("stdin can't be read on: %w", err)
		}
	}
	return nil
}

var errTooLong = errors.New("the line is too long")

// readLine reads a line, and skips one that is too long.
func readLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > contract.MaxLine; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long && err == nil {
			return nil, errTooLong
		}
		return line, err
	}
}

// take answers an envelope, or lets a call wait for its turn.
func (l *lines) take(ctx context.Context, line []byte) {
	v, err := contract.Decode(line)
	switch v := v.(type) {
	case *contract.ToolRequest:
		ctx, cancel := context.WithCancel(ctx)
		l.mu.Lock()
		if l.cancel[v.RequestID] == nil { // the session refuses an id that comes again
			l.cancel[v.RequestID] = cancel
		}
		l.mu.Unlock()
		l.waiting <- pending{ctx, cancel, v}
		return
	case *contract.ToolCancel:
		l.mu.Lock()
		cancel := l.cancel[v.RequestID]
		l.mu.Unlock()
		if cancel != nil {
			cancel()
			return
		}
		err = contract.Errorf(contract.Validation, "no call with the request_id %q waits or runs", v.RequestID)
	case *contract.Heartbeat:
		l.send(contract.Heartbeat{Type: "Heartbeat", SessionID: v.SessionID, Timestamp: time.Now().Unix()})
		return
	}
	if err == nil {
		err = contract.Errorf(contract.Validation, "a client sends ToolRequest, ToolCancel and Heartbeat only")
	}
	l.refuse(line, contract.AsError(err))
}

func (l *lines) refuse(line []byte, e *contract.Error) {
	l.send(contract.ErrorMessage{Type: "ErrorMessage", Code: e.Code, Message: e.Message,
		RequestID: contract.RequestIDOf(line)})
}

func (l *lines) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.cancel, id)
}
