package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// guard ends a test that waits for what never comes.
const guard = 5 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node is a record without a gate.
type node struct {
	t   *testing.T
	dir string
	l   *ledger.Ledger
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir()}
	must(t, os.Mkdir(filepath.Join(n.dir, spool.DirLedger), 0o700))
	n.open()
	return n
}

func (n *node) open() {
	n.t.Helper()
	l, err := ledger.Open(filepath.Join(n.dir, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	must(n.t, err)
	n.l = l
	n.t.Cleanup(func() { _ = l.Close() })
}

// ends records how requests ended: "delivered a", "refused b", ...; "started c" is no end.
func (n *node) ends(what ...string) {
	n.t.Helper()
	for _, w := range what {
		kind, id, _ := strings.Cut(w, " ")
		e := ledger.Event{RequestID: "TR-" + id, RequestSHA256: strings.Repeat("a", 64), RunID: "j" + id}
		switch kind {
		case "delivered":
			e.Type, e.ResultID = ledger.ResultDelivered, "TS-"+id
		case "refused":
			e.Type, e.Outcome, e.Rules = ledger.DeliveryAttempted, ledger.OutcomeRefused, []string{"request.id"}
		case "cancelled":
			e.Type, e.Outcome, e.Rules = ledger.DeliveryAttempted, ledger.OutcomeRefused, []string{ledger.RuleCancelled}
		case "result_refused":
			e.Type, e.Rules = ledger.ResultQuarantined, []string{"secrets.scan"}
		case "rejected":
			e.Type = ledger.QuarantineRejected
		case "recalled":
			e.Type, e.ResultID = ledger.ResultRecalled, "TS-"+id
		case "started":
			e.Type = ledger.RunStarted
		}
		must(n.t, n.l.Append(e))
	}
}

func (n *node) teller(h config.Hook) *teller {
	h.Name = "x"
	return &teller{hook: h, dir: n.dir, node: "test", log: slog.New(slog.DiscardHandler), poll: time.Millisecond,
		first: time.Millisecond, most: time.Millisecond, giveUp: guard}
}

// during runs a teller until done says so.
func during(t *testing.T, h *teller, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); h.run(ctx) }()
	for !done() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	late := ctx.Err() != nil
	cancel()
	<-ended
	if late {
		t.Fatal("what was waited for never came")
	}
}

// at says whether the position of the hook is that event.
func (n *node) at(seq int64) func() bool {
	return func() bool {
		var p position
		data, err := os.ReadFile(filepath.Join(n.dir, "hook.x.json"))
		return err == nil && json.Unmarshal(data, &p) == nil && p.Seq == seq
	}
}

// TestCommand tells a real program, which gets no rights, no environment, and what comes after its first start only.
func TestCommand(t *testing.T) {
	n := newNode(t)
	n.ends("delivered old")
	out := t.TempDir()
	must(t, errors.Join(os.Chmod(out, 0o777), os.Chmod(filepath.Dir(out), 0o711))) // nobody gets there
	h := n.teller(config.Hook{Command: []string{"/bin/sh", "-c",
		`set -e; cat >> "$0/told"; { id -u; env; } > "$0/who"; test ! -r "$1"`, out, filepath.Join(n.dir, "hook.x.json")}})
	during(t, h, n.at(1))
	n.ends("started a", "refused a", "delivered b", "result_refused c", "rejected c", "started d")
	during(t, h, n.at(6))
	n.ends("delivered d", "cancelled e")
	during(t, h, n.at(9))

	told, err := os.ReadFile(filepath.Join(out, "told"))
	must(t, err)
	var got []string
	for line := range strings.Lines(string(told)) {
		var m Message
		must(t, json.Unmarshal([]byte(line), &m))
		got = append(got, string(m.Answer)+" "+strings.TrimPrefix(m.RequestID, "TR-"))
		if m.Version != 1 || m.Node != "test" || m.Job == "" || m.ID == "" || m.Time.IsZero() {
			t.Errorf("told %s", line)
		}
	}
	want := []string{"refused a", "delivered b", "result_refused c", "rejected c", "delivered d", "cancelled e"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	who, err := os.ReadFile(filepath.Join(out, "who"))
	must(t, err)
	if !strings.HasPrefix(string(who), "65534\n") || strings.Contains(string(who), "HOME=") {
		t.Errorf("it ran as, and with %s", who)
	}
}

// TestToldAgainAfterACrash: a process that ends between the telling and the note of it tells once more, and skips nothing.
func TestToldAgainAfterACrash(t *testing.T) {
	n := newNode(t)
	var told []string
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Header.Get("webhook-id"))
	}))
	defer s.Close()
	secret := filepath.Join(n.dir, "secret")
	must(t, os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600))
	h := n.teller(config.Hook{URL: s.URL, SecretFile: secret})
	must(t, h.save(position{}))
	n.ends("delivered a", "refused b", "delivered c")
	during(t, h, n.at(3))
	// What a crash leaves: the position of the first answer, while two more were told.
	var first ledger.Event
	_, _, err := ledger.Read(h.ledger(), func(e ledger.Event) error {
		if e.Seq == 1 {
			first = e
		}
		return nil
	})
	must(t, err)
	must(t, h.save(position{Seq: 1, Digest: digest(first)}))
	during(t, h, n.at(3))
	was := func(count int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(told) == count
		}
	}
	if want := []string{"test-1", "test-2", "test-3", "test-2", "test-3"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	// The record lost an event that was told, and another one has its number.
	told = nil
	must(t, h.save(position{Seq: 3, Digest: strings.Repeat("0", 64)}))
	during(t, h, was(3))
	must(t, h.save(position{Seq: 9, Digest: strings.Repeat("0", 64)}))
	n.ends("delivered d")
	during(t, h, was(7))
	if want := []string{"test-1", "test-2", "test-3", "test-1", "test-2", "test-3", "test-4"}; !slices.Equal(told, want) {
		t.Errorf("after a loss told %q, want %q", told, want)
	}
}

// TestWebhook: a server that fails is asked again, in order; each message is signed, and no redirect is followed.
func TestWebhook(t *testing.T) {
	n := newNode(t)
	key := []byte("a secret of some length")
	secret := filepath.Join(n.dir, "secret")
	must(t, os.WriteFile(secret, []byte("whsec_"+base64.StdEncoding.EncodeToString(key)), 0o600))
	var mu sync.Mutex
	var taken []string
	tries := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
			t.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
		}
		switch tries++; tries {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case 3:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			var m Message
			if err := json.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			taken = append(taken, string(m.Answer)+" "+m.RequestID)
		}
	}))
	defer s.Close()
	h := n.teller(config.Hook{URL: s.URL, SecretFile: secret,
		Answers: []config.Answer{config.AnswerRefused, config.AnswerDelivered}})
	must(t, h.save(position{}))
	n.ends("refused a", "result_refused b", "delivered c")
	during(t, h, n.at(3))
	if want := []string{"refused TR-a", "delivered TR-c"}; !slices.Equal(taken, want) || tries != 5 {
		t.Errorf("%d tries, taken %q, want %q", tries, taken, want)
	}
}

// TestHostileHooks: what hangs, floods, is missing or never takes an answer ends in time with an error, and delays no
// other hook.
func TestHostileHooks(t *testing.T) {
	body := []byte("{}\n")
	sh := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	for name, c := range map[string]struct {
		command []string
		want    string
		within  time.Duration
	}{
		"hangs":          {sh("sleep 10000 & wait"), "too long", 100 * time.Millisecond},
		"is deaf":        {sh(`trap "" TERM INT HUP; while :; do :; done`), "too long", 100 * time.Millisecond},
		"fails":          {sh("echo sorry >&2; echo more >&2; exit 3"), "exit status 3: sorry", guard},
		"says escapes":   {sh(`printf '\033[2Jx' >&2; exit 1`), ": ?[2Jx", guard},
		"floods":         {sh("head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2; exit 1"), "exit status 1", guard},
		"is not there":   {[]string{"/no/such/program"}, "exit status 127", guard},
		"leaves a child": {sh("sleep 10000 >/dev/null 2>&1 & exit 0"), "", guard},
		"does not read":  {sh("exit 0"), "", guard},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), c.within)
		err := runCommand(ctx, c.command, bytes.Repeat(body, 100))
		cancel()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}

	// One that takes nothing is given up, and told of the next.
	n := newNode(t)
	h := n.teller(config.Hook{Command: sh("exit 1")})
	h.giveUp = 0
	must(t, h.save(position{}))
	n.ends("delivered a", "delivered b")
	during(t, h, n.at(2))

	// A position that can't be read is told, not guessed.
	must(t, os.WriteFile(filepath.Join(n.dir, "hook.x.json"), []byte("{"), 0o600))
	if _, err := h.begin(); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a position that can't be read: %v", err)
	}
	if err := n.teller(config.Hook{URL: "http://127.0.0.1:1/", SecretFile: "/no/such/file"}).follow(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a secret: %v", err)
	}
}

// TestStartAndStop: a hook that hangs delays neither another one nor the stop.
func TestStartAndStop(t *testing.T) {
	n := newNode(t)
	told := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("webhook-id") }))
	defer s.Close()
	secret := filepath.Join(n.dir, "secret")
	must(t, os.WriteFile(secret, []byte("0123456789abcdef"), 0o600))
	cfg := &config.Node{Dir: n.dir}
	cfg.Node.Name = "test"
	cfg.Hooks = []config.Hook{{Name: "hangs", Command: []string{"/bin/sleep", "100000"}, Timeout: 10 * time.Minute},
		{Name: "works", URL: s.URL, SecretFile: secret}}
	for _, name := range []string{"hangs", "works"} {
		must(t, durable.ReplaceFile(n.dir, "hook."+name+".json", []byte(`{"position_version":1}`), 0o600))
	}
	n.ends("delivered a")
	stop := Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
	select {
	case id := <-told:
		if id != "test-1" {
			t.Errorf("told %s", id)
		}
	case <-time.After(guard):
		t.Error("the hook that works was told nothing")
	}
	stop()
}
