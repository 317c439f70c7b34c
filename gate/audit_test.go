package gate_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/prune"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// person holds a key that is the same for each name.
type person struct {
	name string
	key  ed25519.PrivateKey
}

func personOf(name string) person {
	seed := sha256.Sum256([]byte(name))
	return person{name, ed25519.NewKeyFromSeed(seed[:])}
}

func (p person) ssh() ssh.Signer {
	s, err := ssh.NewSignerFromSigner(p.key)
	if err != nil {
		panic(err)
	}
	return s
}

// line is a person's in a list of allowed signers.
func (p person) line() string { return p.name + " " + p.public() }

func (p person) public() string { return string(ssh.MarshalAuthorizedKey(p.ssh().PublicKey())) }

func (p person) sign(namespace string, message []byte) []byte {
	sig, err := sshsig.Sign(bytes.NewReader(message), p.ssh(), sshsig.HashSHA512, namespace)
	if err != nil {
		panic(err)
	}
	return sshsig.Armor(sig)
}

// signer is a person who signs checkpoints.
func (p person) signer() openwop.Signer {
	return openwop.Signer{Fingerprint: ssh.FingerprintSHA256(p.ssh().PublicKey()), Public: p.ssh().PublicKey().(ssh.CryptoPublicKey).
		CryptoPublicKey().(ed25519.PublicKey), Sign: func(m []byte) ([]byte, error) { return ed25519.Sign(p.key, m), nil }}
}

var (
	operator, alice, carol = personOf("operator"), personOf("alice"), personOf("carol")
	// notary signs checkpoints, and mallory nothing that anybody trusts.
	notary, mallory = personOf("notary"), personOf("mallory")
)

const strictApprovals = "approvals: {max_age: 0s, require_signature: true, allowed_signers: signers}"

// audited is a node with signed requests of each end, orders, a prune, other signers than at first, and two
// checkpoints; what came last is not signed yet.
type audited struct {
	*world
	t *testing.T
	// before and anchored are the node as it was at its first and at its second checkpoint.
	before, anchored string
	anchor           []byte // the second checkpoint, kept elsewhere
	end              time.Time
}

func (a *audited) at(ago time.Duration) {
	a.now = func() time.Time { return a.end.Add(-ago) }
}

// request puts a signed one into the inbox.
func (a *audited) request(id, word string, also ...person) {
	a.t.Helper()
	inbox := a.cfg.Inboxes[0].Path
	must(a.t, a.put(inbox, id, word))
	raw, err := os.ReadFile(filepath.Join(inbox, id+".md"))
	must(a.t, err)
	parts := approval.Approval{Signature: operator.sign(approval.Namespace, raw)}
	if req, _ := validate.Request("", raw, a.cfg.Policy(a.now())); req != nil {
		sum, in := sha256.Sum256(raw), sha256.Sum256([]byte(crashPlan))
		parts.Plan, err = a.cfg.PlanOf(req, hex.EncodeToString(sum[:]), map[string]string{"/in/x.csv": hex.EncodeToString(in[:])},
			a.cfg.TaskLimits(req), a.cfg.Network.AllowedDomains).Encode()
		must(a.t, err)
		parts.PlanSignature = operator.sign(approval.PlanNamespace, parts.Plan)
	}
	for _, p := range also {
		parts.Also = append(parts.Also, approval.Cosigner{Name: p.name, Signature: p.sign(approval.Namespace, raw)})
	}
	must(a.t, os.WriteFile(filepath.Join(inbox, id+".md.sig"), parts.Join(), 0o600))
}

// ordered gives a signed order of alice's, and has it carried out.
func (a *audited) ordered(o orders.Order) {
	a.t.Helper()
	o.By, o.Reason = "alice", "as I say"
	name, err := orders.Give(a.dir, o, a.now(), func(b []byte) ([]byte, error) { return alice.sign(orders.Namespace, b), nil })
	must(a.t, err)
	a.until(a.t)
	if why := a.answer(a.t, name); why != "" {
		a.t.Fatal(why)
	}
}

func (a *audited) checkpoints() string { return filepath.Join(a.dir, audit.DirCheckpoints) }

func (a *audited) checkpoint(by person) error {
	err := os.MkdirAll(a.checkpoints(), 0o750)
	if err == nil {
		_, _, err = audit.Sign(a.t.Context(), a.cfg, a.checkpoints(), by.signer())
	}
	return err
}

func (a *audited) signersAre(people ...person) {
	var text strings.Builder
	for _, p := range people {
		text.WriteString(p.line())
	}
	must(a.t, os.WriteFile(filepath.Join(a.dir, "signers"), []byte(text.String()), 0o600))
	a.load()
}

func (a *audited) load() {
	var err error
	a.cfg, err = config.Load(a.dir)
	must(a.t, err)
}

// copyNode copies a node as it is.
func copyNode(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.RemoveAll(to))
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	a := &audited{world: mustWorld(t, scenario{name: "audited", word: "ok"}), t: t, end: time.Now()}
	for _, p := range a.glob("inbox/default/*") { // what is to come is signed
		must(t, os.RemoveAll(p))
	}
	a.before, a.anchored = a.dir+".before", a.dir+".anchored"
	must(t, os.WriteFile(filepath.Join(a.dir, config.FileName),
		[]byte(strings.Replace(crashConfig, "approvals: {max_age: 0s}", strictApprovals, 1)), 0o640))
	a.signersAre(operator, alice)
	a.at(5 * time.Hour)
	for i, word := range []string{"ok", "fail", "; id", "secret", secret, "bare", "; id"} {
		a.request(requestID(i), word)
	}
	a.until(t)
	must(t, a.checkpoint(notary))
	copyNode(t, a.dir, a.before)

	a.at(4 * time.Hour)
	a.signersAre(operator, alice, carol)
	for i, item := range a.items(t)[:3] {
		a.at(4*time.Hour - time.Duration(i)*time.Second)
		it, err := quarantine.NewStore(filepath.Join(a.dir, spool.DirQuarantine)).Show(item)
		must(t, err)
		if len(it.Reasons.Releasable) == 0 {
			a.ordered(orders.Order{Kind: orders.Reject, Subject: item})
			continue
		}
		o := orders.Order{Kind: orders.Release, Subject: item}
		for _, r := range it.Reasons.Releasable {
			o.Released = append(o.Released, r.Release)
		}
		a.ordered(o)
	}
	a.request(requestID(7), "ok", carol)
	a.until(t)
	all, err := prune.Look(t.Context(), a.cfg, prune.Rule{Keep: 0}, prune.Options{Now: a.now})
	must(t, err)
	_, err = prune.Run(t.Context(), a.cfg, prune.Rule{Keep: all.Bytes - 1}, prune.Options{By: "alice", Reason: "by rule", Now: a.now})
	must(t, errors.Join(err, a.checkpoint(notary)))
	notes := a.glob(audit.DirCheckpoints + "/*.note")
	a.anchor, err = os.ReadFile(notes[len(notes)-1])
	must(t, err)
	copyNode(t, a.dir, a.anchored)

	a.at(30 * time.Minute)
	a.request(requestID(8), "ok")
	a.request(requestID(9), "; id")
	a.until(t)
	return a
}

// copied is the same node once more, to be spoiled.
func (a *audited) copied(t *testing.T) *audited {
	t.Helper()
	tmp, err := memoryDir()
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	b := *a
	b.world, b.t = &world{dir: filepath.Join(tmp, "node"), sc: a.sc, now: a.now, taken: map[string]int{}}, t
	for _, part := range []string{"", ".run", ".trash"} {
		copyNode(t, a.dir+part, b.dir+part)
	}
	b.load()
	return &b
}

// back puts an earlier node in its place.
func (a *audited) back(t *testing.T, from string) {
	t.Helper()
	copyNode(t, from, a.dir)
	a.load()
}

// verdict is that of the one command, given all that there is.
func (a *audited) verdict(t *testing.T) *audit.Report {
	t.Helper()
	anchor, err := audit.ParseAnchor(a.anchor)
	must(t, err)
	keys, err := audit.ParseKeys([]byte(notary.public()))
	must(t, err)
	r, err := audit.Run(t.Context(), a.cfg, audit.Options{Now: func() time.Time { return a.end }, Keys: &keys, Anchor: anchor,
		Checkpoints: a.checkpoints(), Signers: []byte(operator.line() + alice.line() + carol.line())})
	must(t, err)
	return r
}

// TestAuditOfASoundNode: all holds, what is on record is a remark, and what was not looked at is said.
func TestAuditOfASoundNode(t *testing.T) {
	a := newAudited(t)
	r := a.verdict(t)
	if !r.Whole() || !r.Anchored || r.Signed == 0 || r.Signed >= r.Events {
		t.Fatalf("%+v", r)
	}
	remarks := map[fsck.Check]int{}
	for _, f := range r.Remarks {
		remarks[f.Check]++
	}
	if want := map[fsck.Check]int{fsck.CheckSignature: 1, fsck.CheckLost: 1}; !maps.Equal(remarks, want) {
		t.Errorf("%+v", r.Remarks)
	}
	if r.Signatures.Checked < 12 || r.Signatures.Gone != 1 || r.Signatures.NamedOnly != 0 {
		t.Errorf("%+v", r.Signatures)
	}
	bare, err := audit.Run(t.Context(), a.cfg, audit.Options{})
	must(t, err)
	var how []string
	for _, u := range bare.Unchecked {
		how = append(how, u.How)
	}
	for _, flag := range []string{"--anchor", "--trust", "--signers"} {
		if !strings.Contains(strings.Join(how, "\n"), flag) {
			t.Errorf("%s is not among %q", flag, how)
		}
	}
	if !bare.Whole() {
		t.Errorf("%+v", bare.Findings)
	}
}

// TestAuditOfAClock: a clock that is set back is on record, and a remark.
func TestAuditOfAClock(t *testing.T) {
	a := newAudited(t)
	a.at(3 * time.Hour)
	a.request(requestID(10), "ok")
	a.until(t)
	keys, err := audit.ParseKeys([]byte(notary.public()))
	must(t, errors.Join(err, a.checkpoint(notary)))
	r, err := audit.Run(t.Context(), a.cfg, audit.Options{Keys: &keys, Checkpoints: a.checkpoints()})
	must(t, err)
	if !r.Whole() || !slices.ContainsFunc(r.Remarks, func(f fsck.Finding) bool { return f.Check == fsck.CheckTime }) {
		t.Errorf("%+v", r)
	}
}

// lines are those of the record.
func (a *audited) lines(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(a.one(t, "ledger/events-*"))
	must(t, err)
	return slices.Collect(strings.Lines(string(raw)))
}

func (a *audited) setLines(t *testing.T, lines []string) {
	t.Helper()
	must(t, os.WriteFile(a.one(t, "ledger/events-*"), []byte(strings.Join(lines, "")), 0o600))
}

// event is one as whoever forges it sees it.
type event = map[string]any

// forge writes the record anew, with a chain that is whole.
func (a *audited) forge(t *testing.T, change func(events []event) []event) {
	t.Helper()
	var events []event
	for _, line := range a.lines(t) {
		var e event
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		must(t, d.Decode(&e))
		events = append(events, e)
	}
	prev := strings.Repeat("0", 64)
	var lines []string
	for i, e := range change(events) {
		e["seq"], e["prev"] = i+1, prev
		var b bytes.Buffer
		enc := json.NewEncoder(&b) // keys are sorted
		enc.SetEscapeHTML(false)
		must(t, enc.Encode(e))
		sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		prev = hex.EncodeToString(sum[:])
		lines = append(lines, b.String())
	}
	a.setLines(t, lines)
}

// job is the folder of a request's job.
func (a *audited) job(t *testing.T, id string) string {
	t.Helper()
	for _, pattern := range []string{inArchive, inRequests, inResults} {
		for _, dir := range a.glob(pattern) {
			raw, err := os.ReadFile(filepath.Join(dir, spool.FileRequest))
			must(t, err)
			if strings.Contains(string(raw), "\""+id+"\"") {
				return dir
			}
		}
	}
	t.Fatalf("no job of %s", id)
	return ""
}
