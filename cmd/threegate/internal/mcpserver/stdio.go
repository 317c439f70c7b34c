package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client that writes to in and reads from out, a message a line, until in
// ends or ctx does.
func (d Desk) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &locked{w: out}
	clean, pipe := io.Pipe()
	go func() { pipe.CloseWithError(sift(in, pipe, w)) }()
	err := d.New().Run(ctx, &mcp.IOTransport{Reader: clean, Writer: w, MaxLineLength: maxMessage + 1})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sift hands on the messages that are well-formed, and answers the others.
func sift(in io.Reader, clean io.Writer, answers io.Writer) error {
	r := bufio.NewReaderSize(in, maxMessage)
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
			if bad := strict(line); bad != nil {
				if err := refuse(answers, bad.Error()); err != nil {
					return err
				}
			} else if _, werr := clean.Write(append(line[:len(line):len(line)], '\n')); werr != nil {
				return werr
			}
		}
		if err != nil {
			return err // io.EOF is the end
		}
	}
}

// refuse answers a message of which not even the id can be trusted.
func refuse(w io.Writer, why string) error {
	raw, err := json.Marshal(refusal(why))
	if err == nil {
		_, err = w.Write(append(raw, '\n'))
	}
	return err
}

func refusal(why string) any {
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

// locked keeps what two goroutines write apart. Each write is one message.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close leaves the stream open: it is the process's.
func (l *locked) Close() error { return nil }
