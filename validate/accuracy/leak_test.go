package accuracy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// pieceLen is how many characters of a secret in a row are a leak. Of its core, that
// is: what every secret of a kind begins with ("ghp_", a JWT's header, the first
// line of a PEM block) tells nobody anything.
const pieceLen = 6

var pemBody = regexp.MustCompile(`[A-Za-z0-9+/]{40,}`)

// cores are the secrets of a case without what they share with others.
func cores(c *corpusCase) (out []string) {
	for _, s := range c.secrets {
		if head, rest, ok := strings.Cut(s, "."); ok && strings.HasPrefix(head, "eyJ") {
			s = rest
		} else if len(s) > 4 {
			s = s[4:]
		}
		out = append(out, s)
	}
	if strings.Contains(c.text, "PRIVATE KEY") {
		for _, s := range pemBody.FindAllString(c.text, -1) {
			if !digests.MatchString(s) { // PuTTY's check sum of a key is none
				out = append(out, s)
			}
		}
	}
	return out
}

// digests are in many texts, and hold by chance what a hexadecimal secret holds.
var digests = regexp.MustCompile(`[0-9a-f]{64}`)

// leak returns a piece of a core that text holds.
func leak(text []byte, cores []string) string {
	text = digests.ReplaceAll(text, nil)
	text = bytes.ReplaceAll(text, []byte(quarantine.HeldNote), nil) // has words that seed phrases have, too
	for _, c := range cores {
		for i := 0; i+pieceLen <= len(c); i++ {
			if p := c[i : i+pieceLen]; !strings.Contains(p, "\n") && bytes.Contains(text, []byte(p)) {
				return p
			}
		}
	}
	return ""
}

// teller is an executor whose programs print the text of a case: that of the
// number in their arguments.
type teller struct {
	cases []*corpusCase
	mu    sync.Mutex
	tasks map[string]executors.Task
}

func (e *teller) Identity(context.Context, executors.Task) (executors.Identity, error) {
	return executors.Identity{Backend: "ERA/1", Runtime: "none", Image: "sha256:" + strings.Repeat("0", 64)}, nil
}

func (e *teller) Ready(executors.Task) bool { return false }

func (e *teller) Prepare(_ context.Context, t executors.Task) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tasks[t.ID] = t
	return nil
}

func (e *teller) Start(context.Context, string) error { return nil }

func (e *teller) State(_ context.Context, id string) (executors.State, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.tasks[id]; !ok {
		return executors.StateAbsent, nil
	}
	return executors.StateExited, nil
}

func (e *teller) Wait(ctx context.Context, id string) (o executors.Outcome, err error) {
	o.Identity, err = e.Identity(ctx, executors.Task{})
	o.Cause, o.StartedAt, o.FinishedAt, o.Wall = schemas.CauseNone, asOf, asOf.Add(time.Second), time.Second
	return o, err
}

func (e *teller) Kill(context.Context, string) error { return nil }

func (e *teller) Collect(_ context.Context, id, dst string) (c executors.Collected, err error) {
	e.mu.Lock()
	t := e.tasks[id]
	e.mu.Unlock()
	printed := "nothing\n"
	if len(t.Argv) > 0 {
		if n, err := strconv.Atoi(t.Argv[len(t.Argv)-1]); err == nil {
			printed = e.cases[n].text
		}
	}
	of := func(s string) executors.Stream {
		sum := sha256.Sum256([]byte(s))
		return executors.Stream{Total: int64(len(s)), Kept: int64(len(s)), SHA256: hex.EncodeToString(sum[:])}
	}
	c.Stdout, c.Stderr = of(printed), of("")
	return c, errors.Join(os.WriteFile(filepath.Join(dst, "stdout"), []byte(printed), 0o600),
		os.WriteFile(filepath.Join(dst, "stderr"), nil, 0o600), os.MkdirAll(filepath.Join(dst, "out"), 0o700))
}

func (e *teller) Cleanup(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tasks, id)
	return nil
}

func (e *teller) List(context.Context) ([]string, error) { return nil, nil }

const leakConfig = `version: 1
node: {name: leaks, wait_for_writers: 0s}
approvals: {max_age: 0s}
backends: {era: {languages: {python: {image: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}}
`

// leakDocument is the request of a case: it holds the secret, or its run prints it.
func leakDocument(c *corpusCase, n int) []byte {
	doc := []byte(request("ERA", fmt.Sprintf("\n## Command\n\npython a.py %d\n", n)+inputNone, modest))
	if c.where != inResult {
		_, doc = document(c.where, c.text)
	}
	return bytes.Replace(doc, []byte("TR-20260209-160501Z-accuracy"), []byte(leakID(n)), 1)
}

func leakID(n int) string { return fmt.Sprintf("TR-20260209-160501Z-c%05d", n) }

// one is how many secrets there are to one that is tried in every way: n with -all, else m.
func one(n, m int) int {
	if *all {
		return n
	}
	return m
}

// TestSecretsReachNobody takes every secret of the corpus through a whole node, in
// requests and in results, and looks at all that people and programs get to see of
// it: findings, reason files, the ledger, the log, and what the commands print.
func TestSecretsReachNobody(t *testing.T) {
	var cases []*corpusCase
	lines := map[string]int{}
	for _, c := range readCorpus(t) {
		if _, ok := lines[c.source]; !ok {
			lines[c.source] = len(lines)
		}
		switch c.variant {
		case "raw", "inputs":
		case "raw in JSON", "base64", "base64 wrapped", "percent", "prose", "argument", "literal":
			if lines[c.source]%one(3, 30) > 0 { // what hides a secret in these forms does not ask for its kind
				continue
			}
		default:
			continue
		}
		if len(cores(c)) > 0 {
			cases = append(cases, c)
		}
	}
	if len(cases) < 500 {
		t.Fatalf("only %d cases", len(cases))
	}
	tmp, err := os.MkdirTemp("/dev/shm", "threegate-leaks-")
	if err != nil {
		tmp = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	dir, docs := filepath.Join(tmp, "node"), filepath.Join(tmp, "docs")
	if err := errors.Join(spool.Init(dir), os.Mkdir(docs, 0o755),
		os.WriteFile(filepath.Join(dir, config.FileName), []byte(leakConfig), 0o640)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		b := leakDocument(c, i)
		if err := errors.Join(os.WriteFile(filepath.Join(docs, leakID(i)+".md"), b, 0o644),
			os.WriteFile(filepath.Join(cfg.Inboxes[0].Path, leakID(i)+".md"), b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	serve(t, cfg, cases, &log)

	// What lies in quarantine with a document is about that document.
	byID := map[string]*corpusCase{}
	for i, c := range cases {
		byID[leakID(i)] = c
	}
	items := quarantined(t, dir)
	delivered := inbound(t, dir)
	if len(items)+len(delivered) < len(cases)*9/10 || len(delivered) < len(cases)/10 {
		t.Fatalf("%d of %d are in quarantine, %d results are delivered", len(items), len(cases), len(delivered))
	}
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(args ...string) []byte {
		out, _ := exec.Command("../../bin/threegate", args...).CombinedOutput() // the exit code says what came of it
		if len(out) == 0 {
			t.Errorf("%v printed nothing", args)
		}
		return out
	}
	check := func(c *corpusCase, what string, text []byte) {
		if leak(text, cores(c)) != "" {
			t.Errorf("%s [%s]: %s holds a piece of the secret", c.source, c.variant, what)
		}
	}
	for request, text := range delivered { // the secret is masked in it
		check(byID[request], "the result", text)
	}
	for n, it := range items {
		c := byID[it.request]
		for _, f := range []string{"reasons.json", "REASONS.md"} {
			b, err := os.ReadFile(filepath.Join(it.dir, f))
			if err != nil {
				t.Fatal(err)
			}
			check(c, f, b)
		}
		if n%one(3, 30) == 0 { // each secret comes in nine forms
			check(c, "quarantine show", run("quarantine", "show", filepath.Base(it.dir), "--node", dir))
		}
		if n%one(10, 100) == 0 {
			check(c, "quarantine show --json", run("quarantine", "show", filepath.Base(it.dir), "--node", dir,
				"--json"))
			check(c, "wait", run("wait", it.request, "--node", dir, "--timeout", "1s"))
			check(c, "promote", run("promote", filepath.Join(docs, it.request+".md"), "--node", dir))
		}
	}
	// The rest is about all of them at once.
	var reports []byte
	for _, args := range [][]string{
		{"lint", docs}, {"lint", docs, "--format", "jsonl"}, {"lint", docs, "--format", "sarif"},
		{"status", "--node", dir}, {"status", "--node", dir, "--json"}, {"events", "--node", dir},
		{"events", "--node", dir, "--json"}, {"quarantine", "list", "--node", dir},
		{"quarantine", "list", "--node", dir, "--json"},
	} {
		reports = append(reports, run(args...)...)
	}
	segments, err := filepath.Glob(filepath.Join(dir, spool.DirLedger, "*.jsonl"))
	if err != nil || len(segments) == 0 {
		t.Fatal("no ledger", err)
	}
	for _, s := range segments {
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, b...)
	}
	reports = digests.ReplaceAll(append(reports, log.Bytes()...), nil)
	// A hexadecimal secret meets other hexadecimal numbers of so much text by chance:
	// longer pieces count here.
	const long = 10
	seen := map[string]bool{}
	for i := 0; i+long <= len(reports); i++ {
		seen[string(reports[i:i+long])] = true
	}
	for _, c := range cases {
		for _, core := range cores(c) {
			for i := 0; i+long <= len(core); i++ {
				if seen[core[i:i+long]] {
					t.Errorf("%s [%s]: lint, status, events, the ledger or the log hold a piece of the secret",
						c.source, c.variant)
					i = len(core)
				}
			}
		}
	}
	t.Logf("%d secrets, %d items in quarantine, %d bytes of reports", len(cases), len(items), len(reports))
}

// serve runs a node until nothing waits any more.
func serve(t *testing.T, cfg *config.Node, cases []*corpusCase, log *bytes.Buffer) {
	t.Helper()
	var mu sync.Mutex
	g, err := gate.Open(cfg, gate.Options{Executor: &teller{cases: cases, tasks: map[string]executors.Task{}},
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{mu: &mu, b: log},
			&slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	deadline := time.Now().Add(20 * time.Minute)
	for left := len(cases); left > 0; left = waiting(cfg) {
		select {
		case err := <-done:
			t.Fatal("the node ended: ", err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs are left", left)
		}
	}
	stop()
	if err := errors.Join(<-done, g.Close()); err != nil {
		t.Fatal(err)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// waiting counts what is not done yet.
func waiting(cfg *config.Node) (n int) {
	files, _ := filepath.Glob(filepath.Join(cfg.Inboxes[0].Path, "TR-*.md"))
	jobs, _ := filepath.Glob(filepath.Join(cfg.Dir, "spool", "*", "*"))
	return len(files) + len(jobs)
}

// inbound is all that CORE gets for each request, without digests.
func inbound(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(dir, spool.DirCoreInbound), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		id := requestID.FindString(path)
		out[id] = append(out[id], digests.ReplaceAll(b, nil)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type quarantineItem struct{ dir, request string }

var requestID = regexp.MustCompile(`TR-20260209-160501Z-c\d{5}`)

// quarantined lists what was refused, by the request that it belongs to.
func quarantined(t *testing.T, dir string) (out []quarantineItem) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "quarantine"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "reasons.json" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "request.md"))
		if err != nil {
			return err
		}
		out = append(out, quarantineItem{filepath.Dir(path), string(requestID.Find(b))})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
