package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/threegate/tool-exec/executors"
)

// posture is the node's self-test: its last outcome, and when to ask again.
type posture struct {
	try   func(context.Context) error
	every time.Duration

	mu   sync.Mutex
	weak error // what the last try found; nil if all was denied
}

// troublePosture is the trouble of a node whose self-test does not pass.
const troublePosture = "posture"

// checkPosture tries once. An error says that containment does not hold, or that this
// could not be found out: neither is a state to run anything in.
func (g *Gate) checkPosture(ctx context.Context) error {
	err := g.posture.try(ctx)
	if err != nil {
		err = fmt.Errorf("self-test: %w", err)
		if executors.HintOf(err) == "" {
			err = executors.WithHint(err,
				"threegate posture shows what a sandbox could do; threegate doctor what this host lacks")
		}
	}
	g.posture.mu.Lock()
	g.posture.weak = err
	g.posture.mu.Unlock()
	return err
}

// contained is nil unless the last self-test failed: then nothing new is taken
// in and nothing is started until one passes.
func (g *Gate) contained() error {
	g.posture.mu.Lock()
	defer g.posture.mu.Unlock()
	return g.posture.weak
}

// watchPosture tries at intervals, and more often while it fails.
func (g *Gate) watchPosture(ctx context.Context) {
	if g.posture.try == nil || g.posture.every <= 0 {
		return
	}
	for wait := g.posture.every; ; {
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		wait = g.posture.every
		err := g.checkPosture(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = min(wait,
				g.troubles.Set(g.trouble(troublePosture,
					"a sandbox does not hold, so no request is taken in and none is started", err)))
			g.log.Error("the self-test fails: no request is taken in and none is started", "error", err, "again_in",
				wait)
		default:
			g.troubles.Clear(troublePosture)
			g.log.Debug("the self-test passed")
		}
	}
}
