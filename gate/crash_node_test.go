package gate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// scenario is what lies in the inboxes, and what must come of it.
type scenario struct {
	name string
	// word is the argument of a request's command; "|" divides several requests.
	word string
	// again puts the first request into a second inbox, too.
	again bool
	// core means that CORE takes away every result as soon as it can see it.
	core bool
	want ending
}

// ending is where jobs lie once there is nothing left to do.
type ending struct{ delivered, results, requests, runs int }

// scenarios have one request of each outcome.
var scenarios = []scenario{
	{name: "delivered", word: "ok", want: ending{delivered: 1, runs: 1}},
	{name: "taken by CORE", word: "ok", core: true, want: ending{delivered: 1, runs: 1}},
	{name: "failed run", word: "fail", want: ending{delivered: 1, runs: 1}},
	{name: "sandbox that fails before the start", word: "balk", want: ending{delivered: 1, runs: 1}},
	{name: "refused request", word: "; id", want: ending{requests: 1}},
	{name: "refused result", word: "secret", want: ending{results: 1, runs: 1}},
	{name: "duplicate", word: "ok", again: true, want: ending{delivered: 1, requests: 1, runs: 1}},
	{name: "delivered without outputs", word: "bare", want: ending{delivered: 1, runs: 1}},
	{name: "delivered in part", word: "order", want: ending{delivered: 1, runs: 1}},
	{name: "under a profile", word: "profile", want: ending{delivered: 1, runs: 1}},
}

// mixed are the scenarios of the crash matrix: all of that at once.
var mixed = []scenario{
	{name: "mixed", word: "ok|balk|; id|secret|bare|fail|order", again: true,
		want: ending{delivered: 5, results: 1, requests: 2, runs: 6}},
	{name: "mixed, CORE takes results away", word: "ok|; id|secret|bare|profile", core: true, again: true,
		want: ending{delivered: 3, results: 1, requests: 2, runs: 4}},
}

// crashPlan is the input of each request. One that has no outputs ("bare") tells of the call in it.
const crashPlan = `{"type":"ToolRequest","tool":"file_read","args":{"path":"a"},"request_id":"1",` +
	`"session_id":"s","timestamp":1}` + "\n"

const crashID = "TR-20260209-160501Z-crash"

func crashRequest(id, word string) []byte {
	sum := sha256.Sum256([]byte(crashPlan))
	outputs, language := "- /out/d/x.csv: an output", "python"
	if word == "profile" {
		outputs, language = "- /out/changes.patch: an output", "fix"
	}
	if word == "bare" {
		outputs = "None"
	}
	return fmt.Appendf(nil, `---
request_type: tool_request
schema_version: "1"
request_id: %q
created_utc: "2026-02-09T16:05:01Z"
requested_by: "CORE"
approved_by: "operator"
approved_utc: "2026-02-09T16:10:00Z"
purpose: "Fault matrix"
backend: ERA
language: %s
network: none
cpu_limit: "1"
memory_limit_mb: 64
time_limit_sec: 30
inputs:
  - path: "/in/x.csv"
    sha256: %q
---

## Command

python x.csv %s

## Input Files

- /in/x.csv: an input

## Output Expectations

%s

## Risk Assessment

- Risk level: low
- Justification: a test
- Data sensitivity: public
- Network rationale: none
`, id, language, hex.EncodeToString(sum[:]), word, outputs)
}

// world is a node that is crashed and started again.
type world struct {
	dir string
	cfg *config.Node
	sc  scenario
	now func() time.Time // nil is the real clock
	// taken counts what CORE took, by result.
	taken map[string]int
}

const crashConfig = `version: 1
node: {name: crash, wait_for_writers: 0s, drain: 0s, concurrency: 3}
inboxes: [{name: a, path: inbox/default}, {name: b, path: inbox/b}]
approvals: {max_age: 0s}
backends: {era: {languages: {python: {image: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}}
`

// profileConfig has a profile, in which requests with the word "profile" run.
const profileConfig = "tools: {profiles: {fix: {registry: fix.yaml, image: python, limits: {tmp_mb: 99}}}}\n"

// buildRegistry is its registry: a patch is judged in a second sandbox.
const buildRegistry = `version: 1
ast: {language: go}
validators: [{rule: code.todo.blockers, enforcement: blocking}, {rule: build.must.pass, enforcement: blocking}]
`

// memoryDir is a folder on tmpfs if there is one: thousands of nodes are made.
func memoryDir() (string, error) {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err == nil {
		return os.MkdirTemp(shm, "threegate-crash-")
	}
	return os.MkdirTemp("", "threegate-crash-")
}

func newWorld(sc scenario) (*world, error) {
	tmp, err := memoryDir()
	if err != nil {
		return nil, err
	}
	w := &world{dir: filepath.Join(tmp, "node"), sc: sc, taken: map[string]int{}}
	text := crashConfig
	if strings.Contains(sc.word, "profile") {
		text += profileConfig
	}
	if err := errors.Join(spool.Init(w.dir), os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(text), 0o640),
		os.WriteFile(filepath.Join(w.dir, "fix.yaml"), []byte(buildRegistry), 0o640), os.Mkdir(filepath.Join(w.dir, "inbox/b"), 0o700), os.Mkdir(w.dir+".run", 0o700),
		os.Mkdir(w.dir+".trash", 0o700)); err != nil {
		return nil, err
	}
	if w.cfg, err = config.Load(w.dir); err != nil {
		return nil, err
	}
	return w, w.send()
}

func (w *world) remove() { _ = os.RemoveAll(filepath.Dir(w.dir)) }

// requestID is the id of a scenario's k-th request.
func requestID(k int) string {
	if k == 0 {
		return crashID
	}
	return fmt.Sprintf("%s-%d", crashID, k)
}

// send puts the requests into the inboxes.
func (w *world) send() error {
	for k, word := range strings.Split(w.sc.word, "|") {
		if err := w.put(w.cfg.Inboxes[0].Path, requestID(k), word); err != nil {
			return err
		}
		if k == 0 && w.sc.again {
			if err := w.put(w.cfg.Inboxes[1].Path, requestID(k), word); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) put(inbox, id, word string) error {
	stem := filepath.Join(inbox, id)
	return errors.Join(os.Mkdir(stem+".inputs", 0o755),
		os.WriteFile(filepath.Join(stem+".inputs", "x.csv"), []byte(crashPlan), 0o644),
		os.WriteFile(stem+".md", crashRequest(id, word), 0o644))
}

func (w *world) recorder(i *injector) *recorder {
	return &recorder{dir: w.dir + ".run", seam: i.seam}
}

// take is CORE: it takes away every result that it can see, with its artifacts.
func (w *world) take() {
	results, _ := filepath.Glob(filepath.Join(w.cfg.CoreInbound.Path, "TS-*.md"))
	for _, r := range results {
		w.taken[filepath.Base(r)]++
		_ = os.RemoveAll(strings.TrimSuffix(r, ".md") + ".artifacts")
		_ = os.Remove(r)
	}
}

const (
	// lives is how often a gate that stopped by itself is started again.
	lives = 4
	// atMost ends a gate that comes to no end: the test fails then.
	atMost = 15 * time.Minute
	// healAfter is how long what goes wrong again and again does so.
	healAfter = 30 * time.Millisecond
	// firstPause is the pause after a failure.
	firstPause = time.Millisecond
)

// process serves the node with the gate that ships, as a service manager would,
// until nothing is left to do or the process dies.
func (w *world) process(i *injector) error {
	i.trash = w.dir + ".trash"
	if i.loose == nil && (i.kind == cutOrdered || i.kind == cutPerDir || i.kind == cutData) {
		i.loose = &loose{dirty: map[string]int64{}}
	}
	if w.sc.core {
		i.each = w.take
		defer w.take()
	}
	var err error
	for range lives {
		if err = w.serve(i); err == nil || i.isDead() {
			return err
		}
		i.heal()
	}
	return err
}

// serve is one life of the gate.
func (w *world) serve(i *injector) error {
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(i), Logger: slog.New(slog.DiscardHandler),
		Now: w.now, Retry: firstPause, Seam: i.seam})
	if err != nil {
		return err
	}
	defer g.Close()
	return w.run(i, g)
}

// runUntilIdle lets an open gate do all that there is to do.
func (w *world) runUntilIdle(g *gate.Gate) error { return w.run(&injector{}, g) }

func (w *world) run(i *injector, g *gate.Gate) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		select {
		case err := <-ran:
			return err
		default:
		}
		switch {
		case i.isDead():
			stop()
			<-ran
			return errDead
		case w.idle():
			stop()
			return <-ran
		case time.Since(begun) > atMost:
			stop()
			return errors.Join(errors.New("it came to no end"), <-ran)
		case time.Since(begun) > healAfter:
			i.heal()
		}
	}
}

// idle reports whether nothing is left to do.
func (w *world) idle() bool {
	for _, in := range w.cfg.Inboxes {
		if n, err := spool.Waiting(in.Path); n > 0 || err != nil {
			return false
		}
	}
	if waiting, err := spool.NewOrders(w.dir, nil).Pending(); len(waiting) > 0 || err != nil {
		return false
	}
	dirs := []string{filepath.Join(w.dir, spool.DirTrash), filepath.Join(w.dir, spool.DirOutbox),
		filepath.Join(w.dir+".run", "boxes")}
	for _, st := range spool.States {
		dirs = append(dirs, filepath.Join(w.dir, spool.DirSpool, string(st)))
	}
	names, err := spool.Renderings(w.dir, "")
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") }) || err != nil {
		return false
	}
	for _, dir := range dirs {
		if es, err := os.ReadDir(dir); len(es) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// verdict counts what must never happen.
type verdict struct {
	lost, twice, half int
	notes             []string
}

func (v *verdict) add(o verdict) {
	v.lost, v.twice, v.half = v.lost+o.lost, v.twice+o.twice, v.half+o.half
	v.notes = append(v.notes, o.notes...)
}

func (v *verdict) note(counter *int, format string, args ...any) {
	*counter++
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

// look checks the node as it lies there.
func (w *world) look() (verdict, *fsck.Report) {
	var v verdict
	r, err := fsck.Run(context.Background(), w.cfg, fsck.Options{})
	if err != nil {
		v.note(&v.lost, "fsck: %v", err)
		return v, nil
	}
	for _, f := range r.Found {
		counter := &v.lost
		switch f.Check {
		case fsck.CheckTwice, fsck.CheckPlace:
			counter = &v.twice
		case fsck.CheckResult, fsck.CheckTemporary:
			counter = &v.half
		}
		v.note(counter, "fsck: %s: %s: %s", f.Check, f.Where, f.What)
	}
	return v, r
}

// atEnd checks that everything has come to the end that the scenario wants.
// interrupted means that runs may have been lost, so that fewer than one is right.
func (w *world) atEnd(interrupted bool) verdict {
	v, r := w.look()
	if r == nil {
		return v
	}
	b := r.Balance
	if got, want := (ending{b.Delivered, b.ResultsQuarantined, b.RequestsQuarantined, 0}),
		w.sc.want; got != (ending{want.delivered, want.results, want.requests, 0}) || b.Waiting != 0 ||
		b.InProgress != 0 || b.Missing() != 0 {
		// An interrupted run left no secret that its result could be refused for.
		if !interrupted || got.delivered+got.results != want.delivered+want.results || got.requests != want.requests ||
			b.Waiting+b.InProgress+b.Missing() != 0 {
			v.note(&v.lost, "it ended as %+v, want %+v", b, want)
		}
	}
	if seen := r.Visible + len(w.taken); seen != b.Delivered {
		v.note(&v.lost, "CORE saw %d results, want %d", seen, b.Delivered)
	}
	for name, n := range w.taken {
		if n > 1 {
			v.note(&v.twice, "CORE was given %s %d times", name, n)
		}
	}
	total := 0
	for id, n := range w.recorder(&injector{}).runs() {
		total += n
		if n > 1 {
			v.note(&v.twice, "job %s ran %d times", id, n)
		}
	}
	if total > w.sc.want.runs || total < w.sc.want.runs && !interrupted {
		v.note(&v.twice, "%d runs, want %d", total, w.sc.want.runs)
	}
	w.answers(&v)
	if len(r.Pending) > 0 {
		v.note(&v.half, "temporaries are left: %s", strings.Join(r.Pending, ", "))
	}
	for _, dir := range []string{w.cfg.CoreInbound.Path, w.cfg.Inboxes[0].Path, w.cfg.Inboxes[1].Path} {
		es, err := os.ReadDir(dir)
		for _, e := range es {
			if strings.HasPrefix(e.Name(), ".") || dir != w.cfg.CoreInbound.Path || err != nil {
				v.note(&v.half, "%s is left in %s", e.Name(), dir)
			}
		}
	}
	return v
}

// answers wants exactly one answer in force for each request id: a result, or a notice.
func (w *world) answers(v *verdict) {
	results, _ := filepath.Glob(filepath.Join(w.cfg.CoreInbound.Path, "TS-*.md"))
	for name := range w.taken {
		results = append(results, name)
	}
	told := 0
	for k := range strings.Split(w.sc.word, "|") {
		id, n := requestID(k), 0
		for _, r := range results {
			raw, _ := os.ReadFile(filepath.Join(w.cfg.CoreInbound.Path, filepath.Base(r)))
			own := bytes.Contains(raw, []byte("\nrequest_id: \""+id+"\"\n"))
			if own || len(raw) == 0 && strings.HasSuffix(r, "-"+id+".md") {
				n++
			}
			if own && bytes.Contains(raw, []byte("\n- Replaces: TS-")) {
				n-- // it ends that one
			}
		}
		if raw, err := os.ReadFile(filepath.Join(w.cfg.CoreNotices.Path, ledger.NoticeFile(id))); err == nil {
			n, told = n+1, told+1
			var x schemas.Notice
			if err := schemas.DecodeStrict(raw, &x); err != nil || x.RequestID != id {
				v.note(&v.half, "the notice of %s: %v", id, err)
			}
			if x.Stage == schemas.StageRecalled && slices.ContainsFunc(results, func(r string) bool {
				return filepath.Base(r) == x.ResultID+spool.ResultSuffix
			}) {
				n-- // it ends that one
			}
		}
		switch {
		case n == 0:
			v.note(&v.lost, "%s has no answer", id)
		case n > 1:
			v.note(&v.twice, "%s has %d answers", id, n)
		}
	}
	if all, err := os.ReadDir(w.cfg.CoreNotices.Path); err != nil || len(all) != told {
		v.note(&v.half, "%d files lie in CORE's folder of notices, want %d: %v", len(all), told, err)
	}
}

func mustWorld(t *testing.T, sc scenario) *world {
	t.Helper()
	w, err := newWorld(sc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.remove)
	return w
}
