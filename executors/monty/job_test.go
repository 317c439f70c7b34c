package monty

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

func TestReadJob(t *testing.T) {
	j, err := ReadJob(strings.NewReader(`{"code": "1", "inputs": {"a": 10000000000000000001}, "limits": ` +
		`{"max_duration_sec": 1.5, "max_memory_bytes": 1024}, "monty": "/m"}` + "\n"))
	if err != nil || j.Code != "1" || string(j.Inputs) != `{"a": 10000000000000000001}` ||
		j.Limits.MaxDurationSec != 1.5 || j.Limits.MaxMemoryBytes != 1024 || j.Monty != "/m" {
		t.Errorf("%+v, %v", j, err)
	}
	const good = `{"code": "1", "limits": {"max_duration_sec": 1, "max_memory_bytes": 1}, "monty": "/m"}`
	for doc, want := range map[string]string{
		``:         "EOF",
		good + "x": "after top-level value",
		strings.Replace(good, `sec": 1`, `sec": 0`, 1):      "max_duration_sec",
		strings.Replace(good, `sec": 1`, `sec": 1e99`, 1):   "max_duration_sec",
		strings.Replace(good, `bytes": 1`, `bytes": -1`, 1): "max_memory_bytes",
		strings.Replace(good, `/m`, ``, 1):                  "monty names no interpreter",
		`{"code": "1", "extra": 1}`:                         "unknown object member name",
		`{"code": 1}`:                                       "JSON number into Go string",
		`"` + strings.Repeat("x", maxJob) + `"`:             "larger than",
		good + strings.Repeat(" ", maxJob):                  "larger than",
	} {
		_, err := ReadJob(strings.NewReader(doc))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", doc, err, want)
		}
	}
}

// TestTraceback renders what the interpreter would not send by itself.
func TestTraceback(t *testing.T) {
	preview, name, msg := "  x = 1", "f\"", "boom"
	frame := &wire.Frame{Filename: "<python-input-3>", Start: &wire.Location{Line: 1, Column: 1},
		End: &wire.Location{Line: 1, Column: 4_000_000_000}, FrameName: &name, PreviewLine: &preview}
	got := traceback(&wire.Exception{ExcType: "E", Message: &msg, Traceback: []*wire.Frame{frame}})
	if len(got) > maxCaret+200 || !strings.HasPrefix(got,
		"Traceback (most recent call last):\n  File \"code.py\", line 1, in f\"\n    x = 1\n    ~~~") ||
		!strings.HasSuffix(got, "~\nE: boom\n") {
		t.Errorf("%.200s (%d bytes)", got, len(got))
	}
	var many []*wire.Frame
	for i := range 5000 {
		many = append(many, &wire.Frame{Filename: "a", Start: &wire.Location{Line: uint32(i)}})
	}
	got = traceback(&wire.Exception{ExcType: "E", Traceback: many})
	if !strings.Contains(got, "  [4000 more frames]\nE\n") || strings.Count(got, "\n") != 1003 {
		t.Errorf("%d lines, ends with %q", strings.Count(got, "\n"), got[len(got)-60:])
	}
	if got := traceback(&wire.Exception{ExcType: "E"}); got != "E\n" {
		t.Errorf("without frames: %q", got)
	}
}

func FuzzInputs(f *testing.F) {
	for _, s := range []string{
		`{"a": 1, "b": [1.5, null, true, "x"], "c": {"d": {}}}`,
		`{"a": 1e400}`,
		`{"a": -0}`,
		`[]`,
		`null`,
		`{"a": 1, "a": 2}`,
		"{\"a\": \"\\ud800\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vars, err := inputs(b)
		if err != nil {
			if vars != nil {
				t.Fatalf("variables with the error %v", err)
			}
			return
		}
		for _, v := range vars {
			out, err := encodeResult(v.Value)
			if err != nil && strings.Contains(err.Error(), "digits") {
				continue
			}
			if err != nil {
				t.Fatalf("%s: an input can't be delivered back: %v", v.Name, err)
			}
			if _, err := inputs([]byte(`{"x": ` + string(out) + `}`)); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
		}
	})
}
