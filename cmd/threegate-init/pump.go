package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

const pumpBufferBytes = 64 << 10

// pump copies one stream of the payload into a file, up to a cap. It goes on
// reading past the cap, so that the payload is never blocked by it.
type pump struct {
	readEnd, writeEnd *os.File
	file              *os.File
	total, kept       int64
	err               error // of the file; the pipe is drained all the same
	done              chan struct{}
	buf               []byte
}

// newPumps makes those of both streams.
func newPumps(dir string) (stdout, stderr *pump, err error) {
	if stdout, err = newPump(filepath.Join(dir, job.StdoutFile)); err != nil {
		return nil, nil, err
	}
	stderr, err = newPump(filepath.Join(dir, job.StderrFile))
	return stdout, stderr, err
}

// newPump makes a pump to a file. copy must be told how much to keep.
func newPump(path string) (*pump, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	// Only our end: the payload expects an ordinary blocking pipe.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	p := &pump{
		readEnd: os.NewFile(uintptr(fds[0]), "pipe"), writeEnd: os.NewFile(uintptr(fds[1]), "pipe"),
		done: make(chan struct{}), buf: make([]byte, pumpBufferBytes),
	}
	var err error
	if p.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, fmt.Errorf("open the file of a stream: %w", err)
	}
	return p, nil
}

func (p *pump) closeWriteEnd() { p.writeEnd.Close() }

// close gives back what a pump that will copy nothing still holds. Its write end is closed.
func (p *pump) close() {
	_ = p.readEnd.Close()
	_ = p.file.Close() // nothing was written
}

// copy keeps so many bytes. It runs until every write end is closed, or the read deadline
// has passed and what the pipe held then is copied.
func (p *pump) copy(limit int64) {
	defer close(p.done)
	for {
		n, err := p.readEnd.Read(p.buf)
		p.keep(n, limit)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.rest(limit)
		}
		if err != nil {
			return
		}
	}
}

// keep takes the first n bytes of the buffer.
func (p *pump) keep(n int, limit int64) {
	p.total += int64(n)
	if keep := min(int64(n), limit-p.kept); keep > 0 && p.err == nil {
		var w int
		w, p.err = p.file.Write(p.buf[:keep])
		p.kept += int64(w)
	}
}

// rest copies what the pipe holds, and waits for nothing.
func (p *pump) rest(limit int64) {
	conn, err := p.readEnd.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { p.restOf(int(fd), limit) })
	}
	if err != nil {
		p.err = err
	}
}

func (p *pump) restOf(fd int, limit int64) {
	// A pipe of this size is read to its end, and no more if somebody still writes.
	left, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	for left > 0 && err == nil {
		var n int
		n, err = unix.Read(fd, p.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			err = nil
		case errors.Is(err, unix.EAGAIN), n == 0:
			return
		default:
			p.keep(max(n, 0), limit)
			left -= n
		}
	}
	if err != nil {
		p.err = err
	}
}

// cut ends the copying once what the pipe holds is copied, whoever could still write.
func (p *pump) cut() {
	_ = p.readEnd.SetReadDeadline(time.Unix(1, 0))
	<-p.done
}

// finish waits for the last byte and reports the counts. Nothing may still
// write, so it takes longer than an instant only if something went very wrong.
func (p *pump) finish(s *job.Stream) error {
	select {
	case <-p.done:
	default:
		if err := p.readEnd.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
			return fmt.Errorf("drain a stream: %w", err)
		}
		<-p.done
	}
	*s = job.Stream{Total: p.total, Kept: p.kept}
	// A full disk (the box, or the memory limit behind it) cuts the stream; that
	// shows as Kept below both Total and the cap.
	if p.err != nil && !errors.Is(p.err, unix.ENOSPC) {
		return fmt.Errorf("keep a stream: %w", p.err)
	}
	return nil
}
