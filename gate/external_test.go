package gate_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// asked is a question that a filter got.
type asked struct {
	Version int    `json:"version"`
	Result  string `json:"result"`
	Channel string `json:"channel"`
	Offset  int64  `json:"offset"`
	SHA256  string `json:"sha256"`
	Text    string `json:"text"`
	Base64  []byte `json:"base64"`
}

// house is a filter that names each "nordlicht", and refuses a result that holds "topsecret". It
// closes the first connections without an answer.
type house struct {
	socket string
	mu     sync.Mutex
	silent int
	heard  []asked
}

func newHouse(t *testing.T, silent int) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "f") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &house{socket: filepath.Join(dir, "s"), silent: silent}
	l, err := net.Listen("unix", h.socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go h.answer(c)
		}
	}()
	return h
}

func (h *house) answer(c net.Conn) {
	defer c.Close()
	var q asked
	if json.NewDecoder(c).Decode(&q) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent > 0 {
		h.silent--
		return
	}
	h.heard = append(h.heard, q)
	text := q.Text + string(q.Base64)
	found := []map[string]any{}
	for word, tier := range map[string]string{"nordlicht": "withhold", "topsecret": "refuse"} {
		for at := 0; strings.Contains(text[at:], word); at += len(word) {
			at += strings.Index(text[at:], word)
			found = append(found, map[string]any{"from": at, "to": at + len(word), "tier": tier, "reason": "a word of ours"})
		}
	}
	_ = json.NewEncoder(c).Encode(map[string]any{"version": 1, "sha256": q.SHA256, "findings": found})
}

func (h *house) config() string {
	return "results: {external: [{name: house, socket: " + h.socket + "}]}\n"
}

// TestFiltersJudgeEachChannel: what a filter names is withheld wherever it stands.
func TestFiltersJudgeEachChannel(t *testing.T) {
	h := newHouse(t, 0)
	filler := strings.Repeat("a row of the table\n", 1<<16) // more than one question holds
	got := hear(t, h.config(), map[string]string{"files": "- /out/n.md: for nordlicht\n- /out/m.bin: more"},
		map[string]map[string]string{
			"long":  {"stdout": filler + "by nordlicht\nend\n", "stderr": "of nordlicht\n"},
			"files": {"out/n.md": "# nordlicht\n", "out/m.bin": "\xff\xfefine\x00", "out/nordlicht.txt": "x"},
			"good":  {"stdout": "4 rows\n"},
			"bad":   {"stdout": "4 rows\ntopsecret\n"},
		})
	for word, want := range map[string]string{"long": "withheld", "files": "withheld", "good": "delivered",
		"bad": "refused"} {
		g := got[word]
		if g.verdict() != want || !slices.Equal(g.event.Filters, []string{"house"}) {
			t.Errorf("%s is %s: %+v", word, g.verdict(), g.event)
		}
		if g.result != nil && strings.Contains(g.doc+g.streams(t), "nordlicht") {
			t.Errorf("%s: CORE got it:\n%s", word, g.doc)
		}
	}
	if r := got["bad"].event.Rules; !slices.Equal(r, []string{"result.external"}) {
		t.Error(r)
	}
	if out := got["files"].result.Outputs; len(out) != 1 || out[0].Path != "/out/m.bin" {
		t.Errorf("%+v", out)
	}
	w := got["long"].result.Stderr.Withheld
	if len(w) != 1 || w[0].Rule != "result.external" || w[0].First != 1 || w[0].Last != 1 {
		t.Errorf("%+v", w)
	}
	var r gate.FilterRecord
	b, err := os.ReadFile(filepath.Join(got["long"].job, ledger.FileFilters))
	must(t, err)
	must(t, json.Unmarshal(b, &r))
	if len(r.Answers) < 3 || r.Tries != 0 {
		t.Errorf("%d answers, %d tries", len(r.Answers), r.Tries)
	}
}

// TestAFilterIsWaitedFor: a result waits for a filter that does not answer, and nothing is
// asked twice.
func TestAFilterIsWaitedFor(t *testing.T) {
	h := newHouse(t, 7)
	got := hear(t, h.config(), nil, map[string]map[string]string{"late": {"stdout": "of nordlicht\n", "stderr": "fine\n"}})["late"]
	if got.verdict() != "withheld" {
		t.Errorf("%+v", got.event)
	}
	seen := map[string]int{}
	for _, q := range h.heard {
		if seen[q.SHA256]++; seen[q.SHA256] > 1 || q.Version != 1 || q.Result != got.event.ResultID {
			t.Errorf("asked again, or wrongly: %+v", q)
		}
	}
}

// TestAFilterThatNeverAnswers: the result is refused in the end, never delivered unjudged.
func TestAFilterThatNeverAnswers(t *testing.T) {
	h := newHouse(t, 1<<30)
	got := hear(t, h.config(), nil, map[string]map[string]string{"never": {"stdout": "fine\n"}})["never"]
	if got.event.Type != ledger.ResultQuarantined || !slices.Equal(got.event.Rules, []string{"result.external"}) {
		t.Fatalf("%+v", got.event)
	}
	b, err := os.ReadFile(filepath.Join(got.job, "reasons.json"))
	must(t, err)
	if !strings.Contains(string(b), "filter house: it closed without an answer") {
		t.Errorf("%s", b)
	}
	if rule, ok := schemas.RuleByID("result.external"); !ok || rule.Hint == "" {
		t.Error(rule)
	}
}
