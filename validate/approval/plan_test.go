package approval_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/validate/approval"
)

func somePlan() approval.Plan {
	return approval.Plan{Version: approval.PlanVersion, RequestID: "TR-x", RequestSHA256: "aa", Backend: "ERA", Language: "python",
		Inputs: []approval.PlanInput{{"/in/a", "1"}, {"/in/b", "2"}}, Image: "sha256:1", Runtime: "io.containerd.runc.v2",
		Limits: []approval.PlanLimit{{"pids", 128}, {"time_sec", 60}}, Network: "allowlist", Domains: []string{"a.example"},
		Rules: "r1"}
}

func TestDriftNamesWhatChanged(t *testing.T) {
	for want, change := range map[string]func(p *approval.Plan){
		"":                          func(p *approval.Plan) { p.Rules = "r2" }, // the rules judge anew; they are no drift
		"request (":                 func(p *approval.Plan) { p.RequestSHA256 = "bb" },
		"inputs: /in/b (planned 2,": func(p *approval.Plan) { p.Inputs = []approval.PlanInput{{"/in/a", "1"}, {"/in/b", "3"}} },
		"inputs: /in/c (planned none, now 4)": func(p *approval.Plan) {
			p.Inputs = append([]approval.PlanInput{{"/in/c", "4"}}, p.Inputs...)
		},
		"inputs: /in/a (planned 1, now none)":    func(p *approval.Plan) { p.Inputs = p.Inputs[1:] },
		"backend (":                              func(p *approval.Plan) { p.Language = "perl" },
		"image (planned sha256:1, now sha256:2)": func(p *approval.Plan) { p.Image = "sha256:2" },
		"runtime (":                              func(p *approval.Plan) { p.Runtime += ", /tmp executable" },
		"limits: pids (planned 128, now 9)":      func(p *approval.Plan) { p.Limits = []approval.PlanLimit{{"pids", 9}, {"time_sec", 60}} },
		"network (planned allowlist a.example, now allowlist a.example b.example)": func(p *approval.Plan) {
			p.Domains = []string{"a.example", "b.example"}
		},
	} {
		now := somePlan()
		change(&now)
		got := somePlan().Drift(now)
		if want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || want == "" || !strings.HasPrefix(got[0], want) {
			t.Errorf("drift %q, want %q", got, want)
		}
	}
	data, err := somePlan().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := approval.ParsePlan(data); err != nil || len(p.Drift(somePlan())) > 0 {
		t.Errorf("read back: %+v, %v", p, err)
	}
	for _, bad := range []string{"", "{}", "null", strings.Replace(string(data), `"version": 1`, `"version": 2`, 1),
		strings.Replace(string(data), `"image"`, `"more": 1, "image"`, 1),
		strings.Replace(string(data), `"image"`, `"image": "x", "image"`, 1), string(data) + "{}"} {
		if _, err := approval.ParsePlan([]byte(bad)); !errors.Is(err, approval.ErrPlan) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestApprovalFile(t *testing.T) {
	alice := ed(t)
	plan, err := somePlan().Encode()
	if err != nil {
		t.Fatal(err)
	}
	whole := approval.Approval{Signature: sign(t, alice, approval.Namespace, message), Plan: plan,
		PlanSignature: sign(t, alice, approval.PlanNamespace, plan)}
	file := whole.Join()
	got, err := approval.Split(file)
	if err != nil || !bytes.Equal(got.Plan, plan) {
		t.Fatalf("%+v, %v", got, err)
	}
	signers := []byte(line("alice", "", alice))
	if err := approval.Verify(signers, "alice", message, got.Signature, now); err != nil {
		t.Error(err)
	}
	if err := approval.VerifyPlan(signers, "alice", got.Plan, got.PlanSignature, now); err != nil {
		t.Error(err)
	}
	// A signature of one kind is none of the other.
	if err := approval.VerifyPlan(signers, "alice", plan, sign(t, alice, approval.Namespace, plan), now); !errors.Is(err, approval.ErrSignature) {
		t.Error(err)
	}
	if err := approval.Verify(signers, "alice", plan, whole.PlanSignature, now); !errors.Is(err, approval.ErrSignature) {
		t.Error(err)
	}
	if got, err := approval.Split(whole.Signature); err != nil || got.Plan != nil || !bytes.Equal(got.Signature, whole.Signature) {
		t.Errorf("a signature alone: %+v, %v", got, err)
	}
	text := string(file)
	for name, bad := range map[string]string{
		"more": text + string(whole.Signature), "words": text + "x", "before": "x\n" + text,
		"no second signature": text[:strings.LastIndex(text, "-----BEGIN")],
		"plan first":          text[strings.Index(text, "-----BEGIN THREEGATE"):],
		"a header":            strings.Replace(text, "PLAN-----\n", "PLAN-----\nA: b\n\n", 1),
		"twice":               text + text,
	} {
		if got, err := approval.Split([]byte(bad)); !errors.Is(err, approval.ErrSignature) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestPlanAndOpenSSH: ssh-keygen takes our verdict on a plan for its own, and makes signatures that we take.
func TestPlanAndOpenSSH(t *testing.T) {
	dir := t.TempDir()
	run := func(stdin []byte, args ...string) error {
		cmd := exec.Command("ssh-keygen", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		return cmd.Run()
	}
	file := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if err := run(nil, "-q", "-t", "ed25519", "-N", "", "-f", "key"); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParsePrivateKey(file("key"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := somePlan().Encode()
	if err != nil {
		t.Fatal(err)
	}
	signers := []byte(line("alice", `namespaces="threegate-plan"`, key))
	for name, data := range map[string][]byte{"plan": plan, "ours.sig": sign(t, key, approval.PlanNamespace, plan),
		"signers": signers} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := []string{"-Y", "verify", "-f", "signers", "-I", "alice", "-n", approval.PlanNamespace, "-s", "ours.sig"}
	if err := run(plan, verify...); err != nil {
		t.Errorf("ssh-keygen refuses our signature: %v", err)
	}
	if err := run(append(plan, ' '), verify...); err == nil {
		t.Error("ssh-keygen takes our signature for another plan")
	}
	if err := run(nil, "-q", "-Y", "sign", "-n", approval.PlanNamespace, "-f", "key", "plan"); err != nil {
		t.Fatal(err)
	}
	if err := approval.VerifyPlan(signers, "alice", plan, file("plan.sig"), now); err != nil {
		t.Errorf("we refuse ssh-keygen's signature: %v", err)
	}
	if err := approval.VerifyPlan(signers, "alice", append(plan, ' '), file("plan.sig"), now); !errors.Is(err, approval.ErrSignature) {
		t.Errorf("another plan: %v", err)
	}
	if err := approval.Verify(signers, "alice", plan, file("plan.sig"), now); !errors.Is(err, approval.ErrSignature) {
		t.Errorf("as that of a request: %v", err)
	}
}
