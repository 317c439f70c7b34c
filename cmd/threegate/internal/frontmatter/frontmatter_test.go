package frontmatter

import (
	"errors"
	"testing"
)

func TestEditLeavesTheRestAlone(t *testing.T) {
	const in = `---
request_type: tool_request   # fixed
requested_by: CORE
approved_by: ""

# what goes in
inputs:
  - path: /in/a
    sha256: ""
  - {path: /in/b, sha256: "00"}

# more later
purpose: "keep  this"
---

body ---
---
approved_by: not this
`
	const want = `---
request_type: tool_request   # fixed
requested_by: CORE
approved_by: "O'Neil \"bob\""
approved_utc: "2026-02-09T16:05:01Z"

# what goes in
inputs:
  - path: "/in/b"
    sha256: "11"
    unpack: "tar"
    copy_to: "/tmp/work"

# more later
purpose: "keep  this"
---

body ---
---
approved_by: not this
`
	d, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if string(d.Bytes()) != in {
		t.Fatalf("parsing alone changed it:\n%s", d.Bytes())
	}
	if len(d.Inputs) != 2 || d.Inputs[1] != (Input{Path: "/in/b", SHA256: "00"}) || d.Values["purpose"] != "keep  this" {
		t.Errorf("read %+v, %+v", d.Inputs, d.Values)
	}
	d.Set("approved_by", `O'Neil "bob"`, "requested_by")
	d.Set("approved_utc", "2026-02-09T16:05:01Z", "approved_by")
	d.SetInputs([]Input{{Path: "/in/b", SHA256: "11", Unpack: "tar", CopyTo: "/tmp/work"}})
	if got := string(d.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Once more: filling in is idempotent.
	d.Set("approved_by", `O'Neil "bob"`, "requested_by")
	d.Set("approved_utc", "2026-02-09T16:05:01Z", "approved_by")
	if got := string(d.Bytes()); got != want {
		t.Errorf("the second time:\n%s", got)
	}
	d.SetInputs(nil)
	d.Set("last", "x", "nowhere")
	again, err := Parse(d.Bytes())
	if err != nil || len(again.Inputs) != 0 || again.Values["last"] != "x" || again.Values["purpose"] != "keep  this" {
		t.Errorf("%v\n%s", err, d.Bytes())
	}
}

func TestLineEndsStay(t *testing.T) {
	for in, want := range map[string]string{
		"\xef\xbb\xbf---\r\na: b\r\n---\r\nbody\r\n": "\xef\xbb\xbf---\r\na: \"c\"\r\n---\r\nbody\r\n",
		"--- \na: b\r\n---\t\r\nbody\r\n\n---\n":     "--- \na: \"c\"\n---\t\r\nbody\r\n\n---\n",
		"---\na: b\n---":                             "---\na: \"c\"\n---",
	} {
		d, err := Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		d.Set("a", "c", "")
		if got := string(d.Bytes()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatCannotBeEdited(t *testing.T) {
	for _, in := range []string{"", "---", "---\n", "x\n---\na: b\n---\n", "---\na: b\n", "---\n- a\n---\n",
		"---\n{a: b, c: d}\n---\n",
		"---\n---\n", "---\na: [\n---\n", "---\ninputs: {a: b}\n---\n", "---\ninputs: [a]\n---\n",
		"---\ninputs:\n  - path: /in/a\n    sha256: x\n    hidden: y\n---\n", "---\n  a: b\n---\n",
		"---\na: b\u0085c: d\n---\n", "---\na: b\u2028\nc: d\n---\n", "---\na: b\rc: d\n---\n"} {
		if d, err := Parse([]byte(in)); !errors.Is(err, ErrShape) {
			t.Errorf("Parse(%q) = %v, %v", in, d, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\na: b\ninputs:\n  - path: /in/x\n    sha256: y\n---\nbody"))
	f.Add([]byte("---\r\na: |\n  b\n\n# c\nd: e\n---\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := Parse(in)
		if err != nil {
			return
		}
		d.Set("approved_by", "x", "a")
		if again, err := Parse(d.Bytes()); err == nil && again.Values["approved_by"] != "x" {
			t.Errorf("lost in %q", d.Bytes())
		}
	})
}
