package documents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/validate"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

const ruleApprovers = "approval.approvers"

// addSignature signs, for one more approver, the bytes of a request that was approved.
func (a *app) addSignature(ctx context.Context, p *approval, f approveFlags) error {
	p.raw, p.replaces, p.policy.Now = p.original, "", a.Now().UTC()
	p.request, p.findings = validate.Request("", p.raw, p.policy)
	if p.request != nil {
		p.findings = append(p.findings, validate.Inputs(p.request, hashesOf(p.inputs), p.policy)...)
	}
	names, err := planFindings(ctx, p.node, p.request, p.inputs, &p.policy)
	if err != nil {
		return err
	}
	p.findings = append(p.findings, names...)
	if err := a.refuseBlocking(p.file, p.raw, p.findings, "signed"); err != nil {
		return err
	}
	if err := refusedAfterApproval(p.file, p.request); err != nil {
		return err
	}
	if err := mayCosign(p); err != nil {
		return err
	}
	if err := a.confirm(ctx, p, f); err != nil {
		return err
	}
	now, err := p.place.Read(p.name, p.policy.MaxRequestBytes)
	if err != nil || !bytes.Equal(now, p.original) {
		return cli.Troublef(err, "review it again", "%s was changed during the review; nothing was written", p.file)
	}
	sig, err := p.signer.sign(p.raw)
	if err != nil {
		return err
	}
	if err := p.place.WriteFile(cosignature(p.name, p.approver), sig, 0o644, true); err != nil {
		return cli.Troublef(err, "", "can't write the signature")
	}
	if a.JSON {
		sum := sha256.Sum256(p.raw)
		return a.PrintJSON(map[string]any{"request_id": p.request.RequestID, "file": p.file,
			"sha256": hex.EncodeToString(sum[:]), "signed_by": p.approver,
			"signature": cosignature(p.file, p.approver)})
	}
	fmt.Fprintf(a.UI.Out, "%s approved by %s, too\n", term.Visible(p.request.RequestID), term.Visible(p.approver))
	a.UI.Hint("next: threegate promote " + p.file)
	return nil
}

// mayCosign is a fault if the approver would not count as one more person.
func mayCosign(p *approval) error {
	const other = "another person signs: --as NAME"
	name, request := p.approver, p.request
	switch _, why := p.policy.Forbids(name); {
	case why != "":
		return cli.Rejectf(ruleApprovers, other, "%s %s", name, why)
	case !approvals.CosignerName(name):
		return cli.Usagef("name a person with letters, digits and . _ @ + - only, as ann.b or ann.b@x.org",
			"the signature's file is named after the approver, and %q can't be part of a name", name)
	case approvals.Same(name, request.ApprovedBy):
		return cli.Rejectf(ruleApprovers, other, "%s approved it already", request.ApprovedBy)
	case !p.policy.AllowSelfApproval && approvals.Same(name, request.RequestedBy):
		return cli.Rejectf(ruleApprovers, other, "%s asked for the run", name)
	}
	return nil
}

// cosignature is the file of a further approver's signature of a request.
func cosignature(request, name string) string { return request + "." + name + ".sig" }

// Cosigners lists the further approvers whose signatures lie next to a request. It reads no file.
func Cosigners(file string) ([]string, error) {
	dir, name := filepath.Split(file)
	place, err := bundle.OpenPlace(cmp.Or(dir, "."))
	if err != nil {
		return nil, nil // whoever reads the request says so
	}
	names, err := cosigners(place, name)
	return names, errors.Join(err, place.Close())
}

func cosigners(place *bundle.Place, request string) ([]string, error) {
	names, err := place.Middles(request+".", ".sig", approvals.MaxApprovers)
	if err != nil {
		return nil, cli.Troublef(err, fmt.Sprintf("at most %d persons approve one request", approvals.MaxApprovers),
			"can't list the signatures next to %s", request)
	}
	return slices.DeleteFunc(names, func(n string) bool { return cosignature("", n) == planSigSuffix }), nil
}

// readCosignatures reads the signatures of further approvers.
func readCosignatures(file string, names []string) (list []approvals.Cosigner, err error) {
	for _, name := range names {
		at := cosignature(file, name)
		if !approvals.CosignerName(name) {
			return nil, cli.Rejectf(ruleApprovers, "remove it", "%s is not named after an approver", at)
		}
		sig, err := source.Read(at, false, maxSignatureBytes)
		if err != nil {
			return nil, cli.Troublef(err, lintHint(err), "can't read the signature %s", at)
		}
		list = append(list, approvals.Cosigner{Name: name, Signature: sig})
	}
	return list, nil
}

// dropCosignatures removes those of an earlier approval.
func (a *app) dropCosignatures(p *approval) error {
	names, err := cosigners(p.place, p.name)
	if err != nil {
		return err
	}
	for _, name := range names {
		old := cosignature(p.name, name)
		if err := p.place.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.Troublef(err, "", "can't remove the outdated signature %s", old)
		}
		a.UI.Warn(old+" did not fit the request any more and was removed", "that person signs again: --add-signature")
	}
	return nil
}
