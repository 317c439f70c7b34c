package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/documents"
	"github.com/threegate/tool-exec/cmd/threegate/internal/qualify"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fate"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

type qualifyFlags struct {
	set, signers, signer, last string
	unsigned                   bool
	timeout                    time.Duration
	makeID, makeVersion        string
}

func newQualify(a *app) *cobra.Command {
	f := qualifyFlags{makeVersion: "1.0.0"}
	cmd := &cobra.Command{
		Use:   "qualify [CASE...]",
		Short: "Run a set of requests whose ends are known through a throw-away node",
		Long: `qualify tells after a change of host, images or rules whether the gate still does what
it did. It runs a set of requests, each with the end that it must come to, through a
private node that has the images, limits and rules of a configured one and is removed
afterwards. Nothing of it appears in the node, its inboxes or its record. The private
node asks for no approver by name and no signature of a request, and its approvals do
not age: what counts as approved there counts nowhere else.

A set is a folder with a qualify.json, signed by ssh-keygen in the namespace
threegate-qualify; --signers names the allowed_signers file and --signer who must have
signed it. --unsigned takes a set that nobody signed.

The scorecard (--json) has the shape of OpenWOP's EvalSummary. With --last it holds the
difference to an earlier one. The exit code is 1 if a request came to another end.

--make ID writes the qualify.json of the CASES instead, folders below --set with a
request and a want.json each (see testdata/examples).`,
		Example: `  threegate qualify --set testdata/examples --unsigned --node /var/lib/threegate
  threegate qualify --set cases --signers signers --signer alice --last before.json
  threegate qualify --set cases --make private.lab.evals.gate good/a bad/b
  ssh-keygen -Y sign -n threegate-qualify -f ~/.ssh/id_ed25519 cases/qualify.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.set == "" {
				return cli.Usagef("name its folder with --set", "qualify needs a set")
			}
			if f.makeID != "" {
				return a.makeSet(cmd.Context(), f, args)
			}
			if len(args) > 0 {
				return cli.Usagef("cases are named with --make", "a set runs as a whole")
			}
			return a.qualify(cmd.Context(), f)
		},
	}
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.set, "set", "", "`folder` of the set (needed)")
	fl.StringVar(&f.signers, "signers", "", "OpenSSH allowed_signers `file` for the set's signature")
	fl.StringVar(&f.signer, "signer", "", "`name` in it of who must have signed the set")
	fl.BoolVar(&f.unsigned, "unsigned", false, "take a set without looking for a signature")
	fl.StringVar(&f.last, "last", "", "compare with this scorecard `file`")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Minute, "give up after this `duration`")
	fl.StringVar(&f.makeID, "make", "", "write the set's qualify.json with this suite `id`")
	fl.StringVar(&f.makeVersion, "set-version", f.makeVersion, "`version` of the set that is made")
	_ = cmd.MarkFlagDirname("set")
	return cmd
}

func (a *app) makeSet(ctx context.Context, f qualifyFlags, cases []string) error {
	s, err := qualify.Make(ctx, f.set, f.makeID, f.makeVersion, cases,
		documents.InputLimits(cli.AnyNodePolicy(a.Now())))
	if err != nil {
		return cli.Troublef(err, "", "can't make a set of %s", f.set)
	}
	raw, err := s.Encode()
	if err == nil {
		err = bundle.WriteFile(f.set, qualify.Manifest, raw, 0o644, true)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't write the set's %s", qualify.Manifest)
	}
	fmt.Fprintln(a.UI.Out, filepath.Join(f.set, qualify.Manifest))
	a.UI.Hint("sign it: ssh-keygen -Y sign -n " + qualify.Namespace + " -f KEY " +
		filepath.Join(f.set, qualify.Manifest))
	return nil
}

func (a *app) qualify(ctx context.Context, f qualifyFlags) (err error) {
	set, raw, err := qualify.Read(f.set)
	if err != nil {
		return cli.Troublef(err, "threegate qualify --help says what a set is", "can't use the set in %s", f.set)
	}
	if err := verifySet(ctx, f, raw); err != nil {
		return err
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	outcomes, err := a.runSet(ctx, l, set, f)
	if err != nil {
		return err
	}
	card := set.Card(outcomes)
	var worse, better []string
	if f.last != "" {
		if worse, better, err = card.Against(f.last); err != nil {
			return cli.Troublef(err, "", "can't compare with %s", f.last)
		}
	}
	if a.JSON {
		err = a.PrintJSON(card)
	} else {
		err = a.printCard(set, card, outcomes, worse, better)
	}
	if err == nil && !card.Passed {
		err = cli.Verdict(cli.ExitReject)
	}
	return err
}

// verifySet verifies the signature of the manifest.
func verifySet(ctx context.Context, f qualifyFlags, manifest []byte) error {
	if f.unsigned {
		return nil
	}
	if f.signers == "" || f.signer == "" {
		return cli.Usagef("--signers FILE --signer NAME, or --unsigned for a set that nobody signed",
			"who signed the set is not said")
	}
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-Y", "verify", "-f", f.signers, "-I", f.signer,
		"-n", qualify.Namespace, "-s", filepath.Join(f.set, qualify.Signature))
	cmd.Stdin = bytes.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		return cli.Rejectf("", "sign it: ssh-keygen -Y sign -n "+qualify.Namespace+" -f KEY "+qualify.Manifest,
			"%s did not sign this set: %s", term.Visible(f.signer), term.Visible(strings.TrimSpace(string(out))))
	}
	return nil
}

// runSet runs a set through a private node.
func (a *app) runSet(ctx context.Context, l *config.Node, set *qualify.Set, f qualifyFlags) (out []qualify.Outcome,
	err error) {
	limits := documents.InputLimits(l.Policy(a.Now()))
	bundles := make([]bundle.Bundle, len(set.Tasks))
	for i := range set.Tasks {
		if bundles[i], err = set.Tasks[i].Bundle(ctx, f.set, limits); err != nil {
			return nil, cli.Troublef(err, "make the set's "+qualify.Manifest+" anew: --make",
				"can't use the set in %s", f.set)
		}
	}
	log := slog.New(slog.NewTextHandler(a.UI.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	removeDeadRuns(ctx, l, log)
	p, err := makePrivate(l)
	if err != nil {
		return nil, cli.Troublef(err, "", "can't make a node to run in")
	}
	defer func() {
		if rerr := p.remove(context.WithoutCancel(ctx)); rerr != nil && err == nil {
			err = cli.Troublef(rerr, "the next threegate run or serve of this node tries again",
				"can't clean up after the runs")
		}
	}()
	p.cfg.Approvals = config.Approvals{Approvers: []string{}}
	p.cfg.AllowedSigners = nil
	inbox := p.cfg.Inboxes[0].Path
	for _, b := range bundles {
		if _, err := bundle.Put(ctx, inbox, b, limits); err != nil {
			return nil, documents.PutFault(err, b.ID, inbox, b.ID)
		}
	}
	late, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = p.serving(late, log, func(ctx context.Context) (err error) {
		out, err = watchSet(ctx, p.cfg, bundles)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil // those that have no outcome did not pass
	}
	return out, err
}

// watchSet waits until all requests have come to their ends. When ctx ends, it returns what it has.
func watchSet(ctx context.Context, cfg *config.Node, bundles []bundle.Bundle) ([]qualify.Outcome, error) {
	began := time.Now()
	out := make([]qualify.Outcome, len(bundles))
	watches := make([]*fate.Watch, len(bundles))
	for i, b := range bundles {
		watches[i] = fate.Follow(cfg, b.ID)
	}
	store := quarantine.NewStore(filepath.Join(cfg.Dir, spool.DirQuarantine))
	for {
		refused, err := refusedBy(store)
		if err != nil {
			return out, err
		}
		left := 0
		for i, b := range bundles {
			if out[i].State != "" {
				continue
			}
			f, err := watches[i].Look()
			if err != nil {
				return out, err
			}
			rules, inQuarantine := refused[b.ID+".md"]
			switch {
			case inQuarantine: // also where no id could be read
				out[i] = qualify.Outcome{State: qualify.Quarantined, Rules: rules}
			case f.Ended() && f.State != qualify.Quarantined:
				out[i] = qualify.Outcome{State: f.State, Rules: sorted(f.Rules), ExitCode: f.ExitCode, Cause: f.Cause}
			default:
				left++
				continue
			}
			out[i].Took = time.Since(began)
		}
		if left == 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// pollEvery is how often the private node is looked at.
const pollEvery = 200 * time.Millisecond

// refusedBy are the blocking rules of the requests in quarantine, by the names of their files.
func refusedBy(store *quarantine.Store) (map[string][]string, error) {
	items, err := store.List(schemas.KindRequest)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, it := range items {
		if it.Reasons == nil {
			continue // not yet written whole
		}
		var rules []string
		for _, f := range it.Reasons.Findings {
			if f.Severity == schemas.SeverityBlocking {
				rules = append(rules, f.Rule)
			}
		}
		out[it.Reasons.OriginalName] = sorted(rules)
	}
	return out, nil
}

func sorted(rules []string) []string { return slices.Compact(slices.Sorted(slices.Values(rules))) }

func (a *app) printCard(set *qualify.Set, c *qualify.Scorecard, outcomes []qualify.Outcome, worse,
	better []string) error {
	style := a.UI.OutStyle
	for i, t := range set.Tasks {
		mark, what := style.Green("ok   "), outcomes[i].State
		if d := t.Expect.Differs(outcomes[i]); d != "" {
			mark, what = style.Red("WRONG"), d
		}
		fmt.Fprintf(a.UI.Out, "%s  %-40s  %s\n", mark, t.ID, term.Visible(what))
	}
	fmt.Fprintf(a.UI.Out, "\n%d of %d as expected", c.PassedCount, c.TaskCount)
	if c.Regression != nil {
		fmt.Fprintf(a.UI.Out, "; %+.3f to the last run", c.Regression.ScoreDelta)
	}
	fmt.Fprintln(a.UI.Out)
	for _, id := range worse {
		fmt.Fprintf(a.UI.Out, "%s passed the last time: %s\n", style.Red("worse:"), term.Visible(id))
	}
	for _, id := range better {
		fmt.Fprintf(a.UI.Out, "%s failed the last time: %s\n", style.Green("better:"), term.Visible(id))
	}
	return nil
}
