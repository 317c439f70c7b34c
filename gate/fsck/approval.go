package fsck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate/approval"
	"github.com/threegate/tool-exec/validate/document"
)

const maxRequestBytes = 64 << 20

const mendApproval = "compare the request and its signature file with a backup: the ledger's line is chained, and " +
	"was written when the request was admitted"

// approval compares what the ledger says of an admission with the request as it lies there: who asked for it, who
// approved it, with which keys, the plan and the inputs.
func (n *node) approval(j *job, dir string, c *spool.Claim) {
	path := filepath.Join(dir, spool.FileRequest)
	raw, err := durable.ReadRegular(path, maxRequestBytes)
	if err != nil {
		return // a finding already
	}
	doc, _ := document.Parse(raw, maxRequestBytes)
	if doc == nil || doc.Front == nil {
		return // its digest is not the one of the claim
	}
	requester, _ := doc.Front.Plain("requested_by")
	approver, _ := doc.Front.Plain("approved_by")
	var sig []byte
	if c.HasSignature {
		file := filepath.Join(dir, spool.FileSignature)
		if sig, err = durable.ReadRegular(file, maxRequestBytes); err != nil {
			n.found(CheckApproval, j.id, file, mendApproval, "the signature file can't be read: %v", err)
			return
		}
	}
	differ := func(what, got, recorded string) {
		if got != recorded {
			n.found(CheckApproval, j.id, path, mendApproval, "it was %s %s; the ledger says %s", what, got, recorded)
		}
	}
	e := j.admitted
	differ("requested by", requester, e.Requester)
	parts, _ := approval.Split(sig)
	differ("approved by", approversIn(raw, approver, parts, e.Approvers), approval.Listed(e.Approvers))
	plan := ""
	if parts.Plan != nil && slices.ContainsFunc(e.Approvers, approval.Approver.Verified) {
		sum := sha256.Sum256(parts.Plan)
		plan = hex.EncodeToString(sum[:])
	}
	differ("signed with the plan", orNone(plan), orNone(e.Plan))
	hashes := map[string]string{}
	for _, in := range c.InputFiles {
		hashes[in.Path] = in.SHA256
	}
	differ("claimed with the inputs", inputs(ledger.InputsOf(hashes)), inputs(e.Inputs))
	n.signatures(j, dir, raw, parts)
}

// approversIn lists the approvers that a record names as the request and its signatures show them.
func approversIn(raw []byte, first string, parts approval.Approval, recorded []approval.Approver) string {
	signed := append([]approval.Cosigner{{Name: first, Signature: parts.Signature}}, parts.Also...)
	var shown []approval.Approver
	for i, c := range signed {
		at := slices.IndexFunc(recorded, func(a approval.Approver) bool { return a.Name == c.Name })
		again := slices.ContainsFunc(shown, func(a approval.Approver) bool { return a.Name == c.Name })
		if i > 0 && (at < 0 || again) {
			continue // it did not count
		}
		a := approval.Approver{Name: c.Name, How: approval.Named}
		if at >= 0 && recorded[at].How == approval.Signed {
			a.How = approval.Signed
			a.Fingerprint, _ = approval.SignedBy(raw, c.Signature)
		}
		shown = append(shown, a)
	}
	return approval.Listed(shown)
}

func inputs(in *ledger.Inputs) string {
	if in == nil {
		return "none"
	}
	return fmt.Sprintf("%d of list %s: %s", in.Files, in.List, strings.Join(in.SHA256, " "))
}

// keptSigners wants each text of allowed signers that the node went by to be kept as it was.
func (n *node) keptSigners(names []string) {
	for _, name := range names {
		path := n.path(spool.DirSigners, name)
		is := func(f Finding) bool { return f.Where == path }
		if slices.ContainsFunc(n.report.Found, is) {
			continue // another event named it
		}
		got, err := durable.Digest(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			n.found(CheckApproval, "", path, "look for it in a backup",
				"the ledger names these allowed signers, and the text is missing")
		case err != nil:
			n.unreadable("", path, err)
		case got != name:
			n.found(CheckApproval, "", path, "look for it in a backup", "the text of allowed signers was changed")
		}
	}
}
