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

const (
	pumpBufferBytes = 64 << 10
	// drainTime bounds the reading of pipes after the last process has died.
	drainTime = 5 * time.Second
)

// pump copies one stream of the payload into a file, up to a cap. It goes on
// reading past the cap, so that the payload is never blocked by it.
type pump struct {
	readEnd, writeEnd *os.File
	file              *os.File
	limit             int64
	count             job.Stream
	err               error // of the file; the pipe is drained all the same
	done              chan struct{}
}

// newPump makes a pump to the file name of dir that keeps limit bytes.
func newPump(dir, name string, limit int64) (*pump, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	// Only our end: the payload expects an ordinary blocking pipe.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the file of a stream: %w", err)
	}
	return &pump{
		readEnd: os.NewFile(uintptr(fds[0]), "pipe"), writeEnd: os.NewFile(uintptr(fds[1]), "pipe"),
		file: file, limit: limit, done: make(chan struct{}),
	}, nil
}

// newPumps makes those of stdout, stderr and, if the payload has one, the timeline.
func newPumps(dir string, pay job.Payload) ([]*pump, error) {
	var pumps []*pump
	for _, s := range []struct {
		name  string
		limit int64
	}{{job.StdoutFile, pay.StdoutBytes}, {job.StderrFile, pay.StderrBytes}, {job.TimelineFile, pay.TimelineBytes}} {
		if s.name == job.TimelineFile && s.limit == 0 {
			break
		}
		p, err := newPump(dir, s.name, s.limit)
		if err != nil {
			return nil, err
		}
		pumps = append(pumps, p)
	}
	return pumps, nil
}

// copy runs until every write end is closed, or the read deadline has passed.
func (p *pump) copy() {
	defer close(p.done)
	buf := make([]byte, pumpBufferBytes)
	for {
		n, err := p.readEnd.Read(buf)
		p.count.Total += int64(n)
		if keep := min(int64(n), p.limit-p.count.Kept); keep > 0 && p.err == nil {
			var w int
			w, p.err = p.file.Write(buf[:keep])
			p.count.Kept += int64(w)
		}
		if err != nil {
			return
		}
	}
}

// finish waits for the last byte and gives the counts. Nothing may still
// write, so it takes longer than an instant only if something went very wrong.
func (p *pump) finish() (job.Stream, error) {
	if err := p.readEnd.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return p.count, fmt.Errorf("drain a stream: %w", err)
	}
	<-p.done
	// A full disk (the box, or the memory limit behind it) cuts the stream; that
	// shows as Kept below both Total and the cap.
	if p.err != nil && !errors.Is(p.err, unix.ENOSPC) {
		return p.count, fmt.Errorf("keep a stream: %w", p.err)
	}
	return p.count, nil
}
