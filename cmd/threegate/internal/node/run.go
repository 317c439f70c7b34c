package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/documents"
	"github.com/threegate/tool-exec/cmd/threegate/internal/record"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

func newRun(a *app) *cobra.Command {
	var inputs string
	var out string
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Try one approved request without the daemon",
		Long: `run takes one request through the whole gate, in a private node that is removed
afterwards: the same rules, the same sandbox, the same checks of the result. It uses
the images, limits and policy of a configured node, which may be served meanwhile,
but nothing of the run appears there or in its record. If a run is killed, the node's
next run or serve removes what it left behind.

The result is printed to stdout; --output keeps it and its artifacts. The request
must be approved: threegate approve.`,
		Example: `  threegate run TR-20260209-160501Z-python-stats.md --node /var/lib/threegate
  threegate run TR.md --output results/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), l, args[0], inputs, out)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&inputs, "inputs", "", "`folder` of the inputs (default: FILE without .md, with .inputs)")
	cmd.Flags().StringVar(&out, "output", "", "keep the result and its artifacts in this `folder`")
	_ = cmd.MarkFlagDirname("output")
	return cmd
}

func (a *app) run(ctx context.Context, l *config.Node, file, inputs, out string) (err error) {
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return cli.Troublef(err, "", "can't use the folder %s", out)
		}
	}
	policy := l.Policy(a.Now())
	b, err := documents.LoadBundle(ctx, a.App, file, inputs, l)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.UI.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	removeDeadRuns(ctx, l, log)
	p, err := makePrivate(l)
	if err != nil {
		return cli.Troublef(err, "", "can't make a node to run in")
	}
	defer func() {
		if rerr := p.remove(context.WithoutCancel(ctx)); rerr != nil && err == nil {
			err = cli.Troublef(rerr, "the next threegate run or serve of this node tries again",
				"can't clean up after the run")
		}
	}()
	inbox := p.cfg.Inboxes[0].Path
	if _, err := bundle.Put(ctx, inbox, b, documents.InputLimits(policy)); err != nil {
		return documents.PutFault(err, file, inbox, b.ID)
	}
	f, err := p.serve(ctx, b.ID, log)
	if err != nil {
		return err
	}
	return a.runOutcome(f, out)
}

// serve serves the private node until the request has come to its end. If it does not, what still runs is ended.
func (p *private) serve(ctx context.Context, id string, log *slog.Logger) (f *view.RequestStatus, err error) {
	if p.exec, err = backend.Open(ctx, p.cfg, nil); err != nil {
		return nil, err
	}
	g, err := gate.Open(p.cfg, gate.Options{Executor: p.exec, Logger: log, Version: cli.Version})
	if err != nil {
		return nil, cli.Troublef(err, "", "can't open the node")
	}
	serving, stop := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		err := g.Run(serving)
		stop(err)
		ended <- err
	}()
	f, err = record.Follow(serving, view.Follow(p.cfg, id), func(*view.RequestStatus) error { return nil })
	if err != nil { // interrupted: nobody will ask for what still runs
		err = errors.Join(err, p.kill())
	}
	stop(nil)
	if gerr := errors.Join(<-ended, g.Close()); gerr != nil && ctx.Err() == nil {
		return nil, cli.Troublef(gerr, "", "the run broke off")
	}
	return f, err
}

// runOutcome shows what came of the run.
func (a *app) runOutcome(f *view.RequestStatus, out string) error {
	if !f.State.Answered() {
		reasons, err := os.ReadFile(filepath.Join(f.ReasonsPath, "REASONS.md"))
		if err == nil && !a.JSON {
			fmt.Fprintln(a.UI.Err, term.Block(string(reasons)))
		}
		rule := ""
		if len(f.Rules) > 0 {
			rule = f.Rules[0]
		}
		what := "the request"
		if f.State != ledger.StateQuarantined {
			what = "its result"
		}
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeValidation, Rule: rule,
			Message: what + " was refused: " + strings.Join(f.Rules, ", "),
			Hint:    "threegate explain RULE says more about a rule"}
	}
	text, err := os.ReadFile(f.ResultPath)
	if err != nil {
		return cli.Troublef(err, "", "can't read the result")
	}
	kept := ""
	if out != "" {
		if kept, err = keepResult(f, text, out); err != nil {
			return cli.Troublef(err, "", "can't keep the result in %s", out)
		}
		a.UI.Say("kept: %s", kept)
	}
	if a.JSON {
		f.ResultPath = kept
		if err := a.PrintJSON(struct {
			*view.RequestStatus
			Result string `json:"result"`
		}{f, string(text)}); err != nil {
			return err
		}
	} else if _, err := a.UI.Out.Write(text); err != nil {
		return cli.Troublef(err, "", "can't write the output")
	}
	return record.Exit(f)
}

// keepResult copies a result and its artifacts, artifacts first.
func keepResult(f *view.RequestStatus, text []byte, out string) (string, error) {
	from := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
	name := filepath.Base(from)
	files, err := bundle.Folder(from, bundle.Limits{Files: 1 << 20, Bytes: 1 << 50})
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		err := bundle.CopyFolder(context.Background(), out, name, files, bundle.Limits{Files: 1 << 20, Bytes: 1 << 50})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	base := filepath.Base(f.ResultPath)
	return filepath.Join(out, base), bundle.WriteFile(out, base, text, 0o644, false)
}
