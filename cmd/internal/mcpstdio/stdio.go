// Package mcpstdio serves the Model Context Protocol over the streams of a process: a message a line. What a
// client sends is hostile: a message that parsers might read in different ways is refused before one does.
package mcpstdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/schemas"
)

// Serve serves one client that writes to in and reads from out, with messages of at most most bytes, until in
// ends or ctx does. What was asked before in ended is answered.
func Serve(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer, most int) error {
	w := &locked{w: out, open: map[string]bool{}, idle: make(chan struct{}, 1)}
	clean, pipe := io.Pipe()
	go func() {
		err := sift(in, pipe, w, most)
		w.answered() // the server drops answers that it has not written when its input ends
		pipe.CloseWithError(err)
	}()
	err := s.Run(ctx, &mcp.IOTransport{Reader: clean, Writer: w, MaxLineLength: most + 1})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sift hands on the messages that are well-formed, and answers the others.
func sift(in io.Reader, clean io.Writer, answers *locked, most int) error {
	r := bufio.NewReaderSize(in, most)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if werr := refuse(answers, "the message is too long"); werr != nil {
				return werr
			}
			line = nil
		}
		if len(line) > 0 {
			bad := Strict(line)
			if bad == nil {
				bad = answers.expect(line)
			}
			if bad != nil {
				if err := refuse(answers, bad.Error()); err != nil {
					return err
				}
			} else {
				if _, werr := clean.Write(append(line[:len(line):len(line)], '\n')); werr != nil {
					return werr
				}
			}
		}
		if err != nil {
			return err // io.EOF is the end
		}
	}
}

// refuse answers a message of which not even the id can be trusted.
func refuse(w *locked, why string) error {
	raw, err := json.Marshal(Refusal(why))
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, err = w.w.Write(append(raw, '\n'))
	}
	return err
}

// Refusal is the answer to a message that is refused, as JSON-RPC has it.
func Refusal(why string) any {
	type body struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	return struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   body   `json:"error"`
	}{"2.0", nil, body{jsonrpc.CodeParseError, "the message is refused: " + why}}
}

// locked keeps what two goroutines write apart, and knows which calls have no answer yet. Each
// write of the server's is one message.
type locked struct {
	mu   sync.Mutex
	w    io.Writer
	open map[string]bool // by id
	idle chan struct{}   // holds a token when a call was answered
}

// lastAnswers bounds the wait for answers when the input has ended.
const lastAnswers = time.Minute

// call is the id of a call, however it is spelled; empty if there is none.
func (m *message) call() string {
	switch text, err := jsontext.AppendUnquote(nil, m.ID); {
	case err == nil:
		return strconv.Quote(string(text))
	case len(m.ID) == 0 || string(m.ID) == "null":
		return ""
	}
	return string(m.ID)
}

// expect notes a message that is a call. Two calls of one id could not be told apart.
func (l *locked) expect(line []byte) error {
	var m message
	if schemas.DecodeStrict(line, &m) != nil || m.Method == "" || m.call() == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[m.call()] {
		return errors.New("a call of the same id has no answer yet")
	}
	l.open[m.call()] = true
	return nil
}

func (l *locked) Write(p []byte) (int, error) {
	var m message
	answer := schemas.DecodeStrict(p, &m) == nil && m.Method == ""
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.w.Write(p)
	if answer {
		delete(l.open, m.call())
		select {
		case l.idle <- struct{}{}:
		default:
		}
	}
	return n, err
}

// answered returns when all calls have their answers.
func (l *locked) answered() {
	late := time.After(lastAnswers)
	for {
		l.mu.Lock()
		open := len(l.open)
		l.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-l.idle:
		case <-late:
			return
		}
	}
}

// Close leaves the stream open: it is the process's.
func (l *locked) Close() error { return nil }
