package contract

import "context"

// host is what the host of a call does for its tool.
type host struct {
	tell  func(Progress)
	after func(work func())
	touch func(paths ...string)
}

type hostKey struct{}

// WithHost gives the context of a call what [Tell], [After] and [Touch] do.
func WithHost(ctx context.Context, tell func(Progress), after func(work func()),
	touch func(paths ...string)) context.Context {
	return context.WithValue(ctx, hostKey{}, host{tell, after, touch})
}

// Touch says which files of the workspace a call has written, moved or deleted.
func Touch(ctx context.Context, paths ...string) {
	if h, ok := ctx.Value(hostKey{}).(host); ok {
		h.touch(paths...)
	}
}

// Tell says how far a call has come, in percent, and what it does.
func Tell(ctx context.Context, pct int, message string) {
	if h, ok := ctx.Value(hostKey{}).(host); ok {
		h.tell(Progress{Pct: pct, Message: message})
	}
}

// After lets work be done when the call has been answered, and before another call may write. It is for the removal of
// what no call can see any more. Without a host it is done at once.
func After(ctx context.Context, work func()) {
	if h, ok := ctx.Value(hostKey{}).(host); ok {
		h.after(work)
		return
	}
	work()
}
