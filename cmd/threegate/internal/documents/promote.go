package documents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

type promoteFlags struct {
	inbox, inputs string
}

func newPromote(a *app) *cobra.Command {
	var f promoteFlags
	cmd := &cobra.Command{
		Use:   "promote FILE",
		Short: "Put an approved request into an inbox",
		Long: `promote checks an approved request and its inputs once more and puts them into an
inbox, so that the node never sees a part of them: inputs first, then the
signature, the request last, under the name of its request_id. Nothing is ever
overwritten, and after a failure nothing is left behind.

The inbox is that of the node (--inbox NAME chooses one of several), or any folder
(--inbox DIR, with a slash in it, also without a node at hand).`,
		Example: `  threegate promote TR-20260209-160501Z-python-stats.md
  threegate promote TR.md --node /var/lib/threegate --inbox team-a
  threegate promote TR.md --inbox /srv/shared/inbox/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.promote(cmd.Context(), args[0], f) },
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&f.inbox, "inbox", "", "`name` of an inbox of the node, or a folder")
	cmd.Flags().StringVar(&f.inputs, "inputs", "", "`folder` of the inputs (default: FILE without .md, with .inputs)")
	return cmd
}

func (a *app) promote(ctx context.Context, file string, f promoteFlags) error {
	inbox, policy, err := a.promoteTarget(f.inbox)
	if err != nil {
		return err
	}
	n := bundleNeeds(file, f.inputs)
	n.Read, n.Write = append(n.Read, inbox), []string{inbox}
	if err := a.Reach(n); err != nil {
		return err
	}
	b, err := LoadBundle(ctx, a.App, file, f.inputs, policy)
	if err != nil {
		return err
	}
	limits := InputLimits(policy)
	placed, err := bundle.Put(ctx, inbox, b, limits)
	if err != nil {
		return PutFault(err, file, inbox, b.ID)
	}
	if a.JSON {
		return a.PrintJSON(struct {
			RequestID string `json:"request_id"`
			Inbox     string `json:"inbox"`
			bundle.Placed
		}{b.ID, inbox, placed})
	}
	fmt.Fprintln(a.UI.Out, term.Visible(placed.Request))
	a.UI.Hint("next: threegate wait " + b.ID + a.NodeArg())
	return nil
}

// maxSignatureBytes bounds a detached signature.
const maxSignatureBytes = 64 << 10

// LoadBundle reads a request with its signature and inputs, and judges them as the
// gate will.
func LoadBundle(ctx context.Context, c *cli.App, file, inputs string, policy validate.Policy) (bundle.Bundle, error) {
	var b bundle.Bundle
	a := &app{c}
	raw, err := source.Read(file, true, policy.MaxRequestBytes)
	if err != nil {
		return b, cli.Troublef(err, lintHint(err), "can't read %s", file)
	}
	// Nobody named this file. If a link were followed, the owner of the folder could put
	// any file of the host into the inbox.
	sig, err := source.Read(file+".sig", false, maxSignatureBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, cli.Troublef(err, lintHint(err), "can't read the signature %s.sig", file)
	}
	request, found := validate.Request("", raw, policy)
	if err := a.refuseBlocking(file, raw, found, "promoted"); err != nil {
		return b, err
	}
	if err := refusedAfterApproval(file, request); err != nil {
		return b, err
	}
	if inputs == "" {
		inputs = bundle.Dir(file)
	} else if inputs, err = filepath.EvalSymlinks(inputs); err != nil { // a person may name a link
		return b, inputFault(err)
	}
	limits := InputLimits(policy)
	files, err := bundle.Folder(inputs, limits)
	if err != nil {
		return b, inputFault(err)
	}
	if err := hash(ctx, files, limits); err != nil {
		return b, err
	}
	hashes := map[string]string{}
	for _, f := range files {
		hashes[f.Path()] = f.SHA256
	}
	found = append(validate.Inputs(request, hashes, policy), validate.Signature(raw, sig, request, policy)...)
	if err := a.refuseBlocking(file, raw, schemas.SortFindings(found), "promoted"); err != nil {
		return b, err
	}
	return bundle.Bundle{ID: request.RequestID, Request: raw, Signature: sig, Files: files}, nil
}

// promoteTarget finds the folder of the inbox, and the policy of its node.
func (a *app) promoteTarget(inbox string) (string, validate.Policy, error) {
	anyNode := cli.AnyNodePolicy(a.Now())
	folder := strings.ContainsRune(inbox, filepath.Separator) || inbox == "." || inbox == ".."
	if folder && a.Node == "" {
		return checkInbox(inbox, anyNode)
	}
	l, err := a.LoadNode()
	if err != nil {
		return "", anyNode, err
	}
	policy := l.Policy(a.Now())
	if folder {
		return checkInbox(inbox, policy)
	}
	var names []string
	for _, in := range l.Inboxes {
		if in.Name == inbox || (inbox == "" && len(l.Inboxes) == 1) {
			return checkInbox(in.Path, policy)
		}
		names = append(names, in.Name)
	}
	if inbox == "" {
		return "", policy, cli.Usagef("choose one with --inbox: "+strings.Join(names, ", "),
			"the node has several inboxes")
	}
	return "", policy, cli.NotFoundf("its inboxes: "+strings.Join(names, ", ")+"; a folder is named with a slash in it",
		"the node has no inbox %q", inbox)
}

func checkInbox(dir string, p validate.Policy) (string, validate.Policy, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", p, cli.Troublef(err, "name an inbox with --inbox, or make the node: threegate init",
			"can't use the inbox %s", dir)
	case !info.IsDir():
		return "", p, cli.Troublef(source.ErrNotRegular, "an inbox is a folder", "can't use the inbox %s", dir)
	}
	return dir, p, nil
}

// PutFault explains an error of bundle.Put.
func PutFault(err error, file, inbox, id string) error {
	switch {
	case errors.Is(err, bundle.ErrChanged):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeValidation, Rule: ruleInputs, Message: err.Error(),
			Cause: err,
			Hint: "an input was changed after the approval; review and approve again: threegate approve " + file +
				" --update-hashes"}
	case errors.Is(err, fs.ErrExist):
		return &cli.Fault{Exit: cli.ExitBusy, Code: schemas.CodeFileIO, Cause: err,
			Message: fmt.Sprintf("%s holds a %s already, and nothing is overwritten", inbox, id),
			Hint:    "a request_id is used once: make a new request, or wait for this one: threegate wait " + id}
	case errors.Is(err, bundle.ErrTooMuch), errors.Is(err, source.ErrNotRegular):
		return inputFault(err)
	}
	return cli.Troublef(err, "", "can't put %s into %s", id, inbox)
}
