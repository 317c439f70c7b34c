package documents_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/cmd/internal/mcpstdio"
	"github.com/threegate/tool-exec/cmd/threegate/internal/documents"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/filter"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/validate/approval"
)

// readers are all that read JSON which somebody else may have written, each with a document that it takes. One string
// of the document is "lorem", and its first member is a number or a short string.
func readers(t *testing.T) map[string]reader {
	file := func(path string) string { // below a fresh folder
		path = filepath.Join(t.TempDir(), path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write := func(path string, raw []byte) {
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	jobID := "j01m7y2bdpdcrsgyvat4hpvd7tk"
	claim, list, held := file(jobID+"/job.json"), file(jobID+"/seal.json"), file("node/hold.json")
	answer, text := file("answer"), []byte("some text")
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	for _, dir := range []string{filepath.Dir(answer), filepath.Dir(filepath.Dir(answer))} { // a filter runs as nobody
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := approval.Plan{Version: 1, RequestID: "lorem"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]reader{
		"order": {`{"order_version":1,"name":"o1","kind":"request.cancel","subject":"TR-x","by":"ana","reason":"lorem",` +
			`"ordered_utc":"2026-02-09T16:05:01Z"}`,
			func(raw []byte) error { _, err := orders.Decode(raw); return err }},
		"answer of a filter": {`{"version":1,"sha256":"` + digest + `","findings":[{"from":1,"to":2,"reason":"lorem"}]}`,
			func(raw []byte) error {
				write(answer, raw)
				f := filter.Filter{Name: "f", Command: []string{"/bin/cat", answer}, Timeout: time.Minute}
				_, err := f.Ask(context.Background(), filter.Question{Text: text})
				return err
			}},
		"seal": {`{"version":1,"job":"lorem","entries":[]}`, func(raw []byte) error {
			write(list, raw)
			broken, err := seal.Check(filepath.Dir(list), "")
			if err == nil && len(broken) > 0 {
				err = errors.New(broken[0].What)
			}
			return err
		}},
		"claim": {`{"version":1,"id":"` + jobID + `","origin":{"inbox":"lorem","name":"TR-x.md",` +
			`"claimed_at":"2026-02-09T16:05:01Z","uid":0,"size":1,"mod_time":"2026-02-09T16:05:01Z"},"has_request":true,` +
			`"size":1,"sha256":"x","has_signature":false,"inputs":[]}`, func(raw []byte) error {
			write(claim, raw)
			_, err := spool.ReadClaim(filepath.Dir(claim))
			return err
		}},
		"hold": {`{"hold_version":1,"by":"ana","reason":"lorem","since_utc":"2026-02-09T16:05:01Z"}`,
			func(raw []byte) error {
				write(held, raw)
				cfg := &config.Node{}
				cfg.Dir = filepath.Dir(held)
				holds, err := hold.List(cfg)
				if err == nil && holds[0].Damage != "" {
					err = errors.New(holds[0].Damage)
				}
				return err
			}},
		"reasons": {`{"version":1,"item":"i","kind":"request","stage":"claim","original_name":"lorem","inbox":"d","size":1,` +
			`"received_at":"2026-02-09T16:05:01Z","refused_at":"2026-02-09T16:05:01Z","findings":[]}`,
			func(raw []byte) error { _, err := quarantine.Decode(raw); return err }},
		"plan of a request": {string(plan), func(raw []byte) error { _, err := approval.ParsePlan(raw); return err }},
		"refusal": {`{"version":1,"request_id":"TR-x","request_sha256":"x","refused_by":"ana",` +
			`"refused_utc":"2026-02-09T16:05:01Z","reason":"lorem"}`,
			func(raw []byte) error { _, err := documents.RefusalReason(raw); return err }},
		"MCP message": {`{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"lint","arguments":{"text":"lorem"}}}`,
			mcpstdio.Strict},
		"plan of tools, short": {`{"request_id":"1","tool":"file_read","args":{"path":"lorem"}}`,
			func(raw []byte) error { _, err := draft.Plan("p", raw, nil, time.Unix(1, 0)); return err }},
		"plan of tools": {`{"timestamp":1,"type":"ToolRequest","tool":"fs_list","args":{"path":"lorem"},"request_id":"1",` +
			`"session_id":"s"}`, func(raw []byte) error {
			calls, err := contract.ReadPlan(raw)
			if err == nil && len(calls) != 1 {
				err = errors.New("not one call")
			}
			return err
		}},
		"job of Monty": {`{"code":"lorem","inputs":{"a":1},"limits":{"max_duration_sec":1,"max_memory_bytes":1},"monty":"/m"}`,
			func(raw []byte) error { _, err := monty.ReadJob(strings.NewReader(string(raw))); return err }},
		"notice": {`{"notice_version":1,"job":"lorem","stage":"refused","created_utc":"2026-02-09T16:05:01Z","rules":[]}`,
			func(raw []byte) error {
				var n schemas.Notice
				err := schemas.DecodeStrict(raw, &n)
				if err == nil && n.Version != schemas.NoticeVersion {
					err = errors.New("of another version")
				}
				return err
			}},
	}
}

type reader struct {
	good string
	read func(raw []byte) error
}

var (
	firstMember = regexp.MustCompile(`^\{\s*("([a-z])([a-z_]*)":\s*[^,]+),`)
	firstNumber = regexp.MustCompile(`:\s*1\b`)
)

// All readers of JSON take and refuse the same documents: those that some other program would read otherwise, or
// not at all, are refused.
func TestReadersAgree(t *testing.T) {
	hostile := map[string]func(good string) string{
		"a key twice": func(s string) string { return "{" + firstMember.FindStringSubmatch(s)[1] + ", " + s[1:] },
		"a key twice, escaped": func(s string) string {
			return firstMember.ReplaceAllStringFunc(s, func(m string) string {
				f := firstMember.FindStringSubmatch(m)
				return fmt.Sprintf(`{"\u%04x%s": 1, `, f[2][0], f[3]) + m[1:]
			})
		},
		"a key in other case": func(s string) string {
			f := firstMember.FindStringSubmatch(s)
			return strings.Replace(s, `"`+f[2]+f[3], `"`+strings.ToUpper(f[2])+f[3], 1)
		},
		"a key in two cases": func(s string) string {
			f := firstMember.FindStringSubmatch(s)
			return strings.Replace(s, "{", "{"+strings.Replace(f[1], `"`+f[2], `"`+strings.ToUpper(f[2]), 1)+", ", 1)
		},
		"an unknown key":        func(s string) string { return strings.Replace(s, "{", `{"zz": 1, `, 1) },
		"half a surrogate pair": func(s string) string { return strings.Replace(s, "lorem", `\ud83d`, 1) },
		"a pair in wrong order": func(s string) string { return strings.Replace(s, "lorem", `\ude00\ud83d`, 1) },
		"no UTF-8":              func(s string) string { return strings.Replace(s, "lorem", "l\xffm", 1) },
		"an encoded surrogate":  func(s string) string { return strings.Replace(s, "lorem", "\xed\xa0\x80", 1) },
		"a control character":   func(s string) string { return strings.Replace(s, "lorem", "\x01", 1) },
		"something behind it":   func(s string) string { return s + " x" },
		"two values":            func(s string) string { return s + s },
		"a NUL behind it":       func(s string) string { return s + "\x00" },
		"half of it":            func(s string) string { return s[:len(s)/2] },
		"a deep value": func(s string) string {
			return strings.Replace(s, `"lorem"`, strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), 1)
		},
		"a huge number":     func(s string) string { return firstNumber.ReplaceAllString(s, ": 1e999") },
		"a number as text":  func(s string) string { return firstNumber.ReplaceAllString(s, `: "1"x`) },
		"a number with +":   func(s string) string { return firstNumber.ReplaceAllString(s, ": +1") },
		"a comment":         func(s string) string { return strings.Replace(s, "{", "{/* x */", 1) },
		"a comma too much":  func(s string) string { return strings.TrimRight(s, "}\n") + ",}" },
		"a byte order mark": func(s string) string { return "\xef\xbb\xbf" + s },
		"a list":            func(s string) string { return "[" + s + "]" },
		"nothing":           func(string) string { return "" },
		"null":              func(string) string { return "null" },
	}
	for name, r := range readers(t) {
		if err := r.read([]byte(r.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !json.Valid([]byte(r.good)) || !firstMember.MatchString(r.good) || !strings.Contains(r.good, "lorem") {
			t.Fatalf("%s: the document is not as this test needs it", name)
		}
		for what, change := range hostile {
			bad := change(r.good)
			if bad == r.good {
				continue // it has no number
			}
			if err := r.read([]byte(bad)); err == nil {
				t.Errorf("%s: takes %s: %.200q", name, what, bad)
			}
		}
	}
}
