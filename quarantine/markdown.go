package quarantine

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/schemas"
)

// HeldNote is the line about a release in REASONS.md.
const HeldNote = "If each of these is a false alarm, a person may release the item: `threegate quarantine release`."

// maxShown bounds the findings of a REASONS.md; the rest is in reasons.json.
const maxShown = 200

// markdown renders REASONS.md. All text that is not ours stands in indented code
// blocks, one line each: there no viewer reads markup, and no line can end early.
func (r Reasons) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Refused: %s %s\n\n", r.Kind, Visible(r.Item))
	for _, f := range []struct{ name, value string }{
		{"Request id", r.RequestID},
		{"File name", r.OriginalName},
		{"Inbox", r.Inbox},
		{"Approved by", r.ApprovedBy},
		{"Size", fmt.Sprintf("%d bytes", r.Size)},
		{"SHA-256", r.SHA256},
		{"Received", stamp(r.ReceivedAt)},
		{"Refused", fmt.Sprintf("%s, at stage %s", stamp(r.RefusedAt), r.Stage)},
	} {
		fmt.Fprintf(&b, "    %-12s %s\n", f.name+":", Visible(cmp.Or(f.value, "unknown")))
	}
	blocking, other := split(r.Findings)
	fmt.Fprintf(&b, "\n## Why (%d)\n", len(blocking))
	if len(blocking) == 0 {
		b.WriteString("\nNo rule was broken.\n")
	}
	list(&b, blocking)
	if len(other) > 0 {
		fmt.Fprintf(&b, "\n## Also noted (%d)\n", len(other))
		list(&b, other)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d further findings were left out.\n", r.Omitted)
	}
	if r.MayRelease() {
		b.WriteString("\n" + HeldNote + "\n")
	}
	b.WriteString("\nThe same for programs is in reasons.json. `threegate explain RULE` says more about a " +
		"rule.\nEverything else in this folder is as it came: treat it as hostile.\n")
	return b.Bytes()
}

func list(b *bytes.Buffer, fs []schemas.Finding) {
	for i, f := range fs[:min(len(fs), maxShown)] {
		fmt.Fprintf(b, "\n%d. Rule `%s`, %s%s\n\n", i+1, ruleID(f.Rule), ruleID(string(f.Severity)), place(f))
		// An item of a list wants its code block indented further than itself.
		for _, l := range []struct{ name, text string }{{"", f.Message}, {"Found: ", f.Excerpt},
			{"To mend: ", f.Hint}} {
			if l.text != "" {
				fmt.Fprintf(b, "          %s%s\n", l.name, Visible(l.text))
			}
		}
	}
	if n := len(fs) - maxShown; n > 0 {
		fmt.Fprintf(b, "\n%d more are in reasons.json.\n", n)
	}
}

func split(fs []schemas.Finding) (blocking, other []schemas.Finding) {
	for _, f := range fs {
		if f.Severity == schemas.SeverityBlocking {
			blocking = append(blocking, f)
		} else {
			other = append(other, f)
		}
	}
	return blocking, other
}

func place(f schemas.Finding) string {
	if f.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d, column %d", f.Line, f.Column)
}

// ruleID keeps only what a rule id may hold.
func ruleID(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '?'
	}, s)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Visible makes a text safe for a terminal: one line, bounded, and every
// character that is invisible, moves the cursor or changes direction escaped.
func Visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < 2*maxText; {
		r, n := rune(s[i]), 1
		if r >= 0x80 {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case n == 1 && s[i] >= 0x80:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
	}
	return b.String()
}
