package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate"
)

type promoteFlags struct {
	inbox, inputs string
}

func newPromote(a *app) *cobra.Command {
	var f promoteFlags
	cmd := &cobra.Command{
		Use:   "promote FILE...",
		Short: "Put approved requests into an inbox",
		Long: `promote checks an approved request and its inputs once more and puts them into an
inbox, so that the node never sees only some of them: inputs first, then the
signature, the request last, under the name of its request_id. Nothing is ever
overwritten, and after a failure nothing is left behind. A request that the node took
in before (if you may read its record) or that lies in the inbox is not put there again.

Each of several files is promoted or refused by itself; the exit code is that of the first
refusal.

The inbox is that of the node. --inbox NAME chooses one of several; --inbox DIR, a path with
a slash in it, is any folder, and needs no node.`,
		Example: `  threegate promote TR-20260209-160501Z-python-stats.md
  threegate promote approved/TR-*.md --node /var/lib/threegate --inbox team-a
  threegate promote TR.md --inbox /srv/shared/inbox/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.promote(cmd.Context(), args, f) },
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&f.inbox, "inbox", "", "`name` of an inbox of the node, or a folder")
	cmd.Flags().StringVar(&f.inputs, "inputs", "", "`folder` of the inputs (default: FILE without .md, with .inputs)")
	return cmd
}

// promotion is what became of one file: Placed and the rest if it was taken, else Error.
type promotion struct {
	File      string `json:"file"`
	RequestID string `json:"request_id,omitempty"`
	Inbox     string `json:"inbox,omitempty"`
	bundle.Placed
	Error string `json:"error,omitempty"`
}

func (a *app) promote(ctx context.Context, files []string, f promoteFlags) error {
	if len(files) > 1 && f.inputs != "" {
		return cli.Usagef("promote that file alone", "--inputs belongs to one request")
	}
	to, err := a.promoteTarget(f.inbox)
	if err != nil {
		return err
	}
	n := confine.Needs{Read: append(nodeReads(to.node), to.inbox), Write: []string{to.inbox}}
	for _, file := range files {
		n.Read = append(n.Read, to.folders.files(file, cmp.Or(f.inputs, bundle.Dir(file)))...)
	}
	to.notes = startReporter(ctx, to.node, "")
	defer a.stopReporter(to.notes)
	if err := a.DropPrivileges(n); err != nil {
		return err
	}
	if h := historyOf(to.node, ""); h != nil {
		to.record = h
	}
	if len(files) == 1 {
		p, err := a.promoteOne(ctx, files[0], f.inputs, to)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(p)
		}
		fmt.Fprintln(a.UI.Out, term.Visible(p.Request))
		a.UI.Hint("next: threegate wait " + p.RequestID + a.NodeArg())
		return nil
	}
	return a.promoteMany(ctx, files, to)
}

// promoteMany says of each file what became of it.
func (a *app) promoteMany(ctx context.Context, files []string, to target) error {
	var all []promotion
	exit, taken := 0, 0
	for _, file := range files {
		p, err := a.promoteOne(ctx, file, "", to)
		fault, ok := errors.AsType[*cli.Fault](err)
		switch {
		case err != nil && !ok:
			return err // interrupted
		case err != nil:
			p = promotion{File: file, Error: fault.Message}
			exit = cmp.Or(exit, fault.Exit)
		default:
			taken++
		}
		all = append(all, p)
		switch {
		case a.JSON:
		case err != nil:
			a.Report(&cli.Fault{Message: file + ": not promoted: " + fault.Message, Hint: fault.Hint})
		default:
			fmt.Fprintln(a.UI.Out, term.Visible(p.Request))
		}
	}
	if a.JSON {
		if err := a.PrintJSON(all); err != nil {
			return err
		}
	} else {
		a.UI.Say("%d promoted, %d not", taken, len(files)-taken)
	}
	if exit != 0 {
		return cli.Verdict(exit)
	}
	return nil
}

// promoteOne puts one request into the inbox.
func (a *app) promoteOne(ctx context.Context, file, inputs string, to target) (promotion, error) {
	p := promotion{File: file, Inbox: to.inbox}
	b, err := to.load(ctx, a, file, inputs)
	if fault, ok := errors.AsType[*cli.Fault](err); ok {
		to.notes.refusedByRules(file, b.Request, err)
		if fault.Rule == admission.RuleDuplicate || fault.Rule == admission.RuleConflict {
			fault.Exit = cli.ExitBusy
		}
	}
	if err != nil {
		return p, err
	}
	p.RequestID = b.ID
	if p.Placed, err = bundle.Put(ctx, to.inbox, b, InputLimits(to.policy)); err != nil {
		return p, PutFault(err, file, to.inbox, b.ID)
	}
	return p, nil
}

// LoadBundle reads a request with its signature and inputs, and judges them as a node will.
func LoadBundle(ctx context.Context, c *cli.App, file, inputs string, node *config.Node) (bundle.Bundle, error) {
	to := target{policy: node.Policy(c.Now()), node: node, folders: folders{}}
	return to.load(ctx, &app{c}, file, inputs)
}

// target is an inbox, and the policy of its node. The node is nil if only a folder was named.
type target struct {
	inbox   string
	policy  validate.Policy
	node    *config.Node
	record  admission.Record
	folders folders
	// notes tells the node of what is refused.
	notes *refusalReporter
}

// load is LoadBundle for the target.
func (to *target) load(ctx context.Context, a *app, file, inputs string) (b bundle.Bundle, err error) {
	if b.Request, err = bundle.ReadDocument(file, true, to.policy.MaxRequestBytes); err != nil {
		return b, cli.Troublef(err, lintHint(err), "can't read %s", file)
	}
	if inputs == "" {
		inputs = bundle.Dir(file)
	} else if inputs, err = filepath.EvalSymlinks(inputs); err != nil { // a person may name a link
		return b, inputFault(err)
	}
	c, files, err := to.folders.caseOf(ctx, file, inputs, b.Request, to.policy, to.node)
	if err != nil {
		return b, err
	}
	c.Record = to.record
	v, err := a.judge(ctx, file, "promoted", c)
	if err != nil {
		return b, err
	}
	b.ID, b.Signature, b.Files = v.Request.RequestID, c.Signature, files
	return b, refusedAfterApproval(file, v.Request)
}

// promoteTarget finds the folder of the inbox, and its node.
func (a *app) promoteTarget(inbox string) (target, error) {
	to := target{inbox: inbox, policy: cli.AnyNodePolicy(a.Now()), folders: folders{}}
	folder := strings.ContainsRune(inbox, filepath.Separator) || inbox == "." || inbox == ".."
	if folder && a.Node == "" {
		return to, checkInbox(inbox)
	}
	l, err := a.LoadNode()
	if err != nil {
		return to, err
	}
	to.node, to.policy = l, l.Policy(a.Now())
	if folder {
		return to, checkInbox(inbox)
	}
	var names []string
	for _, in := range l.Inboxes {
		if in.Name == inbox || (inbox == "" && len(l.Inboxes) == 1) {
			to.inbox = in.Path
			return to, checkInbox(in.Path)
		}
		names = append(names, in.Name)
	}
	if inbox == "" {
		return to, cli.Usagef("choose one with --inbox: "+strings.Join(names, ", "), "the node has several inboxes")
	}
	return to, cli.NotFoundf("its inboxes: "+strings.Join(names, ", ")+"; a folder is named with a slash in it",
		"the node has no inbox %q", inbox)
}

func checkInbox(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return cli.Troublef(err, "name an inbox with --inbox, or make the node: threegate init",
			"can't use the inbox %s", dir)
	case !info.IsDir():
		return cli.Troublef(durable.ErrNotRegular, "an inbox is a folder", "can't use the inbox %s", dir)
	}
	return nil
}

// PutFault explains an error of bundle.Put.
func PutFault(err error, file, inbox, id string) error {
	foreign, theirs := errors.AsType[*bundle.ForeignError](err)
	switch {
	case theirs:
		return &cli.Fault{Exit: cli.ExitBusy, Code: schemas.CodeFileIO, Cause: err,
			Message: fmt.Sprintf("%s is in the way of %s", foreign.Error(), id),
			Hint:    "ask them or root to remove it, or give the request another request_id and approve it again"}
	case errors.Is(err, bundle.ErrChanged):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeValidation, Rule: ruleInputs, Message: err.Error(),
			Cause: err,
			Hint: "an input was changed after the approval; review and approve again: threegate approve " + file +
				" --update-hashes"}
	case errors.Is(err, fs.ErrExist):
		return &cli.Fault{Exit: cli.ExitBusy, Code: schemas.CodeFileIO, Cause: err,
			Message: fmt.Sprintf("%s holds a %s already, and nothing is overwritten", inbox, id),
			Hint: "a request_id can be used only once: make a new request, or wait for this one: " +
				"threegate wait " + id}
	case errors.Is(err, bundle.ErrTooMuch), errors.Is(err, durable.ErrNotRegular):
		return inputFault(err)
	}
	return cli.Troublef(err, "", "can't put %s into %s", id, inbox)
}
