package gate_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// planned is a node that wants plans, whose only request has one.
func planned(t *testing.T) (w *world, configure func(old, new string)) {
	t.Helper()
	w = mustWorld(t, scenario{name: "planned", word: "ok", want: ending{delivered: 1, runs: 1}})
	_, secret, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	key, err := ssh.NewSignerFromSigner(secret)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.dir, "signers"),
		append([]byte("operator "), ssh.MarshalAuthorizedKey(key.PublicKey())...), 0o600))
	text := strings.Replace(crashConfig, "max_age: 0s",
		"max_age: 0s, require_signature: true, require_plan: true, allowed_signers: signers", 1)
	configure = func(old, new string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(strings.Replace(text, old, new, 1)), 0o640))
		w.cfg, err = config.Load(w.dir)
		must(t, err)
	}
	configure("", "")
	raw := crashRequest(crashID, "ok")
	req, _ := validate.Request("", raw, w.cfg.Policy(time.Now()))
	if req == nil {
		t.Fatal("the request of the crash tests is not valid")
	}
	sum, in := sha256.Sum256(raw), sha256.Sum256([]byte("input"))
	plan, err := w.cfg.PlanOf(req, hex.EncodeToString(sum[:]), map[string]string{"/in/x.csv": hex.EncodeToString(in[:])},
		w.cfg.TaskLimits(req), w.cfg.Network.AllowedDomains).Encode()
	must(t, err)
	sign := func(message []byte, namespace string) []byte {
		t.Helper()
		sig, err := sshsig.Sign(bytes.NewReader(message), key, sshsig.HashSHA512, namespace)
		must(t, err)
		return sshsig.Armor(sig)
	}
	file := approval.Approval{Signature: sign(raw, approval.Namespace), Plan: plan,
		PlanSignature: sign(plan, approval.PlanNamespace)}.Join()
	must(t, os.WriteFile(filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md.sig"), file, 0o600))
	return w, configure
}

const zeroImage = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// TestPlanAtAdmission: what is not as planned is refused, by name, and CORE is told.
func TestPlanAtAdmission(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"as planned": {},
		"image":      {zeroImage, strings.Replace(zeroImage, "0000", "1111", 1), "image (planned"},
		"exec_tmp":   {zeroImage + `"`, zeroImage + `", exec_tmp: true`, "runtime (planned"},
		"runtime":    {"backends:", "containerd: {runtime: io.containerd.kata.v2}\nbackends:", "runtime (planned"},
		"limits":     {"backends:", "limits: {pids: 64}\nbackends:", "limits: pids (planned 128, now 64)"},
		"missing":    {"", "", "wants a signed plan"},
		"changed":    {"", "", "the plan's signature is not valid"},
		"old":        {"", "", "request (planned"},
	} {
		t.Run(name, func(t *testing.T) {
			w, configure := planned(t)
			configure(c.old, c.new)
			sig := filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md.sig")
			data, err := os.ReadFile(sig)
			must(t, err)
			parts, err := approval.Split(data)
			must(t, err)
			switch name {
			case "missing":
				data = parts.Signature
			case "changed":
				parts.Plan = bytes.Replace(parts.Plan, []byte(`"pids"`), []byte(`"pids2"`), 1)
				data = parts.Join()
			case "old": // a plan that was signed for other bytes
				other, _ := planned(t)
				more, err := os.ReadFile(filepath.Join(other.cfg.Inboxes[0].Path, crashID+".md.sig"))
				must(t, err)
				o, err := approval.Split(more)
				must(t, err)
				p, err := approval.ParsePlan(o.Plan)
				must(t, err)
				p.RequestSHA256 = strings.Repeat("0", 64)
				parts.Plan, err = p.Encode()
				must(t, err)
				data = parts.Join()
			}
			must(t, os.WriteFile(sig, data, 0o600))
			must(t, w.process(&injector{}))
			if c.want == "" {
				if v := w.atEnd(false); len(v.notes) > 0 {
					t.Error(v.notes)
				}
				return
			}
			reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
			must(t, err)
			if !strings.Contains(string(reasons), c.want) || !strings.Contains(string(reasons), `"approval.plan"`) {
				t.Errorf("%q is not among the reasons: %s", c.want, reasons)
			}
			notice, err := os.ReadFile(filepath.Join(w.cfg.CoreNotices.Path, gate.NoticeFile(crashID)))
			must(t, err)
			if !strings.Contains(string(notice), `"approval.plan"`) {
				t.Errorf("CORE is told %s", notice)
			}
		})
	}
}

// TestTwoApprovers: a node that wants two persons refuses a request that one signed, and names both in the result of one
// that two signed.
func TestTwoApprovers(t *testing.T) {
	for name, signed := range map[string]bool{"one": false, "two": true} {
		t.Run(name, func(t *testing.T) {
			w, configure := planned(t)
			_, secret, err := ed25519.GenerateKey(rand.Reader)
			must(t, err)
			key, err := ssh.NewSignerFromSigner(secret)
			must(t, err)
			signers := filepath.Join(w.dir, "signers")
			text, err := os.ReadFile(signers)
			must(t, err)
			must(t, os.WriteFile(signers, append(append(text, "second.person "...),
				ssh.MarshalAuthorizedKey(key.PublicKey())...), 0o600))
			configure("max_age: 0s", "max_age: 0s, min_approvers: {low: 2, medium: 2, high: 2}")
			if signed {
				sig, err := sshsig.Sign(bytes.NewReader(crashRequest(crashID, "ok")), key, sshsig.HashSHA512, approval.Namespace)
				must(t, err)
				file := filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md.sig")
				data, err := os.ReadFile(file)
				must(t, err)
				parts, err := approval.Split(data)
				must(t, err)
				parts.Also = []approval.Cosigner{{Name: "Second.Person@example.org", Signature: sshsig.Armor(sig)}}
				must(t, os.WriteFile(file, parts.Join(), 0o600))
			}
			must(t, w.process(&injector{}))
			if !signed {
				reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
				must(t, err)
				if !strings.Contains(string(reasons), `"approval.approvers"`) {
					t.Errorf("approval.approvers is not among the reasons: %s", reasons)
				}
				return
			}
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Error(v.notes)
			}
			results, err := filepath.Glob(filepath.Join(w.cfg.CoreInbound.Path, "TS-*.md"))
			must(t, err)
			if len(results) != 1 {
				t.Fatalf("%d results", len(results))
			}
			result, err := os.ReadFile(results[0])
			must(t, err)
			if !strings.Contains(string(result), "Approved by: operator, Second.Person@example.org\n") {
				t.Errorf("the result does not name both: %s", result)
			}
		})
	}
}

// waiting is a recorder whose first task waits until the node stops, admitted and not started.
type waiting struct {
	*recorder
	asked chan struct{}
}

func (r *waiting) Prepare(ctx context.Context, _ executors.Task) error {
	close(r.asked)
	<-ctx.Done()
	return ctx.Err()
}

// TestPlanAtTheStart: a job that waited while the node got another image does not start. It starts
// once the node is again what the approver signed.
func TestPlanAtTheStart(t *testing.T) {
	w, configure := planned(t)
	open := func(x gate.Executor) *gate.Gate {
		t.Helper()
		g, err := gate.Open(w.cfg, gate.Options{Executor: x, Logger: slog.New(slog.DiscardHandler), Retry: firstPause})
		must(t, err)
		return g
	}
	serve := func(x gate.Executor, until func() bool) {
		t.Helper()
		g := open(x)
		ctx, stop := context.WithTimeout(t.Context(), atMost)
		defer stop()
		ran := make(chan error, 1)
		go func() { ran <- g.Run(ctx) }()
		for !until() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		late := ctx.Err() != nil
		stop()
		must(t, <-ran)
		must(t, g.Close())
		if late {
			t.Fatal("what was waited for never came")
		}
	}
	calm := &injector{}
	first := &waiting{w.recorder(calm), make(chan struct{})}
	serve(first, func() bool {
		select {
		case <-first.asked:
			return true
		default:
			return false
		}
	})
	configure(zeroImage, strings.Replace(zeroImage, "0000", "1111", 1))
	serve(w.recorder(calm), func() bool {
		status, _ := os.ReadFile(filepath.Join(w.dir, gate.StatusFile))
		return strings.Contains(string(status), "image (planned")
	})
	if runs := w.recorder(calm).runs(); len(runs) > 0 {
		t.Fatalf("it ran in another image: %v", runs)
	}
	configure("", "")
	must(t, w.process(calm))
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}
