package documents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

// What the names of a plan and of its signature have behind that of their request.
const (
	planSuffix    = ".plan.json"
	planSigSuffix = planSuffix + ".sig"
)

// planOf is what would run on a node now.
func planOf(l *config.Node, raw []byte, request *schemas.Request, inputs map[string]string) approvals.Plan {
	sum := sha256.Sum256(raw)
	return l.PlanOf(request, hex.EncodeToString(sum[:]), inputs, l.TaskLimits(request), l.Network.AllowedDomains)
}

// startSigners starts what signs an approval, and its plan if there is to be one. What it returns ends both.
func (p *approval) startSigners(ctx context.Context, f approveFlags) (stop func(), err error) {
	stop = func() {}
	if f.sign == "" {
		return stop, nil
	}
	if p.signer, err = startSigner(ctx, f.sign, signatureNamespace); err != nil {
		return stop, err
	}
	stop = func() { _ = p.signer.close() }
	if !f.plan && !p.policy.RequirePlan {
		return stop, nil
	}
	if p.planSigner, err = startSigner(ctx, f.sign, approvals.PlanNamespace); err != nil {
		stop()
		return stop, err
	}
	return func() { _ = p.signer.close(); _ = p.planSigner.close() }, nil
}

// writePlan writes and signs the plan of an approval, or removes the one of an earlier approval.
func (a *app) writePlan(p *approval) error {
	if p.planSigner == nil {
		for _, suffix := range []string{planSuffix, planSigSuffix} {
			if err := p.place.Remove(p.name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cli.Troublef(err, "", "can't remove the outdated plan %s%s", p.file, suffix)
			}
		}
		return nil
	}
	inputs := map[string]string{}
	for _, f := range p.inputs {
		inputs[f.Path()] = f.SHA256
	}
	plan, err := planOf(p.node, p.raw, p.request, inputs).Encode()
	if err != nil {
		return cli.Troublef(err, "", "can't write the plan")
	}
	// The file of an inbox holds it in base64, with two signatures.
	if len(plan) > maxSignatureBytes/2 {
		return cli.Usagef("give several inputs as one archive",
			"the plan has %d bytes, too many to go with the signature; it has too many inputs", len(plan))
	}
	sig, err := p.planSigner.sign(plan)
	if err != nil {
		return err
	}
	if err := p.place.WriteFile(p.name+planSuffix, plan, 0o644, true); err != nil {
		return cli.Troublef(err, "", "can't write the plan")
	}
	if err := p.place.WriteFile(p.name+planSigSuffix, sig, 0o644, true); err != nil {
		return cli.Troublef(err, "", "can't write the plan's signature")
	}
	return nil
}

// signatureFile is what goes into an inbox next to a request: its signature, with the plan and its
// signature if there is one, and those of further approvers. It is nil if there is none.
func signatureFile(file string, also []string) ([]byte, error) {
	parts := map[string][]byte{}
	for _, suffix := range []string{".sig", planSuffix, planSigSuffix} {
		// Nobody named this file. If a link were followed, the owner of the folder could put
		// any file of the host into the inbox.
		data, err := source.Read(file+suffix, false, maxSignatureBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			what := "signature"
			if suffix == planSuffix {
				what = "plan"
			}
			return nil, cli.Troublef(err, lintHint(err), "can't read the %s %s%s", what, file, suffix)
		}
		if err == nil {
			parts[suffix] = data
		}
	}
	a := approvals.Approval{Signature: parts[".sig"], Plan: parts[planSuffix], PlanSignature: parts[planSigSuffix]}
	var err error
	if a.Also, err = readCosignatures(file, also); err != nil {
		return nil, err
	}
	plain := a.Plan == nil && a.PlanSignature == nil
	switch {
	case plain && len(also) == 0:
		return a.Signature, nil
	case plain && a.Signature == nil:
		return nil, cli.Rejectf("approval.signature",
			"the one whom approved_by names signs first: threegate approve "+file+" --sign KEY",
			"%[1]s.%[2]s.sig is there, and %[1]s.sig is missing", file, also[0])
	case plain:
	case a.Plan == nil || a.PlanSignature == nil || a.Signature == nil:
		return nil, cli.Rejectf("approval.plan", "approve it again: threegate approve "+file+" --plan",
			"a plan goes with its signature and with that of the request, and one of the three files is missing: "+
				"%[1]s.sig, %[1]s%[2]s, %[1]s%[3]s", file, planSuffix, planSigSuffix)
	}
	joined := a.Join()
	if len(joined) > maxSignatureBytes {
		return nil, cli.Rejectf("approval.signature", "", "signatures and plan have %d bytes, %d are allowed",
			len(joined), maxSignatureBytes)
	}
	return joined, nil
}
