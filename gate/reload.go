package gate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/threegate/tool-exec/gate/config"
)

// ErrRestart says that a configuration differs in what only a start can change.
var ErrRestart = errors.New("only a restart can change it")

// config is the configuration as it is now.
func (g *Gate) config() *config.Loaded { return g.cfg.Load() }

// Reload makes the gate judge what comes by another configuration of the same
// node: approvals, validators, shell_allow, results, node.drain, and the limits
// but those of what is claimed. It is taken over whole or, with an error that
// matches ErrRestart, not at all. What is admitted keeps what was decided; a result
// that was checked and has no verdict yet is checked anew.
func (g *Gate) Reload(next *config.Loaded) error {
	old := g.config()
	if next.Dir != old.Dir {
		return fmt.Errorf("reload: %s is not the configuration of %s", next.File, old.Dir)
	}
	a, b := reflect.ValueOf(fixed(old.Config)), reflect.ValueOf(fixed(next.Config))
	var changed []string
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			changed = append(changed, a.Type().Field(i).Tag.Get("yaml"))
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("reload: %s: %w; the whole of it is refused and the old one stays", strings.Join(changed, ", "), ErrRestart)
	}
	g.cfg.Store(next)
	return nil
}

// fixed leaves of a configuration what can't be changed while a node is served.
func fixed(c config.Config) config.Config {
	c.Approvals, c.Validators, c.ShellAllow, c.Results = config.Approvals{}, nil, nil, config.Results{}
	c.Node.Drain = 0
	c.Limits = config.Limits{RequestKB: c.Limits.RequestKB, InputsMB: c.Limits.InputsMB, InputFiles: c.Limits.InputFiles}
	return c
}
