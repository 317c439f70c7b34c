package documents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/admission"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

// What the names of a signature, of a plan and of its signature have behind that of their request.
const (
	sigSuffix     = ".sig"
	planSuffix    = ".plan.json"
	planSigSuffix = planSuffix + sigSuffix
)

// cosignature is the file of a further approver's signature of a request.
func cosignature(request, name string) string { return request + "." + name + sigSuffix }

// folders knows the names of signatures in folders. They are listed before a command gives up the right to.
type folders map[string][]string

// look lists the folder of a file once. One that can't be read has no signatures: whoever reads the file says why.
func (f folders) look(file string) []string {
	dir := filepath.Dir(file)
	names, ok := f[dir]
	if !ok {
		list, _ := os.ReadDir(dir)
		for _, e := range list {
			if strings.HasSuffix(e.Name(), sigSuffix) {
				names = append(names, e.Name())
			}
		}
		f[dir] = names
	}
	return names
}

// cosigners are the names of the further approvers whose signatures lie next to a request.
func (f folders) cosigners(file string) (found []string) {
	for _, n := range f.look(file) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(n, sigSuffix), filepath.Base(file)+".")
		if ok && cosignature("", name) != planSigSuffix {
			found = append(found, name)
		}
	}
	return found
}

// signatures reads what lies next to a request of an approval.
func (f folders) signatures(file string) (a approvals.Approval, err error) {
	read := func(at, what string) []byte {
		// Nobody named this file. If a link were followed, the owner of the folder could put
		// any file of the host into the inbox.
		data, rerr := bundle.ReadDocument(at, false, approvals.MaxSignatureBytes)
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) && err == nil {
			err = cli.Troublef(rerr, lintHint(rerr), "can't read the %s %s", what, at)
		}
		return data
	}
	a.Signature = read(file+sigSuffix, "signature")
	a.Plan, a.PlanSignature = read(file+planSuffix, "plan"), read(file+planSigSuffix, "signature")
	also := f.cosigners(file)
	if len(also) > approvals.MaxApprovers {
		return a, cli.Troublef(errors.New("there are too many"), fmt.Sprintf("at most %d persons approve one request",
			approvals.MaxApprovers), "can't list the signatures next to %s", file)
	}
	for _, name := range also {
		at := cosignature(file, name)
		if !approvals.CosignerName(name) {
			return a, cli.Rejectf(admission.RuleApprovers, "remove it", "%s is not named after an approver", at)
		}
		a.Also = append(a.Also, approvals.Cosigner{Name: name, Signature: read(at, "signature")})
	}
	return a, err
}

// joined is what goes into an inbox next to a request: its signature, with the plan and its signature if there is one,
// and those of further approvers. It is nil if there is none.
func joined(file string, a approvals.Approval) ([]byte, error) {
	planned := a.Plan != nil || a.PlanSignature != nil
	switch {
	case !planned && len(a.Also) == 0:
		return a.Signature, nil
	case !planned && a.Signature == nil:
		return nil, cli.Rejectf("approval.signature",
			"the one whom approved_by names signs first: threegate approve "+file+" --sign KEY",
			"%[1]s.%[2]s.sig is there, and %[1]s.sig is missing", file, a.Also[0].Name)
	case planned && (a.Plan == nil || a.PlanSignature == nil || a.Signature == nil):
		return nil, cli.Rejectf("approval.plan", "approve it again: threegate approve "+file+" --plan",
			"a plan goes with its signature and with that of the request, and one of the three files is missing: "+
				"%[1]s.sig, %[1]s%[2]s, %[1]s%[3]s", file, planSuffix, planSigSuffix)
	}
	all := a.Join()
	if len(all) > approvals.MaxSignatureBytes {
		return nil, cli.Rejectf("approval.signature", "give several inputs as one archive: each is part of the plan",
			"signatures and plan have %d bytes, %d are allowed", len(all), approvals.MaxSignatureBytes)
	}
	return all, nil
}

// files are the paths of a request and of all that may lie next to it.
func (f folders) files(file, inputs string) []string {
	all := []string{file, inputs}
	if job := bundle.JobOf(file); job != "" {
		all = append(all, job)
	}
	for _, suffix := range []string{sigSuffix, planSuffix, planSigSuffix, refusedSuffix} {
		all = append(all, file+suffix)
	}
	for _, name := range f.cosigners(file) {
		all = append(all, cosignature(file, name))
	}
	return all
}

// startSigners starts what signs an approval, and its plan if there is to be one. This process can't reach the key
// later.
func (p *approval) startSigners(ctx context.Context, f approveFlags) (err error) {
	if f.sign == "" {
		return nil
	}
	p.signer, err = cli.StartSigner(ctx, f.sign, approvals.Namespace, 1)
	if err == nil && (f.plan || p.policy.RequirePlan && !f.also) {
		p.planSigner, err = cli.StartSigner(ctx, f.sign, approvals.PlanNamespace, 1)
	}
	return err
}

// stopSigners ends them: what was given no message signs nothing.
func (p *approval) stopSigners() {
	for _, s := range []*cli.Signer{p.signer, p.planSigner} {
		if s != nil {
			_ = s.Close()
		}
	}
}
