package container

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/schemas"
)

// egressFile is what a task's proxy decided. It outlives the gate.
const egressFile = "egress.log"

// checkNetwork says whether this node has the network that the task asks for.
func (e *Executor) checkNetwork(t executors.Task) error {
	switch {
	case t.Network == schemas.NetworkNone:
		return nil
	case t.Network != schemas.NetworkAllowlist:
		return fmt.Errorf("network %q is %w", t.Network, ErrUnavailable)
	case len(t.Domains) == 0:
		return fmt.Errorf("network %q is %w: the configuration allows no domain", t.Network, ErrUnavailable)
	case e.cfg.OwnKernel:
		return fmt.Errorf("network %q is %w: the runtime's sandboxes have a network stack of their own, "+
			"which the egress proxy can't enter", t.Network, ErrUnavailable)
	}
	if _, err := egress.ParseDomains(t.Domains); err != nil {
		return fmt.Errorf("network %q is %w: %w", t.Network, ErrUnavailable, err)
	}
	return nil
}

// openEgress makes the task's proxy listen inside its network namespace, unless
// it does so already. An earlier process may have begun: what it decided and
// let through counts. The task must be created and not ended.
func (e *Executor) openEgress(b runDir, rec record) error {
	t := rec.Task
	if t.Network != schemas.NetworkAllowlist {
		return nil
	}
	e.egressMu.Lock()
	defer e.egressMu.Unlock()
	if e.egress[t.ID] != nil {
		return nil
	}
	cfg := e.cfg.Egress
	cfg.Domains, cfg.LogPath = t.Domains, b.path(egressFile)
	p, err := egress.Open(cfg)
	if err != nil {
		return err
	}
	err = p.ListenIn(fmt.Sprintf("/proc/%d/ns/net", rec.Pid))
	if err == nil {
		// If init lives now it lived before: the namespace was its own and not
		// that of another process which has inherited the number.
		pids, perr := cgroup.Procs(cgroup.Root, e.cgroupOf(rec.container()))
		if err = perr; err == nil && !slices.Contains(pids, rec.Pid) {
			err = errEnded
		}
	}
	if err != nil {
		return errors.Join(err, p.Close())
	}
	e.egress[t.ID] = p
	return nil
}

var errEnded = errors.New("the task has ended")

// reopenEgress is openEgress for a task that this process did not prepare.
func (e *Executor) reopenEgress(ctx context.Context, b runDir, rec record) error {
	if rec.Task.Network != schemas.NetworkAllowlist {
		return nil
	}
	state, err := e.State(ctx, rec.Task.ID)
	if err != nil || state != executors.StateCreated && state != executors.StateRunning {
		return err
	}
	err = e.openEgress(b, rec)
	if err == nil || errors.Is(err, errEnded) {
		return nil
	}
	// Another process of the node serves it, or the payload took the port while nobody
	// did, and has shut itself in; or it had used up its requests.
	if errors.Is(err, unix.EADDRINUSE) || errors.Is(err, egress.ErrClosed) {
		return nil
	}
	if alive, aerr := e.alive(ctx, rec.container()); aerr == nil && !alive { // it ended meanwhile
		return nil
	}
	return err
}

// closeEgress ends the task's proxy, if this process has it. The listener would
// keep the task's network namespace alive.
func (e *Executor) closeEgress(id string) error {
	e.egressMu.Lock()
	p := e.egress[id]
	delete(e.egress, id)
	e.egressMu.Unlock()
	if p == nil {
		return nil
	}
	return p.Close()
}

// closeEgresses is for the end of this process: tasks go on without a proxy
// until the next one takes them over.
func (e *Executor) closeEgresses() error {
	e.egressMu.Lock()
	open := e.egress
	e.egress = map[string]*egress.Proxy{}
	e.egressMu.Unlock()
	var errs []error
	for _, p := range open {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// reportEgress puts into the outcome what the task reached and was refused.
func (e *Executor) reportEgress(b runDir, t executors.Task, out *executors.Outcome) error {
	if t.Network != schemas.NetworkAllowlist {
		return nil
	}
	if err := e.closeEgress(t.ID); err != nil {
		return err
	}
	r, err := egress.ReadLog(b.path(egressFile))
	if err != nil {
		return err
	}
	out.NetworkDestinations, out.NetworkMore.Destinations = listed(r.Destinations())
	out.NetworkRefused, out.NetworkMore.Refused = listed(r.Refused())
	out.NetworkFailed, out.NetworkMore.Failed = listed(r.Failed())
	return nil
}

// maxListed bounds each list of destinations, as a result and the ledger hold them.
const maxListed = 256

// listed is what is listed of all, and how many more there are.
func listed(all []string) ([]string, int) {
	n := min(len(all), maxListed)
	return all[:n], len(all) - n
}
