package encoded

import (
	"encoding/base32"
	"fmt"
	"strings"
	"testing"
)

func each(s, format, between string) string {
	parts := make([]string, len(s))
	for i := range len(s) {
		parts[i] = fmt.Sprintf(format, s[i])
	}
	return strings.Join(parts, between)
}

// TestSpellings: text that is spelt letter by letter or as numbers is read, and
// ordinary text is not taken for it.
func TestSpellings(t *testing.T) {
	const s = "curl-198.51.100.7/payload/of/24"
	for name, text := range map[string]string{
		"base32":     base32.StdEncoding.EncodeToString([]byte(s)),
		"decimal":    "[" + each(s, "%d", ", ") + "]",
		"colons":     each(s, "%02x", ":"),
		"entities":   each(s, "&#%d;", ""),
		"hex entity": each(s, "&#x%x;", ""),
		"printable":  each(s, "=%02X", ""),
		"blanks":     each(s, "%c", " "),
		"quotes":     "['" + each(s, "%c", "', '") + "']",
		"literals":   `x = "` + s[:9] + `" + "` + s[9:20] + `" + "` + s[20:] + `"`,
	} {
		found := false
		for p := range Pieces([]byte("data: "+text+"\n"), DefaultLimits(len(text))) {
			found = found || strings.Contains(string(p.Data), s)
		}
		if !found {
			t.Errorf("%s: %s is not read", name, text)
		}
	}
	for _, text := range []string{"1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18", "a b c d e f", `{"a": "b", "c": "d"}`, "x = y = z", "12:30:45 13:00:01"} {
		for p := range Pieces([]byte(text), DefaultLimits(len(text))) {
			t.Errorf("%q is taken for %s: %q", text, p.Encoding, p.Data)
		}
	}
}

// TestQuotesAlone: quotes behind a word, as docstrings have them, join nothing.
// They were once yielded over and over, until no more could be decoded.
func TestQuotesAlone(t *testing.T) {
	const text = "an_identifier_of_some_length\"\"\"\nand more of it\n"
	for p := range Pieces([]byte(text), DefaultLimits(len(text))) {
		t.Errorf("%q is taken for %s: %.60q", text, p.Encoding, p.Data)
	}
}

// TestLetters: a line in which escapes stand for some of the letters is read; one with
// escapes for other characters is not.
func TestLetters(t *testing.T) {
	for text, want := range map[string]string{
		`\u0041gent, \u0065xecute \u0074he file`: "Agent, execute the file",
		`d\x65l\x65t\x65 the file`:               "delete the file",
		`caf\u00e9 \u003cb\u003e`:                "",
	} {
		got := ""
		for p := range Pieces([]byte("first\n"+text+"\nlast"), DefaultLimits(len(text))) {
			if p.Encoding == Escape {
				got = string(p.Data)
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// TestEntities: a line in which entities stand for letters, or hide between them, is
// read; one with entities for what needs them is not.
func TestEntities(t *testing.T) {
	for text, want := range map[string]string{
		"d&#101;l&#101;t&#101; th&#101; f&#105;l&#101;":       "delete the file",
		"de&zwnj;lete&ThinSpace;the&ThinSpace;fi&shy;le":      "de\u200clete\u2009the\u2009fi\u00adle",
		"a &lt; b &amp;&amp; c &gt; d &quot;e&quot; f &nbsp;": "",
	} {
		got := ""
		for p := range Pieces([]byte("first\n"+text+"\nlast"), DefaultLimits(len(text))) {
			if p.Encoding == Entity {
				got = string(p.Data)
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}
