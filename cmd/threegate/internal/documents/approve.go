package documents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

type approveFlags struct {
	as, sign, config string
	inputs           []string
	yes, rehash      bool
	unseen, plan     bool
	also             bool
}

func newApprove(a *app) *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "approve FILE",
		Short: "Review a request, and approve exactly these bytes",
		Long: `approve shows what a request would run, on which files, within which limits, and
everything in it that a reader might overlook: the whole code and every text input, with
line numbers. After a "yes" it fills in the hashes of the inputs, the approver and the
time, and writes the file back. It refuses a request that lint would reject, and a file
that is a link.

It does not approve what it can't show: a binary input, or anything with --json. Add
--unseen if you have looked at those by other means.

Inputs are the files in the folder FILE without .md, with .inputs. Files that are
named with --input are copied there first. If a hash in the request differs from its
file, stop: somebody changed one of the two. --update-hashes approves the file as it is
now.

With --sign the request is signed too: FILE.sig is made with
ssh-keygen -Y sign -n ` + approvals.Namespace + `. The hashes protect
the inputs, not the request: only a node that requires signatures refuses a request that
was edited after its approval.
--plan also writes and signs FILE.plan.json (namespace ` + approvals.PlanNamespace + `): the image, runtime,
limits and domains with which the node of --config would run it now. If one of them has
changed by the time it is to run, the node refuses it and names the change.

A node may require several approvers for a risk level (approvals.min_approvers). The first
approves as above. Each further one reads the same request and signs the same bytes with
--add-signature, which writes FILE.NAME.sig and leaves FILE alone. promote takes all
signatures along.`,
		Example: `  threegate approve TR-20260209-160501Z-python-stats.md --as alice
  threegate approve TR.md --input stats.py --input data.csv --sign ~/.ssh/id_ed25519
  threegate approve TR.md --add-signature --as bob --sign ~/.ssh/id_ed25519
  threegate approve TR.md --as alice --yes --json --unseen`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.approve(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.as, "as", "", "the approver's `name` (default: who you are logged in as)")
	fl.StringArrayVar(&f.inputs, "input", nil, "input `file` or folder, copied to the request (repeatable)")
	fl.StringVar(&f.sign, "sign", "", "sign with this OpenSSH private `key` (or the public half of one in ssh-agent)")
	fl.StringVar(&f.config, "config", "", "judge by the policy of this threegate.yaml `file`")
	fl.BoolVar(&f.plan, "plan", false, "also sign how the node of --config would run it: image, runtime, limits")
	fl.BoolVar(&f.also, "add-signature", false, "add your signature to a request that somebody else approved")
	fl.BoolVar(&f.yes, "yes", false, "approve without asking")
	fl.BoolVar(&f.unseen, "unseen", false, "approve also what this command does not show")
	fl.BoolVar(&f.rehash, "update-hashes", false, "replace hashes in the request that do not match the files")
	return cmd
}

// approval is a request on its way to being approved.
type approval struct {
	file, approver string
	// place is the folder of file, name what file is called there. It may be the
	// requester's: what was shown is what is written, even if the path changes.
	place    *bundle.Place
	name     string
	original []byte
	doc      *frontmatter.Doc
	inputs   []bundle.File
	policy   validate.Policy
	// node is where it would run, if that is known.
	node *config.Node
	// The request as it will be written, and the verdict on it.
	raw     []byte
	request *schemas.Request
	verdict admission.Verdict
	// history is what the node knows of earlier requests, or nil.
	history *ledger.History
	folders folders
	// signer signs what is approved, with a key that this process can't reach; nil
	// if nothing is to be signed.
	signer *cli.Signer
	// planSigner signs the plan of what would run, or is nil.
	planSigner *cli.Signer
	// refusals tells the node of one by a person, or is nil.
	refusals *refusalReporter
	// also says that it was approved, and one more person signs it.
	also bool
	// replaces is the approval that stood there before.
	replaces string
	// notes are shown to the reviewer.
	notes []string
}

func (a *app) approve(ctx context.Context, file string, f approveFlags) (err error) {
	if a.JSON && !f.yes {
		return cli.Usagef("add --yes once the request has been reviewed", "--json asks nobody, and --yes is missing")
	}
	if f.also && (f.sign == "" || f.plan || f.rehash || len(f.inputs) > 0) {
		return cli.Usagef("add --sign KEY; --plan, --input and --update-hashes belong to the first approval",
			"--add-signature signs what was approved, and changes nothing")
	}
	if job := bundle.JobOf(file); job != "" {
		inputs := filepath.Join(job, spool.DirInputs)
		return cli.Usagef("approve a copy: cp "+file+" again.md; cp -r "+inputs+" again.inputs",
			"a node keeps %s as it was approved", file)
	}
	p := &approval{file: file, also: f.also}
	if err := a.approvalTerms(p, f); err != nil {
		return err
	}
	if err := p.startSigners(ctx, f); err != nil {
		return err
	}
	defer p.stopSigners()
	notes := startReporter(ctx, p.node, "")
	defer a.stopReporter(notes)
	defer func() { notes.refusedByRules(file, p.original, err) }()
	if err := a.open(ctx, p, f, true); err != nil {
		return err
	}
	defer p.place.Close()
	if f.also {
		return a.addSignature(ctx, p, f)
	}
	if err := a.fill(ctx, p); err != nil {
		return err
	}
	if err := a.confirm(ctx, p, f); err != nil {
		return err
	}
	// The approval is as old as the answer, not as the question.
	if err := a.fill(ctx, p); err != nil {
		return err
	}
	return a.writeApproval(ctx, p)
}

// confirm shows what would be approved, and asks. Without an error it may be.
func (a *app) confirm(ctx context.Context, p *approval, f approveFlags) error {
	if a.JSON && !f.unseen {
		return cli.Usagef("add --unseen once the request has been reviewed, or leave out --json",
			"with --json nothing is shown, and what was not shown is not approved")
	}
	question := `Approve exactly this? Type "yes":`
	if !a.JSON {
		r, err := a.read(ctx, p)
		if err != nil {
			return err
		}
		if err := a.printReading(r); err != nil {
			return err
		}
		if n := len(r.unseen); n > 0 && !f.unseen {
			return unseenFault(r)
		} else if n > 0 {
			question = fmt.Sprintf(`Approve exactly this, and %s unseen? Type "yes":`,
				term.Plural(n, "input", "inputs"))
		}
	}
	if f.yes {
		return nil
	}
	ok, err := a.UI.Ask(ctx, a.In, question)
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return cli.Usagef("run it in a terminal, or add --yes once the request has been reviewed",
			"--yes is missing, and there is no terminal to ask on")
	case err == nil && !ok:
		return &cli.Fault{Exit: cli.ExitDeclined, Code: schemas.CodePolicy,
			Message: "not approved; nothing was changed"}
	}
	return err
}

// printReading writes a reading to stderr: stdout is for data. A terminal gets no line that it would
// have to break.
func (a *app) printReading(r *reading) error {
	columns := 0
	if a.UI.ErrTTY {
		columns = a.UI.Columns
	}
	_, err := io.WriteString(a.UI.Err, r.print(a.UI.ErrStyle, columns))
	return err
}

// unseenFault refuses to approve what was not shown.
func unseenFault(r *reading) error {
	return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodePolicy,
		Message: "not approved, as this was not shown: " + strings.Join(r.unseen, "; "),
		Hint:    "look at it by other means, then add --unseen"}
}

// approvalTerms finds out who approves, and by which rules.
func (a *app) approvalTerms(p *approval, f approveFlags) (err error) {
	if p.node, p.policy, err = cli.ConfigOf(f.config, a.Now()); err != nil {
		return err
	}
	if p.policy.RequireSignature && f.sign == "" {
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodePolicy, Rule: "approval.signature",
			Message: "this node wants signed approvals", Hint: "add --sign KEY"}
	}
	if f.plan && (f.sign == "" || p.node == nil) {
		return cli.Usagef("add --sign KEY and --config NODE/"+config.FileName,
			"a plan is signed, and says how one node would run the request")
	}
	p.approver, err = a.approverName(f.as)
	return err
}

// open gives up all rights but those to the request and its folder. It reads the request, its inputs, and what the node
// knows of earlier ones.
func (a *app) open(ctx context.Context, p *approval, f approveFlags, writes bool) error {
	dir, name := filepath.Split(p.file)
	dir = cmp.Or(dir, ".")
	p.folders = folders{}
	n := confine.Needs{Read: slices.Concat(p.folders.files(p.file, bundle.Dir(p.file)), nodeReads(p.node), f.inputs)}
	if len(f.inputs) > 0 {
		n.Read = append(n.Read, dir)
	}
	if writes {
		n.Write = []string{dir}
	}
	place, err := bundle.OpenPlace(dir)
	if err != nil {
		return cli.Troublef(err, "", "can't open the folder of %s", p.file)
	}
	p.place, p.name = place, name
	if err = a.DropPrivileges(n); err == nil {
		err = a.prepareApproval(ctx, p, f)
	}
	if err != nil {
		_ = place.Close()
		return err
	}
	p.history = historyOf(p.node, draft.SlugOf(p.doc.Values["request_id"]))
	return nil
}

// prepareApproval reads the request and its inputs, and compares them.
func (a *app) prepareApproval(ctx context.Context, p *approval, f approveFlags) error {
	file := p.file
	var err error
	if p.original, err = p.place.Read(p.name, p.policy.MaxRequestBytes); err != nil {
		hint := lintHint(err)
		if mode, merr := p.place.Mode(p.name); merr == nil && mode&fs.ModeSymlink != 0 {
			hint = "approve the file itself: whoever may write to the folder of a link can change it"
		}
		return cli.Troublef(err, hint, "can't read %s", file)
	}
	if k := bundle.KindOf(file, p.original); k != schemas.KindRequest {
		return cli.Usagef("only requests are approved", "%s is a %s", file, k)
	}
	p.doc, err = frontmatter.Parse(p.original)
	if err != nil {
		if _, err := a.judge(ctx, file, "approved", admission.Case{Raw: p.original, Policy: p.policy}); err != nil {
			return err
		}
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeValidation, Message: fmt.Sprintf("%s: %v", file, err),
			Hint: "write each key of the front matter on a line of its own, as threegate draft does", Cause: err}
	}
	p.replaces = p.doc.Values["approved_by"]
	if p.inputs, err = a.approvalInputs(ctx, p, f); err != nil {
		return err
	}
	return p.matchInputs(f.rehash)
}

func (a *app) approverName(as string) (string, error) {
	name := cmp.Or(as, a.Getenv("USER"))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	if strings.TrimSpace(name) == "" {
		return "", cli.Usagef("add --as NAME", "--as is missing: who approves?")
	}
	return name, nil
}

// fill writes approver and time into the request and judges the outcome.
func (a *app) fill(ctx context.Context, p *approval) error {
	now := a.Now().UTC().Truncate(time.Second)
	p.doc.Set("approved_by", p.approver, "requested_by")
	p.doc.Set("approved_utc", now.Format(time.RFC3339), "approved_by")
	p.raw = p.doc.Bytes()
	// The file's name does not matter: promote gives it the name of its id.
	p.policy.Now = now
	if err := p.judge(ctx, a, "approved", admission.Case{Unsigned: true}); err != nil {
		return err
	}
	if p.request == nil || p.request.ApprovedBy != p.approver {
		return &cli.Fault{Exit: cli.ExitTrouble, Code: schemas.CodeInternal,
			Message: "the request does not say what was filled in",
			Hint:    "this is a fault of threegate's; fill in approved_by and approved_utc by hand"}
	}
	return nil
}

// judge judges the request as it will be written.
func (p *approval) judge(ctx context.Context, a *app, what string, c admission.Case) (err error) {
	// The file's name does not matter: promote gives it the name of its id.
	c.Raw, c.Policy, c.Config = p.raw, p.policy, p.node
	if p.history != nil {
		c.Record = p.history
	}
	c.Files = bundle.Files{Context: ctx, List: p.inputs}
	m := p.policy.MinApprovers
	c.MoreApprovers = max(m.Low, m.Medium, m.High) > 1
	p.verdict, err = a.judge(ctx, p.file, what, c)
	p.request = p.verdict.Request
	a.foresee(c, p.verdict)
	return err
}

// unchanged is a fault if the file is not what was reviewed.
func (p *approval) unchanged() error {
	now, err := p.place.Read(p.name, p.policy.MaxRequestBytes)
	if err != nil || !bytes.Equal(now, p.original) {
		return cli.Troublef(err, "review it again", "%s was changed during the review; nothing was written", p.file)
	}
	return nil
}

// sign signs what was reviewed, and judges it as a node will.
func (p *approval) sign(ctx context.Context, a *app) (signed approvals.Approval, err error) {
	if p.planSigner != nil {
		if signed.Plan, err = p.verdict.Plan.Encode(); err != nil {
			return signed, cli.Troublef(err, "", "can't write the plan")
		}
		if signed.PlanSignature, err = p.planSigner.Sign(signed.Plan); err != nil {
			return signed, err
		}
	}
	if p.signer != nil {
		if signed.Signature, err = p.signer.Sign(p.raw); err != nil {
			return signed, err
		}
	}
	sig, err := joined(p.file, signed)
	if err != nil {
		return signed, err
	}
	return signed, p.judge(ctx, a, "approved", admission.Case{Signature: sig})
}

// writeApproval signs and writes what was reviewed.
func (a *app) writeApproval(ctx context.Context, p *approval) error {
	if err := p.unchanged(); err != nil {
		return err
	}
	mode, err := p.place.Mode(p.name)
	if err != nil {
		return cli.Troublef(err, "", "can't write %s", p.file)
	}
	signed, err := p.sign(ctx, a)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		suffix string
		data   []byte
	}{{planSuffix, signed.Plan}, {planSigSuffix, signed.PlanSignature}, {sigSuffix, signed.Signature}} {
		if part.data != nil {
			err = p.place.WriteFile(p.name+part.suffix, part.data, 0o644, true)
		} else if err = p.place.Remove(p.name + part.suffix); err == nil && part.suffix == sigSuffix {
			a.UI.Warn(p.file+".sig did not fit the request any more and was removed", "add --sign KEY to sign again")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.Troublef(err, "", "can't write, or remove what is outdated: %s%s", p.file, part.suffix)
		}
	}
	signature := ""
	if signed.Signature != nil {
		signature = p.file + sigSuffix
	}
	if err := a.dropCosignatures(p); err != nil {
		return err
	}
	if err := p.place.WriteFile(p.name, p.raw, mode.Perm(), true); err != nil {
		return cli.Troublef(err, "", "can't write %s", p.file)
	}
	// What was refused before is approved now.
	if err := p.place.Remove(p.name + refusedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Troublef(err, "", "can't remove the refusal %s%s", p.file, refusedSuffix)
	}
	if a.JSON {
		inputs := []map[string]any{}
		for _, f := range p.inputs {
			inputs = append(inputs, map[string]any{"path": f.Path(), "sha256": f.SHA256, "bytes": f.Size})
		}
		return a.PrintJSON(map[string]any{
			"request_id": p.request.RequestID, "file": p.file, "sha256": schemas.SHA256(p.raw),
			"approved_by":  p.approver,
			"approved_utc": p.request.ApprovedUTC.Format(time.RFC3339), "signature": signature, "inputs": inputs,
		})
	}
	fmt.Fprintf(a.UI.Out, "%s approved by %s\n", term.Visible(p.request.RequestID), term.Visible(p.approver))
	next := "next: threegate promote " + p.file
	if n := p.policy.MinApprovers.Of(p.request.Risk.Level); n > 1 {
		next = fmt.Sprintf("next: this risk level needs %d approvers; each other one: threegate approve %s "+
			"--add-signature --as NAME --sign KEY", n, p.file)
	}
	a.UI.Hint(next)
	return nil
}
