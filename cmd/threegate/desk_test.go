package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// markup is what acts where it is taken for more than text.
const markup = `"'><script>document.documentElement.setAttribute("ran","1")</script><img src=x onerror=alert(1)>` +
	`<iframe src="https://evil.example/"></iframe><a href="javascript:alert(1)">x</a></style>{{.}}` + "\x1b[31m\u202e\x00\xff"

// hostileNode makes a node with markup in every text that the desk shows, and lines of a megabyte where they fit.
// It counts as served while the test goes on.
func hostileNode(t *testing.T) string {
	t.Helper()
	node := filepath.Join(t.TempDir(), "node")
	if out, err := exec.Command("threegate", "init", node, "--images", "no-images").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	long := markup + strings.Repeat("A", 1<<20)
	jobs := []string{"j01m7y2bdpdcrsgyvat4hpvd7tk", "j01m7y2bdpdcrsgyvat4hpvd7tm", "j01m7y2bdpdcrsgyvat4hpvd7tn",
		"j01m7y2bdpdcrsgyvat4hpvd7tp"}
	code := 1
	l, err := ledger.Open(filepath.Join(node, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	check(t, err)
	admit := func(job, id string) ledger.Event {
		return ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RunID: job, RequestID: id,
			Requester: markup, Approvers: []approval.Approver{{Name: markup, How: markup, Fingerprint: markup}},
			Backend: schemas.Backend(markup)}
	}
	check(t, errors.Join(l.Append(
		admit(jobs[0], "TR-told"),
		ledger.Event{Type: ledger.RunStarted, RunID: jobs[0], RequestID: "TR-told", Image: markup},
		ledger.Event{Type: ledger.EgressDecided, RunID: jobs[0], RequestID: "TR-told", Decision: markup, Destination: markup},
		ledger.Event{Type: ledger.RunFailed, RunID: jobs[0], RequestID: "TR-told", ExitCode: &code, Cause: schemas.CauseExit},
		ledger.Event{Type: ledger.ResultDelivered, RunID: jobs[0], RequestID: "TR-told", ResultID: "TS-1-TR-told",
			Withheld: 1, By: markup, Reason: markup},
		ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, RunID: jobs[1], RequestID: "TR-refused",
			Rules: []string{markup, "sec.hidden"}},
		ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, RunID: jobs[2], Rules: []string{markup}},
		admit(jobs[3], "TR-"+markup),
	), l.Close()))
	put := func(path string, v any) {
		t.Helper()
		b, err := json.Marshal(v)
		check(t, err)
		path = filepath.Join(node, path)
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)))
	}
	archived := filepath.Join("archive", time.Now().UTC().Format("2006/01"), jobs[0])
	put(filepath.Join(archived, ledger.FileAdmission), view.Admitted{Request: schemas.Request{Purpose: long, Language: long,
		Argv: []string{long, markup}, Code: strings.Repeat(markup+"\n", 500) + long, Network: schemas.Network(markup),
		Inputs:  []schemas.Input{{Path: markup, SHA256: long}},
		Outputs: []schemas.OutputExpectation{{Path: markup, Description: long}}},
		Findings: []schemas.Finding{{Rule: markup, Message: long}}})
	put(filepath.Join(archived, ledger.FileWithheld), result.WithheldRecord{Version: 1, Withheld: []result.Withheld{
		{Channel: markup, Rule: markup, Why: long, File: "stdout", To: 4000}}})
	check(t, os.WriteFile(filepath.Join(node, archived, "stdout"), []byte(long), 0o600))
	for _, job := range jobs[1:3] {
		f := schemas.Finding{Rule: markup, Severity: schemas.SeverityBlocking, Message: long, Hint: long, Excerpt: long}
		r := quarantine.Reasons{Item: job, Kind: schemas.KindRequest, RequestID: markup, OriginalName: long, Inbox: markup,
			SHA256: markup, ApprovedBy: markup, RefusedAt: time.Now(), Findings: []schemas.Finding{f, f}}
		doc, _, err := r.Encode()
		check(t, err)
		put(filepath.Join(spool.DirQuarantineRequests, job, quarantine.FileJSON), json.RawMessage(doc))
	}
	put("hold.json", map[string]any{"hold_version": 1, "by": markup, "reason": long})
	put(trouble.File, trouble.Status{Troubles: []trouble.Trouble{{What: markup, Request: markup, Doing: long, Error: long, Hint: long}},
		Stuck: []spool.Stuck{{Inbox: markup, Name: markup, Reason: long}}})
	release, err := spool.Hold(node)
	check(t, err)
	t.Cleanup(func() { _ = release() })
	return node
}

// deskPages are the pages of the desk of hostileNode, below its address.
var deskPages = []string{"", "quarantine", "node", "request/TR-told", "request/TR-refused",
	"item/j01m7y2bdpdcrsgyvat4hpvd7tn", "request/TR-unknown", "item/..%2f..%2fledger"}

// tags are the elements that the desk's own pages are made of.
var tags = strings.Fields("html head meta title link body a header p span nav main h1 h2 h3 ul ol li b section div dl dt dd " +
	"pre code time progress svg line rect text details summary table thead tbody tr th td footer")

// TestDesk: whatever a node holds, a page of the desk is made of the desk's own elements, and is bounded.
func TestDesk(t *testing.T) {
	url := started(t, "desk", "--node", hostileNode(t))
	element, handler := regexp.MustCompile(`<([a-zA-Z0-9]+)`), regexp.MustCompile(`(?i)<[^>]*(\son\w+=|style=|(href|src)="\s*javascript:)`)
	for _, page := range deskPages {
		r, err := http.Get(url + page)
		check(t, err)
		body, err := io.ReadAll(r.Body)
		check(t, errors.Join(err, r.Body.Close()))
		want := 200
		if strings.Contains(page, "unknown") || strings.Contains(page, "..") {
			want = 404
		}
		if r.StatusCode != want || len(body) > 1<<20 {
			t.Errorf("%s: %s, %d bytes: %s", page, r.Status, len(body), regexp.MustCompile(`<p class="empty">.*`).Find(body))
		}
		for _, m := range element.FindAllStringSubmatch(string(body), -1) {
			if !slices.Contains(tags, m[1]) {
				t.Errorf("%s: an element %s", page, m[1])
			}
		}
		if m := handler.Find(body); m != nil {
			t.Errorf("%s: %s", page, m)
		}
		if strings.ContainsAny(string(body), "\x00\x1b\u202e") {
			t.Errorf("%s: a hidden character", page)
		}
		if p := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; style-src 'self';") {
			t.Errorf("%s: the policy is %q", page, p)
		}
		if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", page, r.Header)
		}
	}
	for method, want := range map[string]int{"HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405} {
		req, err := http.NewRequest(method, url+"node", nil)
		check(t, err)
		r, err := http.DefaultClient.Do(req)
		check(t, err)
		if r.Body.Close(); r.StatusCode != want {
			t.Errorf("%s: %s", method, r.Status)
		}
	}
	base, token, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"), "/")
	for _, path := range []string{"/", "/node", "/" + token, "/" + token[1:] + "/", "/" + strings.ToLower(token) + "/",
		"/" + token + "x/node", "//" + token + "/", "/style.css"} {
		r, err := http.Get("http://" + base + path)
		check(t, err)
		body, err := io.ReadAll(r.Body)
		if check(t, errors.Join(err, r.Body.Close())); r.StatusCode != 404 || strings.Contains(string(body), token) {
			t.Errorf("%s: %s: %s", path, r.Status, body)
		}
	}
}

// TestDeskURLFile: the address goes to a file in place of stdout, anew at each start, and to nobody else.
func TestDeskURLFile(t *testing.T) {
	dir := t.TempDir()
	node, file := filepath.Join(dir, "node"), filepath.Join(dir, "url")
	out, err := exec.Command("threegate", "init", node, "--images", "no-images").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	last := ""
	for range 2 {
		cmd := exec.Command("threegate", "desk", "--node", node, "--url-file", file)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		check(t, cmd.Start())
		url := ""
		for end := time.Now().Add(doorGuard); url == "" || url == last; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("there is no address")
			}
			raw, _ := os.ReadFile(file)
			url = strings.TrimSpace(string(raw))
		}
		last = url
		info, err := os.Stat(file)
		check(t, err)
		if info.Mode().Perm() != 0o640 {
			t.Errorf("mode %o", info.Mode().Perm())
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if said.Len() > 0 && strings.Contains(said.String(), "http") {
			t.Errorf("it says %s", said.String())
		}
	}
}
