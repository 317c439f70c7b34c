package audit

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate/approval"
)

// Bounds of a case file, whoever made it.
const (
	maxCaseBytes = 8 << 30
	maxCaseEnd   = 1 << 20
	maxCaseFiles = 200_000 // and folders
	maxCaseDepth = 4096
	// maxCaseEvents is more than any job has.
	maxCaseEvents = 10_000
)

// The checks of a case file, besides those of a node.
const (
	CheckContent   fsck.Check = "case"      // it holds what its index says, and nothing that can't be in it
	CheckProof     fsck.Check = "proof"     // each event is part of the log that the checkpoint signs
	CheckStatement fsck.Check = "statement" // the statement is signed with a trusted key, and is about this result
)

// CaseReport is what a case file proves.
type CaseReport struct {
	Case
	// Signed is how many events the checkpoint signs.
	Signed int64 `json:"signed_up_to"`
	// Approvers are those on record, Outcome what became of the job, by the last event.
	Approvers []approval.Approver `json:"approvers"`
	Outcome   ledger.Type         `json:"outcome"`
	Findings  []fsck.Finding      `json:"findings"`
	// LeftOut are files of the job that the seal lists and the case lacks.
	LeftOut   []string    `json:"left_out"`
	Unchecked []Unchecked `json:"not_checked"`
}

// caseCheck is the check of a case that was unpacked.
type caseCheck struct {
	dir      string
	keys     Keys
	signers  []byte
	report   *CaseReport
	admitted *judged
	end      *ledger.Event // that sealed it last
	texts    []string      // the allowed signers as of the event that is read
	orders   []judged
	reissues []ledger.Event
	// requestID is that of the events.
	requestID string
}

// judged is an event and the allowed signers of the node as of it.
type judged struct {
	ledger.Event
	texts []string
}

// CheckCase checks a case file, and unpacks it below tmp, an empty folder. Signers may be nil. An error means that it
// could not be read; what it fails to prove is in the report.
func CheckCase(archive io.Reader, tmp string, keys Keys, signers []byte) (*CaseReport, error) {
	c := &caseCheck{dir: tmp, keys: keys, signers: signers,
		report: &CaseReport{Findings: []fsck.Finding{}, LeftOut: []string{}, Unchecked: []Unchecked{}}}
	if err := unpack(archive, tmp); err != nil {
		return nil, err
	}
	if err := decode(tmp, caseIndex, &c.report.Case); err != nil {
		return nil, err
	}
	if !spool.ValidID(c.report.Job) || c.report.Version != caseVersion {
		return nil, errors.New("its index names no job, or has a version that this build does not read")
	}
	if list := c.report.Events; len(list) > maxCaseEvents || !slices.IsSortedFunc(list, ascending) {
		return nil, errors.New("the events of its index are not in order, or too many")
	}
	c.events()
	if c.report.RequestID != c.requestID {
		c.found(CheckContent, caseIndex, "it names the request %s, and the events are about %s",
			spool.Quote(c.report.RequestID), spool.Quote(c.requestID))
	}
	c.sealed()
	c.approvals()
	c.givenOrders()
	c.statement()
	if signers == nil {
		c.unchecked("whether approvers and those who gave orders are who the node says: it named the signers itself",
			"--signers FILE with the allowed signers that you know")
	}
	if c.instructions() != string(c.read(caseVerify)) {
		c.unchecked("what VERIFY.md says: it is not the text of this version",
			"read it before you run any of it; gate/audit/VERIFY.md of the project is the original")
	}
	c.unchecked("whether the log has later events of this request: a case shows those that it holds",
		"threegate audit prove, anew, or the log itself (audit export)")
	return c.report, nil
}

// ascending wants each number to be larger than the one before.
func ascending(a, b int64) int {
	if a <= b {
		return -1
	}
	return 1
}

func (c *caseCheck) unchecked(what, how string) {
	c.report.Unchecked = append(c.report.Unchecked, Unchecked{What: what, How: how})
}

// instructions are VERIFY.md as this version writes it for the case.
func (c *caseCheck) instructions() string {
	f := found{Case: c.report.Case}
	if c.admitted != nil {
		f.admitted = &c.admitted.Event
	}
	return f.instructions()
}

// unpack writes the files of an archive below dir. It takes ordinary files at local paths, and no more than the bounds.
func unpack(archive io.Reader, dir string) error {
	z, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("it is no case file: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r, left := tar.NewReader(io.LimitReader(z, maxCaseBytes)), int64(maxCaseBytes)
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) { // what is left has the checksum of all of it
			rest, err := io.Copy(io.Discard, io.LimitReader(z, maxCaseEnd))
			if err != nil || rest == maxCaseEnd {
				return fmt.Errorf("it is no case file: it is cut off, or goes on behind its end: %w", err)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no case file: %w", err)
		}
		name := filepath.FromSlash(h.Name)
		left -= h.Size // also of one with holes, whose size is larger than what is read
		depth := strings.Count(name, "/")
		n += depth * depth / 16 // what it takes to make folders
		large := n >= maxCaseFiles || left < 0 || depth > maxCaseDepth
		if large || h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			return fmt.Errorf("it is no case file: it holds %s, or too much", spool.Quote(h.Name))
		}
		if err := spool.Room(dir, spool.DefaultMinFreeBytes+uint64(h.Size)); err != nil {
			return fmt.Errorf("it does not fit into %s: %w", dir, err)
		}
		if err = root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

func (c *caseCheck) found(check fsck.Check, where, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, fsck.Finding{Check: check, Job: c.report.Job, Where: where,
		What: fmt.Sprintf(format, args...), Hint: "ask for the case anew, from somebody whom you trust"})
}

func (c *caseCheck) read(elem ...string) []byte {
	name := path.Join(elem...)
	raw, err := durable.ReadRegular(filepath.Join(c.dir, filepath.FromSlash(name)), maxRecord)
	if err != nil {
		c.found(CheckContent, name, "it can't be read: %v", err)
	}
	return raw
}

// events wants each event to be part of the log that a trusted key signs.
func (c *caseCheck) events() {
	note, err := ParseCheckpoint(c.read(caseCheckpoint))
	if err != nil {
		c.found(CheckCheckpoint, caseCheckpoint, "%v", err)
		return
	}
	c.report.Signed = note.N
	signer, witnesses, why := note.signedBy(c.keys)
	switch {
	case why != "":
		c.found(CheckCheckpoint, caseCheckpoint, "%s", why)
	case !signer: // they sign the logs of others, too
		c.found(CheckCheckpoint, caseCheckpoint, "only witnesses signed it: %s", strings.Join(witnesses, ", "))
	case note.Origin != c.report.Origin:
		c.found(CheckCheckpoint, caseCheckpoint, "it is of the log %q, not %q", note.Origin, c.report.Origin)
	}
	for _, seq := range c.report.Events {
		name := path.Join(caseEvents, fmt.Sprintf("%d.json", seq))
		line := c.read(name)
		index, proof, perr := parseProof(c.read(name + suffixProof))
		e, err := ledger.Parse(line)
		if err == nil && e.Seq != seq {
			err = fmt.Errorf("it is event %d", e.Seq)
		}
		if err = errors.Join(err, perr); err == nil {
			err = tlog.CheckRecord(proof, note.N, note.Hash, index, tlog.RecordHash(line))
		}
		if err == nil && index != seq-1 {
			err = errors.New("its place in the log is another one")
		}
		if err != nil {
			c.found(CheckProof, name, "it is not proved that the log has this event: %v", err)
			continue
		}
		c.event(e)
	}
}

func (c *caseCheck) event(e ledger.Event) {
	if e.Node != nil {
		c.texts = e.Node.Signers
	}
	cancels := e.Type == ledger.RequestCancelled && strings.EqualFold(e.RequestID, c.report.RequestID)
	if e.Order != "" && (cancels || e.RunID == c.report.Job) {
		c.orders = append(c.orders, judged{e, c.texts})
	}
	if e.RunID != c.report.Job {
		return
	}
	c.requestID = cmp.Or(e.RequestID, c.requestID)
	if e.Type == ledger.DeliveryAttempted && e.Outcome == ledger.OutcomeAdmitted {
		c.admitted, c.report.Approvers = &judged{e, c.texts}, e.Approvers
	}
	switch to := ledger.Announces(e); {
	case ledger.Recalls(e), ledger.Rejects(e): // by a person: the job stays as it was sealed
		c.report.Outcome = e.Type
	case ledger.Reissues(e):
		c.report.Outcome, c.reissues = e.Type, append(c.reissues, e)
	case to != "":
		c.report.Outcome, c.end = e.Type, &e
	}
}

// parseProof reads a proof as proofOf writes it. The checkpoint behind it is that of the case.
func parseProof(raw []byte) (index int64, proof tlog.RecordProof, err error) {
	head, _, ok := strings.Cut(string(raw), "\n\n")
	lines := strings.Split(head, "\n")
	number, named := strings.CutPrefix(lines[0], "index ")
	if index, err = strconv.ParseInt(number, 10, 64); err != nil || !ok || !named || index < 0 {
		return 0, nil, errors.New("its proof can't be read")
	}
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize || len(proof) > 64 {
			return 0, nil, errors.New("its proof can't be read")
		}
		proof = append(proof, tlog.Hash(h))
	}
	return index, proof, nil
}

// folder wants a folder of the case to be as it was sealed, and names below as what was left out of it.
func (c *caseCheck) folder(name, as, sealed string) {
	broken, err := seal.Check(filepath.Join(c.dir, name), sealed, ledger.FileStagedIn)
	if err != nil {
		c.found(CheckContent, name, "it can't be read: %v", err)
	}
	for _, b := range broken {
		switch {
		case b.Gone:
			c.report.LeftOut = append(c.report.LeftOut, path.Join(as, b.Path))
		case b.Extra && b.Path == ledger.FileStagedIn && name != caseJob: // it is noted after the seal
		default:
			c.found(fsck.CheckSeal, path.Join(name, b.Path), "%s", b.What)
		}
	}
}

// sealed wants the job's files to be those that the node sealed; one that was left out is named.
func (c *caseCheck) sealed() {
	if c.end == nil || c.end.Seal == "" {
		c.found(CheckProof, caseEvents, "no event of the case says how the job ended, and with which files")
		return
	}
	c.folder(caseJob, "", c.end.Seal)
	for _, e := range c.reissues {
		at := path.Join(caseReissues, e.RunID+e.ResultID[max(0, strings.LastIndexByte(e.ResultID, '-')):])
		if path.Dir(at) != caseReissues { // an id may be anything
			c.found(CheckContent, caseReissues, "event %d names no result: %s", e.Seq, spool.Quote(e.ResultID))
			continue
		}
		c.folder(at, at, e.Seal)
		file := path.Join(at, ledger.FileResult)
		if slices.Contains(c.report.LeftOut, file) {
			continue
		}
		if got := schemas.SHA256(c.read(file)); got != e.ResultSHA256 {
			c.found(fsck.CheckDigest, file, "its sha256 is %s; the record says %s", got, e.ResultSHA256)
		}
	}
	for name, want := range map[string]string{spool.FileRequest: c.end.RequestSHA256,
		ledger.FileResult: c.end.ResultSHA256} {
		if want == "" || slices.Contains(c.report.LeftOut, name) {
			continue
		}
		if got := schemas.SHA256(c.read(caseJob, name)); got != want {
			c.found(fsck.CheckDigest, path.Join(caseJob, name), "its sha256 is %s; the record says %s", got, want)
		}
	}
}

// approvals wants what is on record as signed to be signed, by a key that counted then. Of what ran it wants the event
// that admitted it: whoever makes a case chooses its events.
func (c *caseCheck) approvals() {
	e := c.admitted
	if e == nil && (c.report.Outcome == ledger.ResultDelivered || c.report.Outcome == ledger.ResultQuarantined ||
		c.report.Outcome == ledger.ResultRecalled || c.report.Outcome == ledger.ResultReissued) {
		c.found(CheckContent, caseEvents, "it ran, and no event of the case says who approved it")
	}
	if e == nil || !slices.ContainsFunc(e.Approvers, approval.Approver.Verified) {
		return
	}
	if slices.Contains(c.report.LeftOut, spool.FileRequest) || slices.Contains(c.report.LeftOut, spool.FileSignature) {
		c.unchecked("the signatures of the approvers", "a case with the request and its signature file")
		return
	}
	request, file := c.read(caseJob, spool.FileRequest), path.Join(caseJob, spool.FileSignature)
	parts, err := approval.Split(c.read(file))
	if err != nil {
		c.found(fsck.CheckSignature, file, "%v", err)
		return
	}
	for i, who := range e.Approvers {
		sig, named := parts.Signature, func(a approval.Cosigner) bool { return a.Name == who.Name }
		if at := slices.IndexFunc(parts.Also, named); i > 0 && at >= 0 {
			sig = parts.Also[at].Signature
		}
		c.signed(file, approval.Namespace, who.Name, request, sig, e)
	}
	if e.Plan != "" {
		c.signed(file, approval.PlanNamespace, e.Approvers[0].Name, parts.Plan, parts.PlanSignature, e)
		if schemas.SHA256(parts.Plan) != e.Plan {
			c.found(fsck.CheckSignature, file, "the plan is not the one on record")
		}
	}
}

// signed wants a signature to be of somebody who was allowed at an event, by the node's signers and by those given.
func (c *caseCheck) signed(where, namespace, who string, message, sig []byte, e *judged) {
	lists := map[string][]byte{}
	for _, name := range e.texts {
		text := c.read(caseSigners, name)
		if lists["that the node had then"] = text; schemas.SHA256(text) != name {
			c.found(fsck.CheckApproval, path.Join(caseSigners, name), "the text of allowed signers was changed")
			return
		}
	}
	if c.signers != nil {
		lists["that you gave"] = c.signers
	}
	if len(e.texts) == 0 {
		c.unchecked(fmt.Sprintf("whether the node itself allowed those to sign who signed what event %d is about: no "+
			"event of the case says whom it allowed", e.Seq), "a case with the events of the node's start")
	}
	if len(lists) == 0 {
		c.found(fsck.CheckApproval, where, "nobody is known who was allowed to sign it")
	}
	for whose, text := range lists {
		if err := approval.VerifyFor(namespace, text, who, message, sig, e.Time); err != nil {
			c.found(fsck.CheckSignature, where, "by the signers %s, %s did not sign it: %v", whose, spool.Quote(who),
				err)
		}
	}
}

// givenOrders wants the orders that events name to be there, with their signatures if they were sealed with one.
func (c *caseCheck) givenOrders() {
	seen := map[string]bool{}
	for _, e := range c.orders {
		sum := e.Order
		file := path.Join(caseOrders, sum+".json")
		raw := c.read(file)
		o, err := orders.Decode(raw)
		if schemas.SHA256(raw) != sum || err != nil || !o.Fits(e.Event) || seen[sum] {
			c.found(CheckContent, file, "it is not the order that event %d names", e.Seq)
			continue
		}
		seen[sum] = true
		if e.Signature == "" && (len(e.texts) == 0 || !o.ByPerson()) {
			continue
		}
		file = path.Join(caseOrders, sum+".sig")
		sig := c.read(file)
		if e.Signature != "" && schemas.SHA256(sig) != e.Signature {
			c.found(CheckContent, file, "it is not the signature on record")
		}
		c.signed(file, orders.Namespace, o.By, raw, sig, &e)
	}
}

// statement wants the statement of a delivered result to be of a trusted key, and about this result.
func (c *caseCheck) statement() {
	raw, err := os.ReadFile(filepath.Join(c.dir, caseStatement))
	if err != nil {
		if c.end != nil && c.end.Type == ledger.ResultDelivered {
			c.unchecked("the statement of the result: the case has none",
				"threegate audit checkpoint makes it; then prove it anew")
		}
		return
	}
	var b bundle
	var s Statement
	if err = schemas.DecodeOpen(raw, &b); err == nil {
		err = schemas.DecodeOpen(b.Envelope.Payload, &s)
	}
	if err != nil || len(b.Envelope.Signatures) != 1 || len(s.Subject) == 0 {
		c.found(CheckStatement, caseStatement, "it can't be read: %v", err)
		return
	}
	by := slices.IndexFunc(c.keys.Signers, func(k openwop.TrustedKey) bool {
		return ed25519.Verify(k.Public, preAuth(b.Envelope.Payload), b.Envelope.Signatures[0].Sig)
	})
	switch {
	case by < 0:
		c.found(CheckStatement, caseStatement, "it is not signed with a key that is trusted")
	case c.end != nil && c.keys.Signers[by].Until > 0 && c.end.Seq > c.keys.Signers[by].Until:
		c.found(CheckStatement, caseStatement, "its key was trusted up to event %d only", c.keys.Signers[by].Until)
	case c.end == nil || s.Subject[0].Digest["sha256"] != c.end.ResultSHA256 ||
		s.Predicate.RunDetails.Metadata.InvocationID != c.report.Job:
		c.found(CheckStatement, caseStatement, "it is about another result")
	}
}
