package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/schemas"
)

func newProve(a *app) *cobra.Command {
	var dir, out string
	var without []string
	cmd := &cobra.Command{
		Use:   "prove ID",
		Short: "Pack what proves to a stranger what came of a request",
		Long: `prove packs a case file: the job's folder with its seal, its events with proofs that
the signed log has them, the checkpoint, orders, the allowed signers of that time, the
statement of the result, and VERIFY.md, which says how to check all of it with other
people's tools. ID is a request's or a job's. It packs what was signed, and needs no key.

--without leaves a file or a folder of the job out. The seal lists each file by its
digest: so that it is missing can be seen, and everything else still holds.`,
		Example: `  threegate audit prove TR-20260209-160501Z-stats -o case.tgz
  threegate audit prove TR-20260209-160501Z-stats -o case.tgz --without inputs
  threegate audit check case.tgz --trust signer.pub --signers signers`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if out == "" {
				return cli.Usagef("-o case.tgz", "name the case file with -o")
			}
			if out, err = filepath.Abs(out); err != nil {
				return err
			}
			to, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return cli.Troublef(err, "", "can't write %s", out)
			}
			defer func() {
				if err = errors.Join(err, to.Close()); err != nil {
					_ = os.Remove(out)
				}
			}()
			l, from, err := a.signed(dir, filepath.Dir(out))
			if err != nil {
				return err
			}
			c, err := audit.Prove(cmd.Context(), l, from, args[0], without, to)
			if errors.Is(err, audit.ErrNoCase) {
				return &cli.Fault{Exit: cli.ExitTrouble, Code: schemas.CodeValidation, Message: err.Error(), Cause: err,
					Hint: "threegate status shows what is on record; threegate audit checkpoint signs it"}
			}
			if err != nil {
				return unsigned(err, l)
			}
			if a.JSON {
				return a.PrintJSON(c)
			}
			_, err = fmt.Fprintf(a.UI.Out, "%s: job %s, %s\n", term.Visible(out), c.Job,
				term.Plural(len(c.Events), "event", "events"))
			return err
		},
	}
	a.checkpointFlags(cmd, &dir)
	cmd.Flags().StringVarP(&out, "output", "o", "", "the case `file`, which must not be there")
	cmd.Flags().StringArrayVar(&without, "without", nil, "leave out a `path` of the job's folder; can be repeated")
	return cmd
}

func newCheck(a *app) *cobra.Command {
	var trust, signers string
	cmd := &cobra.Command{
		Use:   "check CASE",
		Short: "Check a case file, without a node",
		Long: `check says whether a case file of threegate audit prove proves what it says: the
checkpoint is of a key in the file of --trust, each event is part of the log that it
signs, the job's files are those that the node sealed, approvals and orders are signed
by persons in the file of --signers as of their events, and the statement is about this
result. It needs no node, names what was left out, and ends with 0 only if all holds.`,
		Example: `  threegate audit check case.tgz --trust signer.pub --signers signers`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if trust == "" {
				return cli.Usagef("--trust FILE with the public key of who signs checkpoints",
					"a case is signed: name a key")
			}
			f := verifyFlags{trust: trust, signers: signers, from: 1, maxUnsigned: audit.MaxUnsigned}
			o, err := f.options()
			if err != nil {
				return err
			}
			return a.check(args[0], o)
		},
	}
	cmd.Flags().StringVar(&trust, "trust", "", "the public keys that sign checkpoints, and those of witnesses: a `file`")
	cmd.Flags().StringVar(&signers, "signers", "", "the persons who may sign approvals, plans and orders: a `file`")
	return cmd
}

func (a *app) check(file string, o audit.Options) error {
	archive, err := os.Open(file)
	if err != nil {
		return cli.Troublef(err, "", "can't read %s", file)
	}
	defer archive.Close()
	tmp, err := os.MkdirTemp("", "threegate-case-")
	if err != nil {
		return cli.Troublef(err, "", "can't make a folder to unpack the case into")
	}
	defer os.RemoveAll(tmp) // what is left is an empty folder: the right to remove it was given up
	if err := a.DropPrivileges(confine.Needs{Read: []string{tmp}, Write: []string{tmp}}); err != nil {
		return err
	}
	r, err := audit.CheckCase(archive, tmp, *o.Keys, o.Signers)
	switch {
	case err != nil:
		return cli.Rejectf("", "threegate audit prove makes case files", "%s: %v", file, err)
	case a.JSON:
		err = a.PrintJSON(r)
	default:
		err = a.printCase(r)
	}
	if err == nil && len(r.Findings) > 0 {
		err = &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal,
			Message: "the case does not prove what it says: " + term.Plural(len(r.Findings), "finding", "findings"),
			Hint:    "ask for it anew, from somebody whom you trust"}
	}
	return err
}

func (a *app) printCase(r *audit.CaseReport) error {
	style := a.UI.OutStyle
	a.printFindings(r.Findings, style.Red)
	fmt.Fprintf(a.UI.Out, "log %s, %d events signed\nrequest %s, job %s: %s\n", term.Visible(r.Origin), r.Signed,
		term.Visible(r.RequestID), r.Job, r.Outcome)
	for _, who := range r.Approvers {
		fmt.Fprintf(a.UI.Out, "approved by %s\n", term.Visible(who.String()))
	}
	for _, name := range r.LeftOut {
		fmt.Fprintf(a.UI.Out, "%s %s\n", style.Yellow("left out:"), term.Visible(name))
	}
	a.printUnchecked(r.Unchecked)
	last := style.Green("All holds that was checked.")
	if len(r.Findings) > 0 {
		last = style.Red(term.Plural(len(r.Findings), "finding.", "findings."))
	}
	_, err := fmt.Fprintln(a.UI.Out, last)
	return err
}
