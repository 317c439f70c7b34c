package documents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

// addSignature signs, for one more approver, the bytes of a request that was approved.
func (a *app) addSignature(ctx context.Context, p *approval, f approveFlags) error {
	p.raw, p.replaces, p.policy.Now = p.original, "", a.Now().UTC()
	signed, err := p.folders.signatures(p.file)
	if err != nil {
		return err
	}
	own := func(c approvals.Cosigner) bool { return c.Name == p.approver } // one made before is replaced
	signed.Also = slices.DeleteFunc(signed.Also, own)
	sig, err := joined(p.file, signed)
	if err != nil {
		return err
	}
	if err := p.judge(ctx, a, "signed", admission.Case{Signature: sig}); err != nil {
		return err
	}
	if err := refusedAfterApproval(p.file, p.request); err != nil {
		return err
	}
	if err := mayCosign(p); err != nil {
		return err
	}
	signed.Also = append(signed.Also, approvals.Cosigner{Name: p.approver})
	if _, err := joined(p.file, signed); err != nil { // the first signature is missing
		return err
	}
	if err := a.confirm(ctx, p, f); err != nil {
		return err
	}
	if err := p.unchanged(); err != nil {
		return err
	}
	last := &signed.Also[len(signed.Also)-1]
	if last.Signature, err = p.signer.Sign(p.raw); err != nil {
		return err
	}
	if sig, err = joined(p.file, signed); err != nil {
		return err
	}
	if err := p.judge(ctx, a, "signed", admission.Case{Signature: sig}); err != nil {
		return err
	}
	if err := p.place.WriteFile(cosignature(p.name, p.approver), last.Signature, 0o644, true); err != nil {
		return cli.Troublef(err, "", "can't write the signature")
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"request_id": p.request.RequestID, "file": p.file,
			"sha256": schemas.SHA256(p.raw), "signed_by": p.approver,
			"signature": cosignature(p.file, p.approver)})
	}
	fmt.Fprintf(a.UI.Out, "%s approved by %s, too\n", term.Visible(p.request.RequestID), term.Visible(p.approver))
	a.UI.Hint("next: threegate promote " + p.file)
	return nil
}

// mayCosign is a fault if the approver would not count as one more person.
func mayCosign(p *approval) error {
	name := p.approver
	if why := p.policy.NotOneMore(p.request, []string{p.request.ApprovedBy}, name); why != "" {
		return cli.Rejectf(admission.RuleApprovers, "another person signs: --as NAME", "%s %s", name, why)
	}
	if !approvals.CosignerName(name) {
		return cli.Usagef("name a person with letters, digits and . _ @ + - only, as ann.b or ann.b@x.org",
			"the signature's file is named after the approver, and %q can't be part of a name", name)
	}
	return nil
}

// dropCosignatures removes those of an earlier approval.
func (a *app) dropCosignatures(p *approval) error {
	for _, name := range p.folders.cosigners(p.file) {
		old := cosignature(p.name, name)
		if err := p.place.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.Troublef(err, "", "can't remove the outdated signature %s", old)
		}
		a.UI.Warn(old+" did not fit the request any more and was removed", "that person signs again: --add-signature")
	}
	return nil
}
