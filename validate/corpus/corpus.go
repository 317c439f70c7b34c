// Package corpus makes test cases for the rules, in the form of testdata/corpus, of places in documents
// that somebody says are false alarms. Its input is hostile; it is pure but for made-up values.
package corpus

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/packages"
	"github.com/threegate/tool-exec/validate/paths"
	"github.com/threegate/tool-exec/validate/secrets"
	"github.com/threegate/tool-exec/validate/text"
)

// Case is a place that a rule finds, as a case of testdata/corpus.
type Case struct {
	// Folder is the folder of testdata/corpus that it belongs to.
	Folder string `json:"folder"`
	// Text is the place as a file there holds it. It holds no secret of the document.
	Text string `json:"text"`
}

const ruleSecrets = "secrets.scan"

// ErrNoCase says that lines by themselves do not break the rule.
var ErrNoCase = errors.New("the lines around the place don't break the rule by themselves")

// caseContext are how many lines around a place are taken, until the rule finds it in them.
var caseContext = []int{0, 1, 3, 10}

// maxCase bounds the text of a case.
const maxCase = 16 << 10

// New makes a case of what a rule finds at a line of doc, which counts from 1. Secrets are replaced
// by made-up values of the same shape. An error is ErrNoCase, or says why no case can be made.
func New(rule string, doc []byte, line int) (Case, error) {
	c := Case{Folder: "result"}
	switch r, _ := schemas.RuleByID(rule); {
	case rule == ruleSecrets:
		c.Folder = "secret"
	case r.Release == schemas.ReleaseProse:
		c.Folder = "prose"
	}
	lines := strings.Split(string(doc), "\n")
	if line < 1 || line > len(lines) {
		return c, fmt.Errorf("it has no line %d", line)
	}
	for _, n := range caseContext {
		part := strings.Join(lines[max(0, line-1-n):min(len(lines), line+n)], "\n")
		if len(part) > maxCase {
			return c, fmt.Errorf("the lines have more than %d bytes", maxCase)
		}
		if c.Folder == "prose" {
			part = strings.Join(strings.Fields(label.ReplaceAllString(part, "")), " ")
		}
		part = string(text.Loose([]byte(part)).Text)
		if !finds(rule, part) {
			continue
		}
		fake, err := secrets.Fake([]byte(part))
		if err != nil {
			return c, err
		}
		if !finds(rule, string(fake)) {
			return c, secrets.ErrNoFake
		}
		c.Text, err = corpusText(string(fake), c.Folder != "prose")
		return c, err
	}
	return c, ErrNoCase
}

// label is what stands in a request before text for people.
var label = regexp.MustCompile(`(?m)^(?:[-*] )?\**[A-Za-z_ ]{1,30}:\** *"?`)

// finds says whether a rule finds something in a text.
func finds(rule, s string) bool {
	b := []byte(s)
	switch rule {
	case ruleSecrets:
		return len(secrets.Scan(b)) > 0
	case "sec.packages":
		return len(packages.InProse(s)) > 0
	case "sec.paths.host", "sec.devices":
		return len(paths.Find(s, paths.Prose)) > 0
	}
	return slices.ContainsFunc(content.Scan(b), func(h content.Hit) bool { return h.Rule == rule })
}

// corpusText spells a text as a file of the corpus does.
func corpusText(s string, block bool) (string, error) {
	if strings.Contains(s, "{{") {
		return "", errors.New(`it holds "{{", which means something else in a corpus`)
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.Trim(s, "\n"), "\n") {
		if line == "%" || strings.HasPrefix(line, "== ") {
			line = fmt.Sprintf("⟨%04X⟩%s", line[0], line[1:])
			b.WriteString(line)
		} else {
			hidden := map[int]bool{}
			for m := range text.Suspects(line) {
				hidden[m.Offset] = m.Kind != text.KindConfusable
			}
			for i, r := range line {
				if r == '⟨' || hidden[i] {
					fmt.Fprintf(&b, "⟨%04X⟩", r)
				} else {
					b.WriteRune(r)
				}
			}
		}
		b.WriteString("\n")
	}
	if block {
		return "== good block\n" + b.String(), nil
	}
	return "== good\n" + b.String(), nil
}
