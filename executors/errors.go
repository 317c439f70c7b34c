package executors

import "errors"

// ErrUnavailable says that this node has no such backend, language or network.
// It is a fact about the request's wish, not a trouble that may pass.
var ErrUnavailable = errors.New("not available on this node")

// ErrNoImage says that an image which the configuration names is not there. That
// is trouble of ours: it passes once somebody puts the image there.
var ErrNoImage = errors.New("image is not there")

// ErrNotStarted says that a task that was to start never did, for certain: no
// instruction of it ran or ever will. It can be prepared anew.
var ErrNotStarted = errors.New("nothing of the request was run")

// WithHint adds to an error what an operator can do about it.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

// HintOf is what the outermost WithHint of an error says, or "".
func HintOf(err error) string {
	if m, ok := errors.AsType[*hinted](err); ok {
		return m.hint
	}
	return ""
}

type hinted struct {
	err  error
	hint string
}

func (m *hinted) Error() string { return m.err.Error() }
func (m *hinted) Unwrap() error { return m.err }
