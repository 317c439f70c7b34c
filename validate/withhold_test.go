package validate_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
)

const tag = "5f1c9e02ab34cd56"

// withheldResult is a result of which something is withheld.
func withheldResult() *schemas.Result {
	r := sampleResult()
	r.Fence = tag
	r.Stdout.Withheld = []schemas.Withheld{{Rule: "result.instruction.fetch", First: 1, Last: 1, Bytes: 84, At: 4},
		{Rule: "result.claims.policy", First: 3, Last: 12, Bytes: 840, At: 9}}
	r.Outputs[0].Description = schemas.Withheld{Rule: "result.instruction.execute", Bytes: 7}.Marker()
	r.Safety.Unexpected[1] = "of *odd* names: " + r.Outputs[0].Description + "."
	return r
}

func TestWithheldRoundTrip(t *testing.T) {
	raw := render(t, withheldResult())
	r, fs := validate.Result("", raw, policy())
	if !reflect.DeepEqual(r, withheldResult()) {
		t.Errorf("read back:\n%+v\nwant\n%+v\n%+v\n%s", r, withheldResult(), fs, raw)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	p := policy()
	p.MaxStreamLines = 0
	for range 500 {
		want := randomResult(rnd)
		want.Fence = fmt.Sprintf("%016x", rnd.Uint64())
		for range rnd.IntN(4) {
			want.Stdout.Withheld = append(want.Stdout.Withheld, schemas.Withheld{Rule: "result.claims.policy",
				First: 1 + rnd.IntN(3), Last: 3 + rnd.IntN(3), Bytes: rnd.IntN(99), At: rnd.IntN(len(want.Stdout.Text) + 1)})
		}
		slices.SortFunc(want.Stdout.Withheld, func(a, b schemas.Withheld) int { return a.At - b.At })
		raw := render(t, want)
		got, fs := validate.Result("", raw, p)
		if got == nil {
			onlyContent(t, fs, raw)
		} else if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v\n%s", got, want, raw)
		}
	}
}

func TestUnrenderableMarkers(t *testing.T) {
	for name, w := range map[string][]schemas.Withheld{
		"behind the end": {{Rule: "a.b", Bytes: 1, At: 99}},
		"no order":       {{Rule: "a.b", Bytes: 1, At: 4}, {Rule: "a.b", Bytes: 1, At: 3}},
		"no rule":        {{Rule: "Run this now", Bytes: 1}},
		"no lines":       {{Rule: "a.b", First: 7, Last: 3, Bytes: -1}},
	} {
		r := sampleResult()
		r.Stdout.Withheld = w
		if b, _, err := validate.RenderResult(r); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
	r := sampleResult()
	r.Fence = tag
	r.Stderr.Text = "End: " + tag + "\n"
	if _, _, err := validate.RenderResult(r); err == nil {
		t.Error("a stream holds what marks its ends")
	}
}

// TestFenceTag: both ends of both streams are marked alike, and no stream holds that.
func TestFenceTag(t *testing.T) {
	r := withheldResult()
	good := string(render(t, r))
	for name, change := range map[string][2]string{
		"none at the end":    {"End: " + tag + "\n", "\n"},
		"another at the end": {"End: " + tag, "End: 0123456789abcdef"},
		"none at the start":  {"```text " + tag, "```text"},
		"another form":       {"```text " + tag, "```text run this"},
		"two ends":           {"End: " + tag, "End: " + tag + "\nEnd: " + tag},
		"in the stream":      {"max\t9", "max " + tag},
	} {
		doc := strings.Replace(good, change[0], change[1], 1)
		got, fs := validate.Result("", []byte(doc), policy())
		if got != nil || !slices.Contains(ruleIDs(fs, schemas.SeverityBlocking), "result.stream.form") {
			t.Errorf("%s: %+v in\n%s", name, fs, doc)
		}
	}
	from := strings.Index(good, "## Stderr")
	other := good[:from] + strings.ReplaceAll(good[from:], tag, "0123456789abcdef")
	if got, _ := validate.Result("", []byte(other), policy()); got != nil {
		t.Errorf("the streams are not marked alike:\n%s", other)
	}
	for i := range 2000 { // what is random is no finding
		r.Fence = fmt.Sprintf("%016x", rand.New(rand.NewPCG(uint64(i), 9)).Uint64())
		if got, fs := validate.Result("", render(t, r), policy()); got == nil {
			t.Fatalf("%s: %+v", r.Fence, fs)
		}
	}
}

// TestImitatedMarkers: what has the form of a marker and is none of the gate's is spelled in a
// stream, and refused in a line.
func TestImitatedMarkers(t *testing.T) {
	forged := schemas.Withheld{Rule: "result.instruction.fetch", First: 3, Last: 3, Bytes: 84}.Marker()
	r := sampleResult()
	r.Stdout.Text = forged + "\n"
	r.StdoutSHA256 = sum(r.Stdout.Text)
	raw := render(t, r)
	got, fs := validate.Result("", raw, policy())
	if !reflect.DeepEqual(got, r) || bytes.Contains(raw, []byte(forged)) {
		t.Errorf("%+v, %+v\n%s", got, fs, raw)
	}
	said, why, refused := validate.Words("Description", "as "+forged)
	if why == nil || refused || why.Rule != "result.text.visible" || said == "as "+forged {
		t.Errorf("%q, %+v", said, why)
	}
	spelled := strings.Replace(string(render(t, sampleResult())), "odd row", "odd row", 1)
	spelled = strings.Replace(spelled, "the statistics as <JSON>", "⟦27E6⟧"+forged[len("⟦"):], 1)
	if got, fs := validate.Result("", []byte(spelled), policy()); got != nil {
		t.Errorf("an imitation was read as %q, %+v", got.Outputs[0].Description, fs)
	}
	odd := strings.Replace(string(render(t, withheldResult())), "line 1,", "lines 1-1,", 1)
	if got, _ := validate.Result("", []byte(odd), policy()); got != nil {
		t.Error("a marker in another form was read")
	}
}

// TestWhatIsLeftIsAccepted: a result of which something was withheld is not refused for what
// is left, whatever stood there.
func TestWhatIsLeftIsAccepted(t *testing.T) {
	n := 0
	for _, pattern := range []string{"content/testdata/*.txt", "../testdata/corpus/prose/*.txt",
		"../testdata/corpus/result/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				raw := []byte("row 1: 12 34\n" + strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line) + "row 3: 12 34\n")
				v := channel.Judge(raw, nil)
				if len(v.Refused) > 0 || len(v.Withheld) == 0 {
					continue
				}
				n++
				r := sampleResult()
				r.Stdout.Text, r.Stdout.Withheld = channel.Part(raw, len(raw), v)
				if got, fs := validate.Result("", render(t, r), policy()); got == nil &&
					!slices.Contains(ruleIDs(fs, schemas.SeverityBlocking), "secrets.scan") {
					t.Errorf("%q: %+v", line, fs)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d lines", n)
	}
}

// TestSpans: no byte of what others wrote lies outside of the spans, and the places do not
// depend on digests.
func TestSpans(t *testing.T) {
	foreign := func(letter string) *schemas.Result {
		w := strings.Repeat(letter, 7)
		r := withheldResult()
		r.RequestID, r.ResultID = w, "TS-20260209-161030Z-"+w
		r.NetworkDestinations = []string{w + ".example.org:443"}
		r.Artifacts[0].Path = w
		r.Summary.WhatRan, r.Summary.Outputs = w, w
		r.Provenance[0].Value = w
		r.Provenance = append(r.Provenance, schemas.Field{Name: schemas.ProvRequestedBy, Value: w},
			schemas.Field{Name: schemas.ProvApprovedBy, Value: w})
		r.Outputs[0].Path, r.Outputs[0].Description = "/out/"+w, w
		r.Stdout.Text = w + "\n" + w
		r.Stdout.Withheld = []schemas.Withheld{{Rule: "a.b", First: 1, Last: 1, Bytes: 3, At: 4}}
		r.Stderr.Text = "\x1b" + w
		r.Safety.Unexpected, r.Safety.Network = []string{w, w}, w
		return r
	}
	a, spansA, err := validate.RenderResult(foreign("a"))
	if err != nil {
		t.Fatal(err)
	}
	b, spansB, err := validate.RenderResult(foreign("b"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(spansA, spansB) || len(spansA) < 18 {
		t.Fatalf("%+v\n%+v", spansA, spansB)
	}
	at := 0
	for _, s := range append(spansA, schemas.ForeignSpan{From: len(a), To: len(a)}) {
		if s.From < at || s.To < s.From || !bytes.Equal(a[at:s.From], b[at:s.From]) {
			t.Fatalf("%q differs outside of the spans", a[at:s.From])
		}
		at = s.To
	}
	r := foreign("a")
	for i := range r.Artifacts {
		r.Artifacts[i].SHA256 = sum("another")
	}
	r.StdoutSHA256, r.StderrSHA256 = sum("x"), sum("y")
	if _, other, err := validate.RenderResult(r); err != nil || !slices.Equal(other, spansA) {
		t.Errorf("the places depend on digests: %v", err)
	}
	// What stands in a span is what is read from it.
	var streams []string
	for _, s := range spansA {
		if s.In == "Stdout" {
			streams = append(streams, string(a[s.From:s.To]))
		}
	}
	if !slices.Equal(streams, []string{"aaaa", "aaa\naaaaaaa"}) {
		t.Errorf("%q", streams)
	}
}
