package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/threegate/tool-exec/schemas"
)

var update = flag.Bool("update", false, "write the golden files anew")

// reports hold what is hard to show: tabs, wide and hidden characters, bytes
// that are no text, lines longer than a terminal, places outside the document.
func reports() []Report {
	long := strings.Repeat("left ", 60) + "HERE" + strings.Repeat(" right", 60)
	source := strings.Join([]string{
		"plain line",
		"\tcat\t/etc/passwd",
		"漢字 rm \u202e;x\u200b",
		"bad byte \xff here",
		long,
		"ends with CR\r",
	}, "\n")
	find := func(rule string, sev schemas.Severity, line, col int, msg, hint string) schemas.Finding {
		return schemas.Finding{Rule: rule, Severity: sev, Line: line, Column: col, Message: msg, Hint: hint,
			Excerpt: "an excerpt"}
	}
	const b, w, s = schemas.SeverityBlocking, schemas.SeverityWarning, schemas.SeveritySuggestion
	odd := New("dir with, comma/100%: odd\x1b[31m.md", schemas.KindRequest, []byte(source), []schemas.Finding{
		find("doc.whole", b, 0, 0, "the whole document is meant", "start again"),
		find("doc.line", w, 1, 0, "the line is meant", ""),
		find("sec.paths.host", b, 2, 6, "host path \x1b[2J", "use /in"),
		find("sec.hidden", b, 3, 11, "a hidden character", "remove it\nor write it out"),
		find("doc.utf8", b, 4, 10, "no UTF-8", "save as UTF-8"),
		find("doc.long", s, 5, 301, "in the middle of a long line", "wrap it"),
		find("doc.end", s, 6, 13, "behind the last character", ""),
		find("doc.far", s, 99, 7, "a line that there is not", "impossible"),
		find("doc.column", s, 1, 99, "a column that there is not", ""),
	})
	secret := New("secret.md", schemas.KindResult,
		[]byte("first AKIAIOSFODNN7EXAMPLE\nsecond line with AKIAIOSFODNN7EXAMPLE\n"), []schemas.Finding{
			{Rule: "secrets.scan", Severity: b, Line: 1, Column: 7, Message: "a key", Hint: "remove it",
				Excerpt: "first [AKIA… masked, 20 characters]"},
			{Rule: "doc.other", Severity: w, Line: 2, Column: 1, Message: "on another line",
				Excerpt: "second line with [AKIA… masked, 20 characters]"},
			{Rule: "doc.noexcerpt", Severity: w, Line: 2, Column: 1, Message: "without an excerpt"},
		})
	return []Report{New("good.md", schemas.KindRequest, []byte("x"), nil), odd, secret}
}

func render(t *testing.T, w Writer) {
	t.Helper()
	var sum Summary
	for _, r := range reports() {
		sum.Add(r)
		if err := w.Report(r); err != nil {
			t.Fatal(err)
		}
	}
	sum.Troubled++
	if err := w.Trouble("pipe.md", "not a regular\nfile"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(sum); err != nil {
		t.Fatal(err)
	}
}

func TestFormats(t *testing.T) {
	rules := []schemas.Rule{{ID: "sec.paths.host", Level: schemas.SeverityBlocking, Must: true, Title: "No host paths",
		Why: "why", Hint: "fix", Source: "design"}}
	for name, make := range map[string]func(*bytes.Buffer) Writer{
		"text":  func(b *bytes.Buffer) Writer { return &Text{W: b, Columns: 80} },
		"color": func(b *bytes.Buffer) Writer { return &Text{W: b, Columns: 80, Style: true} },
		"jsonl": func(b *bytes.Buffer) Writer { return &JSONL{W: b} },
		"sarif": func(b *bytes.Buffer) Writer { return NewSARIF(b, "v1.2.3", rules) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			render(t, make(&b))
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("differs from %s (-update writes it anew):\n%s", golden, b.Bytes())
			}
			if bytes.Contains(b.Bytes(), []byte("EXAMPLE")) {
				t.Error("a secret was repeated")
			}
		})
	}
}

// TestTextIsTame holds what a terminal gets against the characters that it obeys.
func TestTextIsTame(t *testing.T) {
	var b bytes.Buffer
	render(t, &Text{W: &b, Columns: 80})
	for _, r := range b.String() {
		if r < 0x20 && r != '\n' || r == 0x7f || r == '\u202e' || r == '\u200b' {
			t.Errorf("%U reached the terminal", r)
		}
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.Contains(line, "left") && len([]rune(line)) > 80 {
			t.Errorf("a line of %d columns on a terminal of 80: %q", len([]rune(line)), line)
		}
	}
}

func TestSARIFIsValid(t *testing.T) {
	var b bytes.Buffer
	render(t, NewSARIF(&b, "v1.2.3", nil))
	if _, err := sarif.FromBytes(b.Bytes(), sarif.WithStrictValidation()); err != nil {
		t.Error(err)
	}
}

func TestJSONLHasExactlyTheAgreedKeys(t *testing.T) {
	var b bytes.Buffer
	render(t, &JSONL{W: &b})
	lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	if len(lines) != len(reports()) {
		t.Fatalf("%d objects for %d files", len(lines), len(reports()))
	}
	keys := func(m map[string]any, want string) {
		t.Helper()
		if len(m) != len(strings.Fields(want)) {
			t.Errorf("keys %v, want %s", m, want)
		}
		for _, k := range strings.Fields(want) {
			if _, ok := m[k]; !ok {
				t.Errorf("no key %s in %v", k, m)
			}
		}
	}
	for _, l := range lines {
		var o map[string]any
		if err := json.Unmarshal(l, &o); err != nil {
			t.Fatal(err)
		}
		keys(o, "file kind verdict findings")
		findings, ok := o["findings"].([]any)
		if !ok {
			t.Fatalf("findings is no list: %s", l)
		}
		for _, f := range findings {
			keys(f.(map[string]any), "rule severity line column message hint")
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken pipe")

func TestWriteErrorsAreReturned(t *testing.T) {
	for name, w := range map[string]Writer{"text": &Text{W: brokenPipe{}}, "jsonl": &JSONL{W: brokenPipe{}}} {
		if err := w.Report(reports()[1]); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := NewSARIF(brokenPipe{}, "", nil).Close(Summary{}); !errors.Is(err, errBroken) {
		t.Errorf("sarif: %v", err)
	}
}
