package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/posture"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// postureReport is what `threegate posture --json` prints: one for each network
// that a request of this node can have.
type postureReport struct {
	Network  schemas.Network   `json:"network"`
	Runtime  string            `json:"runtime"`
	Image    string            `json:"image"`
	Tried    int               `json:"tried"`
	Allowed  int               `json:"allowed"`
	Other    int               `json:"denied_otherwise"`
	Inside   int               `json:"inside"`
	Waived   int               `json:"waived"`
	Findings []posture.Finding `json:"findings"`
}

// Limits of a self-test; the others are the node's.
const (
	postureMilliCPU = 500
	postureMemoryMB = 128
	postureTimeSec  = 60
)

func newPosture(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "posture",
		Short: "Attack a sandbox from inside, and report what it blocked",
		Long: `posture runs a program of its own in a sandbox like that of any request. The program
tries some 300 ways out: mounts, namespaces, devices, /proc, privileges, other
processes, limits, sockets, traces of the host. It shows what worked, and what was
denied by other means than intended; --all shows everything. If domains are allowed,
it tries the same with an egress proxy.

It ends with exit code 1 if anything worked, or if the test could not finish. The node
may be served meanwhile. posture.at_start and posture.every in
` + config.FileName + ` make the node test itself.`,
		Example: `  sudo threegate posture --node /var/lib/threegate
  sudo threegate posture --json | jq '.[].findings[] | select(.verdict != "denied")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadNode()
			if err != nil {
				return err
			}
			reports, err := a.postureOnce(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if a.JSON {
				err = a.PrintJSON(reports)
			} else {
				err = a.printPosture(reports, all)
			}
			if err == nil && errors.Join(verdictsOf(reports)...) != nil {
				err = cli.Verdict(cli.ExitReject)
			}
			return err
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show every attempt")
	return cmd
}

// postureOnce tests with an executor of its own. The node may be served meanwhile.
func (a *app) postureOnce(ctx context.Context, cfg *config.Node) (_ []postureReport, err error) {
	served, err := spool.Locked(cfg.Dir)
	if err != nil {
		return nil, cli.Troublef(err, "", "can't look at the node in %s", cfg.Dir)
	}
	e, err := backend.Open(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		end := e.Close
		if !served { // a containerd that nobody else needs is stopped
			end = func() error { return e.Shutdown(stopping) }
		}
		if endErr := end(); endErr != nil && err == nil {
			err = cli.Troublef(endErr, "", "can't clean up after the self-test")
		}
	}()
	reports, err := tryPosture(ctx, e, cfg)
	if err != nil {
		return nil, cli.Troublef(err, cmp.Or(executors.HintOf(err), "threegate doctor says what this host lacks"),
			"the self-test could not be run")
	}
	return reports, nil
}

// postureOf is the self-test as the gate asks for it.
func postureOf(e *container.Executor, cfg *config.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		reports, err := tryPosture(ctx, e, cfg)
		if err != nil {
			return err
		}
		return errors.Join(verdictsOf(reports)...)
	}
}

// verdictsOf are the attempts that worked.
func verdictsOf(reports []postureReport) []error {
	var errs []error
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Verdict == posture.Allowed {
				errs = append(errs, fmt.Errorf("network %s: a sandbox could %s (%s)", r.Network, f.What, f.Name))
			}
		}
	}
	return errs
}

func tryPosture(ctx context.Context, e *container.Executor, cfg *config.Node) ([]postureReport, error) {
	networks := []schemas.Network{schemas.NetworkNone}
	if len(cfg.Network.AllowedDomains) > 0 {
		networks = append(networks, schemas.NetworkAllowlist)
	}
	var reports []postureReport
	for _, n := range networks {
		r, err := tryNetwork(ctx, e, cfg, n)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func tryNetwork(ctx context.Context, e *container.Executor, cfg *config.Node,
	network schemas.Network) (_ postureReport, err error) {
	rep := postureReport{Network: network}
	task := executors.Task{
		ID:      fmt.Sprintf("jposture%019d", time.Now().UnixNano()), // as wide as any job's
		Backend: executors.BackendPosture, Network: network,
		Limits: cfg.TaskLimits(&schemas.Request{MilliCPU: postureMilliCPU, MemoryLimitMB: postureMemoryMB,
			TimeLimitSec: postureTimeSec}),
	}
	if network == schemas.NetworkAllowlist {
		task.Domains = cfg.Network.AllowedDomains
	}
	dir, err := os.MkdirTemp("", "threegate-posture-")
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, e.Cleanup(context.WithoutCancel(ctx), task.ID), os.RemoveAll(dir)) }()
	if err := e.Prepare(ctx, task); err != nil {
		return rep, err
	}
	if err := e.Start(ctx, task.ID); err != nil {
		return rep, err
	}
	out, err := e.Wait(ctx, task.ID)
	if err != nil {
		return rep, err
	}
	if _, err := e.Collect(ctx, task.ID, dir); err != nil {
		return rep, err
	}
	rep.Runtime, rep.Image = out.Identity.Runtime, out.Identity.Image
	findings, err := os.ReadFile(filepath.Join(dir, "stdout"))
	if err != nil {
		return rep, err
	}
	for line := range bytes.Lines(findings) {
		var x posture.Finding
		if err := schemas.DecodeStrict(line, &x); err != nil {
			return rep, fmt.Errorf("its output can't be read: %w", err)
		}
		rep.Findings = append(rep.Findings, x)
		rep.Tried++
		switch x.Verdict {
		case posture.Allowed:
			rep.Allowed++
		case posture.Otherwise:
			rep.Other++
		case posture.Inside:
			rep.Inside++
		case posture.Waived:
			rep.Waived++
		}
	}
	// A test that was cut short has proved nothing.
	if rep.Tried != posture.Count() {
		return rep, fmt.Errorf("only %d of %d attempts were made: exit code %d, %s %s", rep.Tried, posture.Count(),
			out.ExitCode, out.Cause, out.Detail)
	}
	return rep, nil
}

// words are the verdicts as they are shown, and what their number means. Verdicts without a
// word are those that are meant.
var words = map[posture.Verdict]struct{ word, meaning string }{
	posture.Allowed:   {"ALLOWED", "ALLOWED"},
	posture.Otherwise: {"otherwise", "denied by another means than is meant"},
	posture.Inside:    {"inside", "reached no further than the sandbox's own kernel"},
	posture.Waived:    {"waived", "waived by the configuration"},
}

func (a *app) printPosture(reports []postureReport, all bool) error {
	s := a.UI.OutStyle
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "%s\n", s.Bold(fmt.Sprintf("network %s, %s", r.Network, term.Visible(r.Runtime))))
		for _, f := range r.Findings {
			w, special := words[f.Verdict]
			paint, word := s.Yellow, w.word
			switch {
			case f.Verdict == posture.Allowed:
				paint = s.Red
			case !special && all:
				paint, word = s.Green, string(f.Verdict)
			case !special:
				continue
			}
			fmt.Fprintf(&b, "  %s  %-24s %-13s %s\n", paint(fmt.Sprintf("%-9s", word)), term.Visible(f.Name),
				term.Visible(f.Outcome), term.Visible(f.What))
		}
		fmt.Fprintf(&b, "  %d attempts: %d denied", r.Tried, r.Tried-r.Allowed-r.Inside-r.Waived)
		for _, c := range []struct {
			n int
			v posture.Verdict
		}{{r.Other, posture.Otherwise}, {r.Inside, posture.Inside}, {r.Waived, posture.Waived},
			{r.Allowed, posture.Allowed}} {
			if c.n > 0 {
				fmt.Fprintf(&b, ", %d %s", c.n, words[c.v].meaning)
			}
		}
		b.WriteString("\n")
	}
	_, err := fmt.Fprint(a.UI.Out, b.String())
	return err
}
