package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate/approval"
)

func newAudit(a *app) *cobra.Command {
	var f verifyFlags
	verify := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the record is whole and signed, and that the node is what it says",
		Long: `verify gives one verdict on a node, offline: all that threegate fsck checks, each
event and the hash of the one before it, the times of events, the signatures of
approvals, plans and orders as of their events, and what these flags let it check.
It ends with 0 only if all of that holds, and lists what it could not check.

--trust names the keys that sign checkpoints (threegate audit checkpoint). Each
checkpoint must then be of such a key and of this record, there must be one, and no
event after the last good one may be older than --max-unsigned. So the record was
not written anew, but for its last events.

--anchor names what you kept elsewhere: a head, which verify prints as NUMBER:HASH, or
a file with a head or a checkpoint, which witnesses may have signed. The record must
still hold it. Only an anchor shows that the whole node was put back to an earlier time.

--signers names your own list of the persons who may sign, as ssh-keygen's
allowed_signers. Without it the lists are used that the node kept.

A remark is on record as it should be: a clock that was set back, other signers than
before, a prune. Without its event each of these is a finding.

--openwop prints the same check of chain and checkpoints in the terms of OpenWOP's
audit profile instead, as JSON. The verdict is the same.`,
		Example: `  threegate audit verify --node /var/lib/threegate
  threegate audit verify --trust auditors.pub --signers signers --anchor last-head
  threegate audit verify --openwop --trust auditors.pub`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context(), f) },
	}
	a.NodeFlag(verify)
	f.add(verify)
	return cli.Group("audit", "Prove that the record is whole", verify, newCheckpoint(a), newExport(a),
		newWitness(a), newVkey(a), newProve(a), newCheck(a))
}

// verifyFlags are those of audit verify.
type verifyFlags struct {
	anchor, trust, signers, dir string
	maxUnsigned                 time.Duration
	openwop                     bool
	from, to                    int64
}

func (f *verifyFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.anchor, "anchor", "",
		"what you kept elsewhere: a head `NUMBER:HASH`, or a file with a head or a checkpoint")
	fl.StringVar(&f.trust, "trust", "", "the public keys that sign checkpoints, and those of witnesses: a `file`")
	fl.StringVar(&f.signers, "signers", "", "the persons who may sign approvals, plans and orders: a `file`")
	fl.DurationVar(&f.maxUnsigned, "max-unsigned", audit.MaxUnsigned,
		"how old an event after the last checkpoint may be")
	fl.StringVar(&f.dir, "checkpoints", "", "the `folder` of checkpoints (default: checkpoints in the node's)")
	fl.BoolVar(&f.openwop, "openwop", false, "print the result of OpenWOP's audit profile")
	fl.Int64Var(&f.from, "from-seq", 1, "the first `event` that --openwop tells of")
	fl.Int64Var(&f.to, "to-seq", 0, "the last `event` that --openwop tells of (default: the last that there is)")
}

// options reads what the flags name.
func (f *verifyFlags) options() (o audit.Options, err error) {
	o = audit.Options{MaxUnsigned: f.maxUnsigned, From: f.from, To: f.to}
	if f.openwop && f.trust == "" {
		return o, cli.Usagef("threegate audit verify --openwop --trust FILE", "--openwop needs the keys of --trust")
	}
	if f.from < 1 || f.to != 0 && f.to < f.from {
		return o, cli.Usagef("", "events are numbered from 1, and --to-seq is not before --from-seq")
	}
	if f.maxUnsigned <= 0 {
		return o, cli.Usagef("--max-unsigned 1h", "--max-unsigned is a time")
	}
	if f.trust != "" {
		if o.Keys, err = readKeys(f.trust); err != nil {
			return o, err
		}
	}
	if f.signers != "" {
		if o.Signers, err = durable.ReadRegular(f.signers, maxKeyFile); err != nil {
			return o, cli.Troublef(err, "", "can't read the signers in %s", f.signers)
		}
		if _, err := approval.ParseSigners(o.Signers); err != nil {
			return o, cli.Rejectf("", "each line is NAME ssh-ed25519 AAAA..., as in ssh-keygen's ALLOWED SIGNERS",
				"%s: %v", f.signers, err)
		}
	}
	o.Anchor, err = readAnchor(f.anchor)
	return o, err
}

func readAnchor(anchor string) (*audit.Anchor, error) {
	const hint = "copy the head that audit verify printed, NUMBER:HASH, or name a file with a head or a checkpoint"
	if anchor == "" {
		return nil, nil
	}
	if head, err := audit.ParseHead(anchor); err == nil {
		return head, nil
	}
	raw, err := durable.ReadRegular(anchor, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef(hint, "--anchor %q is no head, and no file", anchor)
	}
	if err != nil {
		return nil, cli.Troublef(err, "", "can't read the anchor in %s", anchor)
	}
	parsed, err := audit.ParseAnchor(raw)
	if err != nil {
		return nil, cli.Rejectf("", hint, "%s: %v", anchor, err)
	}
	return parsed, nil
}

func readKeys(file string) (*audit.Keys, error) {
	raw, err := durable.ReadRegular(file, maxKeyFile)
	if err != nil {
		return nil, cli.Troublef(err, "", "can't read the keys in %s", file)
	}
	keys, err := audit.ParseKeys(raw)
	if err != nil {
		return nil, cli.Rejectf("",
			`write ssh-ed25519 AAAA..., or until="4711" ssh-ed25519 AAAA..., or the key of a witness: NAME+HASH+KEY`,
			"%s, %v", file, err)
	}
	return &keys, nil
}

func (a *app) verify(ctx context.Context, f verifyFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	l, dir, err := a.signed(f.dir)
	if err != nil {
		return err
	}
	o.Now, o.Checkpoints = a.Now, dir
	r, err := audit.Run(ctx, l, o)
	switch {
	case err != nil:
		return auditFault(err, l)
	case f.openwop:
		err = a.PrintJSON(r.OpenWOP.AuditVerifyResult)
	case a.JSON:
		err = a.PrintJSON(r)
	default:
		err = a.printAudit(r)
	}
	if err == nil && !r.Whole() {
		err = &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal,
			Message: "not all holds: " + term.Plural(len(r.Findings), "finding", "findings"),
			Hint:    "keep the node as it is, and compare it with a backup"}
	}
	return err
}

// auditFault is the error of a node that could not be checked.
func auditFault(err error, l *config.Node) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return checkFault(err, l.Dir)
}

func (a *app) printUnchecked(list []audit.Unchecked) {
	style := a.UI.OutStyle
	for _, u := range list {
		fmt.Fprintf(a.UI.Out, "%s %s\n  %s %s\n", style.Yellow("not checked:"), term.Visible(u.What),
			style.Cyan("to check it:"), term.Visible(u.How))
	}
}

func (a *app) printAudit(r *audit.Report) error {
	style := a.UI.OutStyle
	a.printFindings(r.Findings, style.Red)
	a.printFindings(r.Remarks, func(s string) string { return style.Yellow("remark: " + s) })
	fmt.Fprintf(a.UI.Out, "%s; checkpoints sign up to event %d; %s verified\nhead %s\n",
		term.Plural(int(r.Events), "event", "events"), r.Signed,
		term.Plural(r.Signatures.Checked, "signature", "signatures"), r.Head)
	for _, w := range r.Witnesses {
		fmt.Fprintf(a.UI.Out, "the witness %s signed the anchor\n", term.Visible(w))
	}
	a.printUnchecked(r.Unchecked)
	last := style.Green("All holds that was checked.")
	if !r.Whole() {
		last = style.Red(term.Plural(len(r.Findings), "finding.", "findings."))
	}
	_, err := fmt.Fprintln(a.UI.Out, last)
	return err
}
