package bundle

import (
	"context"
	"errors"
	"io"

	"github.com/threegate/tool-exec/spool/durable"
)

// ReadDocument returns the first limit+1 bytes of a regular file at most: a result that
// is longer than limit tells that the file is.
func ReadDocument(path string, follow bool, limit int64) ([]byte, error) {
	open := durable.OpenRegular
	if follow {
		open = durable.OpenNamed
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return data, errors.Join(err, f.Close())
}

// ReadStream is ReadDocument for a stream such as standard input. It returns when ctx
// ends, although a read that waits for a terminal can't be called off.
func ReadStream(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		done <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-done:
		return a.data, a.err
	}
}
