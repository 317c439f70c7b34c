package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// judgedAt is the time as of which the examples are judged.
const judgedAt = "2026-02-10T00:00:00Z"

const anImage = "{image: sha256:0000000000000000000000000000000000000000000000000000000000000000}"

// openNode takes what can be approved; strictNode wants signatures, a plan and two persons, and has a profile.
const (
	openNode = `version: 1
node: {wait_for_writers: 0s, drain: 0s, concurrency: 2}
approvals: {max_age: 0s}
network: {allowed_domains: [data.example.org]}
backends: {monty: ` + anImage + `, era: {languages: {python: ` + anImage + `, ruby: ` + anImage + `, perl: ` + anImage +
		`, tools: ` + anImage + `}}}
`
	strictNode = `version: 1
node: {wait_for_writers: 0s, drain: 0s, concurrency: 2}
approvals: {require_signature: true, require_plan: true, allowed_signers: signers, min_approvers: {high: 2}}
backends: {era: {languages: {python: ` + anImage + `, javascript: ` + anImage + `, tools-image: ` + anImage + `}}}
tools: {profiles: {tools: {registry: fix.yaml, image: tools-image}}}
`
	strictRegistry = "version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}]\n"
)

// hiddenRules are the rules that a judge leaves out who can't see something.
var hiddenRules = map[admission.Unseen][]string{
	admission.Signature: {"approval.signature", "approval.plan", "approval.approvers"},
	admission.Inputs: {"request.inputs.missing", "request.inputs.hash", "request.inputs.extra", "request.inputs.tree",
		"commit.message.conventional", "branch.name.pattern"},
	admission.Earlier: {"request.duplicate", "request.conflict", "request.cancelled"},
	admission.Sandbox: {"request.backend.unavailable"},
	admission.Claim:   {"inbox."},
}

func hidden(unseen []admission.Unseen, rule string) bool {
	return slices.ContainsFunc(unseen, func(u admission.Unseen) bool {
		return slices.ContainsFunc(hiddenRules[u], func(r string) bool {
			return r == rule || strings.HasSuffix(r, ".") && strings.HasPrefix(rule, r)
		})
	})
}

// idle is an executor whose programs do nothing.
type idle struct{ tasks sync.Map }

func (e *idle) Identity(context.Context, executors.Task) (executors.Identity, error) {
	return executors.Identity{Backend: "ERA/1", Runtime: "none", Image: "sha256:" + strings.Repeat("0", 64)}, nil
}
func (e *idle) Prepare(_ context.Context, t executors.Task) error {
	e.tasks.Store(t.ID, true)
	return nil
}
func (e *idle) Start(context.Context, string) error { return nil }
func (e *idle) State(_ context.Context, id string) (executors.State, error) {
	if _, ok := e.tasks.Load(id); ok {
		return executors.StateExited, nil
	}
	return executors.StateAbsent, nil
}
func (e *idle) Wait(context.Context, string) (executors.Outcome, error) {
	at := time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)
	return executors.Outcome{Cause: schemas.CauseNone, StartedAt: at, FinishedAt: at}, nil
}
func (e *idle) Collect(_ context.Context, _, dst string) (executors.Collected, error) {
	none := executors.Stream{SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
	return executors.Collected{Stdout: none, Stderr: none}, errors.Join(
		os.WriteFile(filepath.Join(dst, "stdout"), nil, 0o600), os.WriteFile(filepath.Join(dst, "stderr"), nil, 0o600))
}
func (e *idle) Cleanup(_ context.Context, id string) error { e.tasks.Delete(id); return nil }
func (e *idle) Kill(context.Context, string) error         { return nil }
func (e *idle) List(context.Context) ([]string, error)     { return nil, nil }

// example is a request of testdata with its inputs.
type example struct {
	name   string // of the folder
	id     string // of the file
	raw    []byte
	inputs map[string][]byte
}

func (e example) clone() example {
	e.inputs = maps.Clone(e.inputs)
	return e
}

// put writes an example into a folder, as promote does.
func (e example) put(t *testing.T, dir string) {
	t.Helper()
	stem := filepath.Join(dir, e.id)
	for name, data := range e.inputs {
		file := filepath.Join(stem+".inputs", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(stem+".md", e.raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// requests are the examples that are requests, with those inputs that are not large.
func requests(t *testing.T) (all []example) {
	t.Helper()
	dirs, err := filepath.Glob("../../testdata/examples/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "TR-*.md"))
		inputs := ""
		if len(files) == 1 {
			inputs = strings.TrimSuffix(files[0], ".md") + ".inputs"
		} else {
			files, inputs = []string{filepath.Join(dir, "request.md")}, filepath.Join(dir, "inputs")
		}
		raw, err := os.ReadFile(files[0])
		if err != nil {
			continue // a result
		}
		e := example{name: filepath.Base(dir), id: "TR-20260209-160501Z-" + filepath.Base(dir), raw: raw,
			inputs: map[string][]byte{}}
		err = filepath.WalkDir(inputs, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			rel, _ := filepath.Rel(inputs, path)
			e.inputs[rel], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) < 100 {
		t.Fatalf("only %d examples", len(all))
	}
	return all
}

// mutate changes an example in one of the ways in which people and programs get a request wrong.
func mutate(r *rand.Rand, e example, n int) example {
	e = e.clone()
	e.id = fmt.Sprintf("TR-20260209-160501Z-m%03d", n)
	lines := bytes.Split(e.raw, []byte("\n"))
	at := r.IntN(len(lines))
	swap := func(old, to string) { e.raw = regexp.MustCompile(`(?m)^`+old+`$`).ReplaceAll(e.raw, []byte(to)) }
	names := slices.Sorted(maps.Keys(e.inputs))
	switch k := r.IntN(14); {
	case k == 0:
		e.raw = bytes.Join(slices.Delete(slices.Clone(lines), at, at+1), []byte("\n"))
	case k == 1:
		e.raw = bytes.Join(slices.Insert(slices.Clone(lines), at, lines[at]), []byte("\n"))
	case k == 2:
		swap("language: .*", "language: js")
	case k == 3:
		swap("language: .*", "language: tools")
	case k == 4:
		swap("network: .*", "network: allowlist")
	case k == 5:
		swap("time_limit_sec: .*", "time_limit_sec: 999999")
	case k == 6:
		swap("approved_by: .*", "approved_by: \"\"")
	case k == 7:
		swap("approved_utc: .*", "approved_utc: \"2025-01-01T00:00:00Z\"")
	case k == 8:
		swap("backend: .*", "backend: monty")
	case k == 9:
		swap("- Risk level: .*", "- Risk level: high")
	case k == 10:
		e.inputs["extra.txt"] = []byte("extra")
	case k == 11 && len(names) > 0:
		e.inputs[names[r.IntN(len(names))]] = []byte("other bytes")
	case k == 12 && len(names) > 0:
		delete(e.inputs, names[r.IntN(len(names))])
	default:
		swap("    sha256: .*", "    sha256: "+strings.Repeat("0", 64)+"\n    unpack: tar")
	}
	return e
}

// makeNode makes a node of a configuration, with files beside it.
func makeNode(t *testing.T, conf string, files map[string]string) *config.Node {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	err := spool.Init(dir)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, config.FileName), []byte(conf), 0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve has a gate take in all that lies in the inbox, and returns the rules that it found in each request by its
// file's name.
func serve(t *testing.T, l *config.Node, at time.Time) map[string][]string {
	t.Helper()
	g, err := gate.Open(l, gate.Options{Executor: &idle{}, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	busy := func() bool {
		for _, st := range spool.States {
			if list, err := os.ReadDir(filepath.Join(l.Dir, spool.DirSpool, string(st))); err != nil || len(list) > 0 {
				return true
			}
		}
		n, err := spool.Waiting(l.Inboxes[0].Path)
		return n > 0 || err != nil
	}
	for begun := time.Now(); busy(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 5*time.Minute {
			t.Fatal("the gate comes to no end")
		}
	}
	stop()
	if err := errors.Join(<-ran, g.Close()); err != nil {
		t.Fatal(err)
	}
	rules := map[string][]string{}
	note := func(dir, file string) {
		var said struct {
			Findings []schemas.Finding `json:"findings"`
		}
		c, err := spool.ReadClaim(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err = errors.Join(err, json.Unmarshal(data, &said)); err != nil {
			t.Fatal(err)
		}
		rules[c.Origin.Name] = rulesOf(said.Findings)
	}
	for pattern, file := range map[string]string{spool.DirQuarantineRequests + "/*": quarantine.FileJSON,
		spool.DirArchive + "/*/*/*": ledger.FileAdmission, spool.DirQuarantineResults + "/*": ledger.FileAdmission} {
		dirs, _ := filepath.Glob(filepath.Join(l.Dir, pattern))
		for _, dir := range dirs {
			note(dir, file)
		}
	}
	return rules
}

func rulesOf(found []schemas.Finding) []string {
	var rules []string
	for _, f := range found {
		rules = append(rules, string(f.Severity)+" "+f.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// call runs threegate in a folder, and returns its exit code and what it wrote.
func call(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	cmd := exec.Command("threegate", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &err
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// TestLintIsTheGate: for each example and 200 mutations of them, lint --config finds the rules that the gate of that
// configuration finds, but for those of what it says that it did not look at. UPDATE_GOLDEN=1 writes that list anew.
func TestLintIsTheGate(t *testing.T) {
	all := requests(t)
	r := rand.New(rand.NewPCG(36, 2))
	for n := range 200 {
		all = append(all, mutate(r, all[r.IntN(len(all)-n)], n))
	}
	var golden strings.Builder
	for _, name := range []string{"open", "strict"} {
		conf := map[string]string{"open": openNode, "strict": strictNode}[name]
		l := makeNode(t, conf, map[string]string{"signers": "j.okafor ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0Arzu" +
			"MWg5SfaFq2L4yhtxlxBdtqG0l9M4w4s6x7ZmR\n", "fix.yaml": strictRegistry})
		for _, e := range all {
			e.put(t, l.Inboxes[0].Path)
		}
		_, out, errs := call(t, l.Dir, "lint", "--as-of", judgedAt, "--config", config.FileName, "--format", "jsonl",
			l.Inboxes[0].Path)
		judged := map[string][]string{}
		unseen, lists := map[string][]admission.Unseen{}, map[string]int{}
		for line := range strings.Lines(out) {
			var report struct {
				File        string             `json:"file"`
				Findings    []schemas.Finding  `json:"findings"`
				NotLookedAt []admission.Unseen `json:"not_looked_at"`
			}
			if err := json.Unmarshal([]byte(line), &report); err != nil {
				t.Fatal(err)
			}
			file := filepath.Base(report.File)
			judged[file], unseen[file] = rulesOf(report.Findings), report.NotLookedAt
			lists[fmt.Sprint(report.NotLookedAt)]++
		}
		if len(judged) != len(all) {
			t.Fatalf("%s: lint judged %d of %d: %s", name, len(judged), len(all), errs)
		}
		for _, list := range slices.Sorted(maps.Keys(lists)) {
			fmt.Fprintf(&golden, "%s: %d of %s\n", name, lists[list], list)
		}
		found := serve(t, l, time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC))
		if len(found) != len(all) {
			t.Fatalf("%s: the gate judged %d of %d", name, len(found), len(all))
		}
		for file, rules := range found {
			got := judged[file]
			onlyGate := slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return slices.Contains(got, r) })
			onlyLint := slices.DeleteFunc(slices.Clone(got), func(r string) bool { return slices.Contains(rules, r) })
			onlyGate = slices.DeleteFunc(onlyGate, func(r string) bool {
				_, rule, _ := strings.Cut(r, " ")
				return hidden(unseen[file], rule)
			})
			if len(onlyGate)+len(onlyLint) > 0 {
				t.Errorf("%s: %s: lint finds %q, the gate %q; lint did not look at %v", name, file, got, rules,
					unseen[file])
			}
		}
		// Months later lint decides as the gate did, of what it keeps.
		kept, _ := filepath.Glob(filepath.Join(l.Dir, spool.DirQuarantine, "*/*", spool.FileRequest))
		code, out, errs := call(t, l.Dir, slices.Concat([]string{"lint", "--flips", "--config", config.FileName}, kept)...)
		if code != 0 || !strings.HasPrefix(out, fmt.Sprintf("%d files: ", len(kept))) || len(kept) < len(all)/2 {
			t.Errorf("%s: of %d decided in another way: %d %s%s", name, len(kept), code, out, errs)
		}
	}
	const file = "testdata/not_looked_at.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || golden.String() != string(want) {
		t.Errorf("what lint did not look at is not as in %s (%v):\n%s", file, err, golden.String())
	}
}

// TestApprovedIsAdmitted: what approve accepts, with the node's configuration, promote takes and the gate admits.
func TestApprovedIsAdmitted(t *testing.T) {
	dir := t.TempDir()
	keygen := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	keygen.Dir = dir
	if out, err := keygen.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(filepath.Join(dir, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	all := requests(t)
	r := rand.New(rand.NewPCG(36, 3))
	for n := range 40 {
		all = append(all, mutate(r, all[r.IntN(len(all)-n)], n))
	}
	strict := strings.Replace(strictNode, "min_approvers: {high: 2}", "min_approvers: {high: 1}", 1)
	for name, conf := range map[string]string{"open": openNode, "strict": strict} {
		l := makeNode(t, conf, map[string]string{"signers": "alice " + string(public), "fix.yaml": strictRegistry})
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		var files []string
		for i, e := range all {
			if name == "open" && i%2 != 0 || name == "strict" && i%4 != 0 { // each is a process or four
				continue
			}
			e.raw = regexp.MustCompile(`(?m)^request_id: .*$`).ReplaceAll(e.raw, []byte("request_id: "+e.id))
			e.put(t, folder)
			args := []string{"approve", e.id + ".md", "--as", "alice", "--yes", "--json", "--unseen", "--config",
				filepath.Join(l.Dir, config.FileName)}
			if name == "strict" {
				args = append(args, "--sign", filepath.Join(dir, "key"))
			}
			if code, _, _ := call(t, folder, args...); code == 0 {
				files = append(files, e.id+".md")
			}
		}
		if len(files) < 5 {
			t.Fatalf("%s: only %d were approved", name, len(files))
		}
		if code, out, errs := call(t, folder, append([]string{"promote", "--json", "--node", l.Dir}, files...)...); code != 0 {
			t.Errorf("%s: promote does not take what was approved: %s%s", name, out, errs)
		}
		for file, rules := range serve(t, l, time.Now()) {
			for _, rule := range rules {
				if strings.HasPrefix(rule, string(schemas.SeverityBlocking)) {
					t.Errorf("%s: %s was approved, and the gate says %q", name, file, rules)
				}
			}
		}
	}
}
