package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
)

func newReview(a *app) *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "review FILE",
		Short: "Read a request as it will run, and approve or refuse it",
		Long: `review shows a request as it will run: the words of its command or its code, limits,
network, risk, findings, and every input with type, size and digest. Text inputs are shown
whole, with line numbers and hidden characters spelled out. With --node
it also shows the image, the node's maxima, and the difference to the last request of
the same slug that the node ran.

On a terminal it fills the screen. "a" approves, once every line was shown, and "r"
refuses; both ask for your name, which is never taken from your login, and write the
file as approve does. With --node and --sign the plan is signed too (see approve --plan).
A refusal is written to FILE.refused, with its reason; promote takes no request that was
refused after its approval. "q" changes nothing.

Without a terminal, review prints everything and asks nothing.`,
		Example: `  threegate review TR-20260209-160501Z-python-stats.md --node /var/lib/threegate
  threegate review TR.md --sign ~/.ssh/id_ed25519
  threegate review TR.md | less`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.review(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&a.Node, "node", "", "read it as it would run on the node in this `folder`")
	fl.StringVar(&f.sign, "sign", "", "sign an approval with this OpenSSH private `key` (or the public half of one in ssh-agent)")
	fl.BoolVar(&f.unseen, "unseen", false, "approve also what this command does not show, and what was not scrolled to")
	fl.BoolVar(&f.rehash, "update-hashes", false, "replace hashes in the request that do not match the files")
	_ = cmd.MarkFlagDirname("node")
	return cmd
}

func (a *app) review(ctx context.Context, file string, f approveFlags) error {
	p := &approval{file: file, policy: cli.AnyNodePolicy(a.Now())}
	if a.Node != "" {
		l, err := a.LoadNode()
		if err != nil {
			return err
		}
		p.node, p.policy = l, l.Policy(a.Now())
	}
	interactive := term.IsTerminal(a.In) && a.UI.OutTTY && !a.JSON &&
		bundle.JobOf(p.file) == "" // what a node keeps stays as it is
	if interactive {
		if p.policy.RequireSignature && f.sign == "" {
			a.UI.Warn("this node wants signed approvals", "to approve, add --sign KEY")
		}
		f.plan = p.node != nil
		if !p.policy.RequireSignature || f.sign != "" {
			p.refusals = startReporter(ctx, p.node, f.sign)
			defer a.stopReporter(p.refusals)
		}
		if err := p.startSigners(ctx, f); err != nil {
			return err
		}
		defer p.stopSigners()
	}
	if err := a.open(ctx, p, f, interactive); err != nil {
		return err
	}
	defer p.place.Close()
	if err := a.unapproved(ctx, p); err != nil {
		return err
	}
	r, err := a.read(ctx, p)
	if err != nil {
		return err
	}
	if !interactive {
		return a.reviewOut(p, r)
	}
	s := newScreen(r, p, a.UI.OutStyle, f.unseen)
	s.mayApprove = func(name string) error {
		if p.policy.RequireSignature && p.signer == nil {
			return cli.Usagef("", "this node requires signed approvals: leave, and add --sign KEY")
		}
		p.approver = name
		return a.fillQuietly(ctx, p)
	}
	if _, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(a.In), tea.WithOutput(a.UI.Out),
		tea.WithoutSignalHandler()).Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return cli.Troublef(err, "threegate review FILE | less shows the same", "the screen can't be used")
	}
	return a.decide(ctx, p, s)
}

// decide does what the reader asked for.
func (a *app) decide(ctx context.Context, p *approval, s *screen) error {
	switch s.decision {
	case decisionApprove:
		p.approver = s.name
		if err := a.fill(ctx, p); err != nil {
			return err
		}
		return a.writeApproval(ctx, p)
	case decisionRefuse:
		return a.writeRefusal(p, s.name, s.reason)
	}
	return &cli.Fault{Exit: cli.ExitDeclined, Code: schemas.CodePolicy,
		Message: "neither approved nor refused; nothing was changed"}
}

// unapproved judges the request with its inputs, whoever will approve it.
func (a *app) unapproved(ctx context.Context, p *approval) error {
	p.policy.Now = a.Now().UTC()
	p.raw = p.doc.Bytes()
	p.policy.Unapproved = true
	err := p.judge(ctx, a, "reviewed", admission.Case{})
	p.policy.Unapproved = false
	if err != nil {
		return err
	}
	p.request.ApprovedBy = strings.TrimSpace(p.replaces)
	return nil
}

// reviewOut prints the whole reading.
func (a *app) reviewOut(p *approval, r *reading) error {
	if !a.JSON {
		columns := 0
		if a.UI.OutTTY {
			columns = a.UI.Columns
		}
		_, err := io.WriteString(a.UI.Out, r.print(a.UI.OutStyle, columns))
		return err
	}
	unseen, findings := append([]string{}, r.unseen...), append([]schemas.Finding{}, p.verdict.Findings...)
	return a.PrintJSON(map[string]any{
		"request_id": p.request.RequestID, "file": p.file, "sha256": schemas.SHA256(p.original),
		"reading": strings.Split(strings.TrimSuffix(r.print(false, 0), "\n"), "\n"),
		"unseen":  unseen, "findings": findings, "not_looked_at": p.verdict.NotLookedAt,
	})
}

// writeRefusal puts the reason next to the request.
func (a *app) writeRefusal(p *approval, name, reason string) error {
	data, err := refusal{Version: 1, RequestID: p.request.RequestID, RequestSHA256: schemas.SHA256(p.original),
		RefusedBy: name, RefusedUTC: a.Now().UTC().Truncate(time.Second), Reason: reason}.encode()
	if err == nil {
		err = p.place.WriteFile(p.name+refusedSuffix, data, 0o644, true)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't write %s%s", p.file, refusedSuffix)
	}
	p.refusals.refused(p.request.RequestID, p.original, name, reason, nil)
	fmt.Fprintf(a.UI.Out, "%s refused by %s\n", term.Visible(p.request.RequestID), term.Visible(name))
	return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodePolicy, Message: "refused: " + reason,
		Hint: "give the request back with " + p.file + refusedSuffix}
}

// fillQuietly is fill for the screen: it prints nothing.
func (a *app) fillQuietly(ctx context.Context, p *approval) error {
	json := a.JSON
	a.JSON = true
	defer func() { a.JSON = json }()
	err := a.fill(ctx, p)
	if f, ok := errors.AsType[*cli.Fault](err); ok {
		return errors.New(f.Message)
	}
	return err
}
