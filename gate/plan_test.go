package gate_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// planned is a node that wants plans, whose only request has one, and wants a network.
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
		"max_age: 0s, require_signature: true, require_plan: true, allowed_signers: signers", 1) +
		"network: {allowed_domains: [example.org]}\n" + profileConfig
	for name, level := range map[string]string{"fix.yaml": "blocking", "other.yaml": "warning"} {
		must(t, os.WriteFile(filepath.Join(w.dir, name), []byte(todoAt(level)), 0o600))
	}
	configure = func(old, new string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(strings.Replace(text, old, new, 1)), 0o640))
		w.cfg, err = config.Load(w.dir)
		must(t, err)
	}
	configure("", "")
	raw := bytes.Replace(crashRequest(crashID, "profile"), []byte("network: none"), []byte("network: allowlist"), 1)
	raw = bytes.Replace(raw, []byte("rationale: none"), []byte("rationale: it reads example.org"), 1)
	must(t, os.WriteFile(filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md"), raw, 0o644))
	req, _ := validate.Request("", raw, w.cfg.Policy(time.Now()))
	if req == nil {
		t.Fatal("the request of the crash tests is not valid")
	}
	sum, in := sha256.Sum256(raw), sha256.Sum256([]byte(crashPlan))
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

// drift is a change of a node's configuration, and how it is named.
type drift struct{ old, new, want string }

var drifts = map[string]drift{
	"as planned": {},
	"image":      {zeroImage, strings.Replace(zeroImage, "0000", "1111", 1), "image (planned"},
	"exec_tmp":   {zeroImage + `"`, zeroImage + `", exec_tmp: true`, "runtime (planned"},
	"runtime":    {"backends:", "containerd: {runtime: io.containerd.kata.v2}\nbackends:", "runtime (planned"},
	"registry":   {"registry: fix.yaml", "registry: other.yaml", "registry (planned"},
	"limits":     {"{tmp_mb: 99}", "{tmp_mb: 99, pids: 64}", "limits: pids (planned 512, now 64)"},
	"network":    {"[example.org]", "[example.org, example.net]", "network (planned allowlist example.org, now "},
}

// asPlanned wants the request to have run, or to be refused by name, and CORE to be told.
func (w *world) asPlanned(t *testing.T, want string) {
	t.Helper()
	if want == "" {
		if v := w.atEnd(false); len(v.notes) > 0 {
			t.Error(v.notes)
		}
		return
	}
	reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
	must(t, err)
	if !strings.Contains(string(reasons), want) || !strings.Contains(string(reasons), `"approval.plan"`) {
		t.Errorf("%q is not among the reasons: %s", want, reasons)
	}
	if n := w.notice(t, crashID); n.Stage != schemas.StageRefused ||
		!slices.ContainsFunc(n.Rules, func(r schemas.NoticeRule) bool { return r.Rule == "approval.plan" }) {
		t.Errorf("CORE is told %+v", n)
	}
	if runs := w.recorder(&injector{}).runs(); len(runs) > 0 {
		t.Errorf("it ran: %v", runs)
	}
	w.onlyAnswers(t)
}

// TestPlanAtAdmission: what is not as planned is refused, by name, and CORE is told.
func TestPlanAtAdmission(t *testing.T) {
	cases := maps.Clone(drifts)
	cases["input"] = drift{"", "", "inputs: /in/x.csv (planned"}
	cases["missing"] = drift{"", "", "requires a signed plan"}
	cases["changed"] = drift{"", "", "the plan's signature is not valid"}
	cases["old"] = drift{"", "", "request (planned"}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, configure := planned(t)
			configure(c.old, c.new)
			if name == "input" {
				must(t, os.WriteFile(filepath.Join(w.cfg.Inboxes[0].Path, crashID+".inputs", "x.csv"), []byte("inputs"), 0o644))
			}
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
			w.asPlanned(t, c.want)
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

// queued lets the node admit its only request, and stop before it starts.
func (w *world) queued(t *testing.T) {
	t.Helper()
	x := &waiting{w.recorder(&injector{}), make(chan struct{})}
	g, err := gate.Open(w.cfg, gate.Options{Executor: x, Logger: slog.New(slog.DiscardHandler), Now: w.now,
		Retry: firstPause})
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), atMost)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	select {
	case <-x.asked:
	case <-ctx.Done():
	}
	stop()
	must(t, <-ran)
	must(t, g.Close())
	w.one(t, "spool/admitted/j*")
}

// TestPlanAtTheStart: a job that waited while the node became another one than its approver signed is refused
// before it starts.
func TestPlanAtTheStart(t *testing.T) {
	for name, c := range drifts {
		t.Run(name, func(t *testing.T) {
			w, configure := planned(t)
			w.queued(t)
			configure(c.old, c.new)
			must(t, w.process(&injector{}))
			w.asPlanned(t, c.want)
		})
	}
}

// TestRulesChangeInTheQueue: a job that waited while the node got other rules is judged anew before it starts,
// as of when it was admitted: that time went by refuses nothing.
func TestRulesChangeInTheQueue(t *testing.T) {
	for name, c := range map[string]struct{ old, new, rule string }{
		"nothing":     {},
		"no rule":     {"node: {", "results: {stream_lines: 100}\nnode: {", ""},
		"an approver": {"max_age: 1h", "max_age: 1h, approvers: [somebody]", "approval.approver"},
		"a limit":     {"node: {", "limits: {time_sec: 10}\nnode: {", "request.limits"},
		"no language": {"python: ", "ruby: ", "request.language"},
		"the age":     {"max_age: 1h", "max_age: 1m", "approval.age"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(crashConfig, "max_age: 0s", "max_age: 1h", 1)
			now := time.Date(2026, 2, 9, 16, 20, 0, 0, time.UTC) // ten minutes after the approval
			w := mustWorld(t, scenario{word: "ok", want: ending{delivered: 1, runs: 1}})
			w.now = func() time.Time { return now }
			configure := func(text string) {
				t.Helper()
				must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(text), 0o640))
				var err error
				w.cfg, err = config.Load(w.dir)
				must(t, err)
			}
			configure(text)
			w.queued(t)
			now = now.Add(24 * time.Hour)
			configure(strings.Replace(text, c.old, c.new, 1))
			must(t, w.process(&injector{}))
			if c.rule == "" {
				if v := w.atEnd(false); len(v.notes) > 0 {
					t.Error(v.notes)
				}
				return
			}
			f := w.status(t, crashID)
			if f.State != "quarantined" || !slices.Contains(f.Rules, c.rule) {
				t.Errorf("%+v, want a refusal by %s", f, c.rule)
			}
			w.onlyAnswers(t)
		})
	}
}

// TestReloadInTheQueue: the same after a reload.
func TestReloadInTheQueue(t *testing.T) {
	// Three run at once, so one is admitted and waits.
	w := mustWorld(t, scenario{word: "endless|endless|endless|endless"})
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
		Retry: firstPause})
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), atMost)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	until := func(done func() bool) {
		t.Helper()
		for !done() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		must(t, ctx.Err())
	}
	until(func() bool { return len(w.glob("spool/running/j*")) == 3 && len(w.glob("spool/admitted/j*")) == 1 })
	queued := filepath.Base(w.one(t, "spool/admitted/j*"))
	text := strings.Replace(crashConfig, "max_age: 0s", "max_age: 0s, approvers: [somebody]", 1)
	must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(text), 0o640))
	strict, err := config.Load(w.dir)
	must(t, err)
	must(t, g.Reload(strict))
	for _, job := range w.glob("spool/running/j*") {
		must(t, w.recorder(&injector{}).Kill(ctx, filepath.Base(job)))
	}
	until(w.idle)
	stop()
	must(t, <-ran)
	must(t, g.Close())
	reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
	must(t, err)
	if !strings.Contains(string(reasons), queued) || !strings.Contains(string(reasons), `"approval.approver"`) {
		t.Errorf("%s was not refused for its approver: %s", queued, reasons)
	}
	if runs := w.recorder(&injector{}).runs(); len(runs) != 3 {
		t.Errorf("%d ran, want 3", len(runs))
	}
	w.onlyAnswers(t)
}
