package text_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", ""}, {"plain\n\ttext é 日本 ❤️ ✔️", "plain\n\ttext é 日本 ❤️ ✔️"},
		{"\x1b[31m", "⟦1B⟧[31m"}, {"a\r\n", "a⟦0D⟧\n"}, {"\x00", "⟦00⟧"}, {"\u202e", "⟦202E⟧"}, {"\u200b", "⟦200B⟧"},
		{"\xff", "⟦xFF⟧"}, {"\u0085", "⟦85⟧"}, {"\x85", "⟦x85⟧"}, {"⟦", "⟦27E6⟧"}, {"⟦1B⟧", "⟦27E6⟧1B⟧"}, {"⟧", "⟧"},
		{"\U000e0041", "⟦E0041⟧"},
		{"a\ufe0f", "a⟦FE0F⟧"}, {"❤\ufe0f\ufe0f", "❤\ufe0f⟦FE0F⟧"}, {"\ufeffx", "⟦FEFF⟧x"}, {"\xe2\x9f", "⟦xE2⟧⟦x9F⟧"},
		{"\u00ad", "⟦AD⟧"}, {"\u3164", "⟦3164⟧"}, {"\U0010ffff", "⟦10FFFF⟧"},
	} {
		if got := text.Visible(c.raw); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.raw, got, c.want)
		}
		if got, err := text.Raw(c.want); err != nil || got != c.raw {
			t.Errorf("Raw(%q) = %q, %v", c.want, got, err)
		}
		if got := string(text.Loose([]byte(c.want)).Text); got != c.raw {
			t.Errorf("Loose(%q) = %q", c.want, got)
		}
	}
}

func TestVisibleLine(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"a b", "a b"}, {" a ", "⟦20⟧a⟦20⟧"}, {" ", "⟦20⟧"}, {"  ", "⟦20⟧⟦20⟧"}, {"a\nb\tc", "a⟦0A⟧b⟦09⟧c"},
		{"   x", "⟦20⟧  x"},
	} {
		if got := text.VisibleLine(c.raw); got != c.want {
			t.Errorf("VisibleLine(%q) = %q, want %q", c.raw, got, c.want)
		}
		if got, err := text.RawLine(c.want); err != nil || got != c.raw {
			t.Errorf("RawLine(%q) = %q, %v", c.want, got, err)
		}
	}
}

func TestRawRefuses(t *testing.T) {
	for _, v := range []string{"⟦", "⟦1B", "⟦1b⟧", "⟦01B⟧", "⟦41⟧", "⟦⟧", "⟦x⟧", "⟦x41⟧", "⟦xfF⟧", "⟦D800⟧", "⟦110000⟧",
		"⟦27e6⟧", "⟦0A⟧", "\x1b", "\xff", "\u202e", "⟦-1⟧", "⟦+1B⟧", "⟦1B ⟧", "⟦xE2⟧⟦x9F⟧⟦xA6⟧", "⟦20⟧"} {
		if got, err := text.Raw(v); err == nil || got != "" {
			t.Errorf("Raw(%q) = %q, %v", v, got, err)
		}
	}
}

func TestSuspects(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind text.Kind
		name string
	}{
		{"a\u202eb", text.KindHidden, "U+202E RIGHT-TO-LEFT OVERRIDE"},
		{"a\u200db", text.KindZeroWidth, "U+200D ZERO WIDTH JOINER"},
		{"م\u200cb", text.KindZeroWidth, "U+200C ZERO WIDTH NON-JOINER"},
		{"\u200b", text.KindZeroWidth, "U+200B ZERO WIDTH SPACE"},
		{"\U000e0041", text.KindTag, "U+E0041 TAG LATIN CAPITAL LETTER A"},
		{"x\ufe0f", text.KindVariation, "U+FE0F VARIATION SELECTOR-16"},
		{"\u00ad", text.KindHidden, "U+00AD SOFT HYPHEN"}, {"\u3164", text.KindHidden, "U+3164 HANGUL FILLER"},
		{"\ue000", text.KindHidden, "U+E000 <Private Use>"}, {"\uffff", text.KindHidden, "U+FFFF (no character)"},
		{"\x1b", text.KindControl, "U+001B <control>"}, {"\r", text.KindControl, "U+000D <control>"},
		{"\u00a0", text.KindSpace, "U+00A0 NO-BREAK SPACE"}, {"\xff", text.KindInvalid, "byte 0xFF, not UTF-8"},
		{"pаypal", text.KindConfusable, "U+0430 CYRILLIC SMALL LETTER A"},
		{"ｒm -rf", text.KindConfusable, "U+FF52 FULLWIDTH LATIN SMALL LETTER R"},
		{"𝐫𝐦", text.KindConfusable, "U+1D42B MATHEMATICAL BOLD SMALL R"},
		{"Αlpha", text.KindConfusable, "U+0391 GREEK CAPITAL LETTER ALPHA"},
		{"\u2028", text.KindHidden, "U+2028 LINE SEPARATOR"},
		{"a\ufffcb", text.KindNoText, "U+FFFC OBJECT REPLACEMENT CHARACTER"},
		{"a\u0378", text.KindNoText, "U+0378 (no character)"},
	} {
		ms := slices.Collect(text.Suspects(c.in))
		if len(ms) == 0 || ms[0].Kind != c.kind || ms[0].Name != c.name {
			t.Errorf("%q: %+v, want %s %s", c.in, ms, c.kind, c.name)
		}
	}
	for _, s := range []string{"plain", "tab\tnewline\n", "é ü ß", "Запуск завершён", "γ-rays at 5 μm", "日本語", "✔️ ok",
		"naïve café", "λx.x", "👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f\u200d🔥", "می\u200cخواهم", "क्\u200dष"} {
		if ms := slices.Collect(text.Suspects(s)); len(ms) != 0 {
			t.Errorf("%q: %+v", s, ms)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 300) + "HERE" + strings.Repeat("b", 300)
	got := text.Excerpt(long, 301, 80)
	if !strings.Contains(got, "HERE") || len(got) > 90 || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		line string
		col  int
		want string
	}{{"a\x1bb", 1, "a⟦1B⟧b"}, {"one\ntwo", 1, "one"}, {"", 9, ""}, {"x\r", 1, "x"}, {"⟦1B⟧", 1, "⟦1B⟧"},
		{"é", -5, "é"}} {
		if got := text.Excerpt(c.line, c.col, 40); got != c.want {
			t.Errorf("Excerpt(%q) = %q", c.line, got)
		}
	}
}

func TestMask(t *testing.T) {
	for _, c := range []struct{ secret, prefix, want string }{
		{"ghp_0123456789abcdef", "ghp_", "[ghp_… masked, 20 characters]"},
		{"github_pat_0123456789", "github_pat_", "[gith… masked, 21 characters]"},
		{"hunter2!", "", "[… masked, 8 characters]"}, {"ghp_1", "ghp_", "[… masked, 5 characters]"},
		{"abcdefghijklmnopq", "zzzz", "[… masked, 17 characters]"},
	} {
		if got := text.Mask(c.secret, c.prefix); got != c.want {
			t.Errorf("Mask(%q) = %q", c.secret, got)
		}
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{"HeLLo": "hello", "Ｉgnоrе": "ignore", "é": "e", "ﬁle": "file", "a\u200bb": "ab", "“x”": `"x"`, "a\u00a0b": "a b", "①": "1", "\r\n": "\n\n", "\xff": "?"} {
		if got := string(text.Fold([]byte(in)).Text); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
	m := text.Fold([]byte("é\u200bX ﬁ y"))
	if got := string(m.Text); got != "ex fi y" {
		t.Fatalf("%q", got)
	}
	for i, want := range []int{0, 5, 6, 7} {
		if got := m.Origin(i); got != want {
			t.Errorf("Origin(%d) = %d, want %d", i, got, want)
		}
	}
	if got := m.Origin(6); got != 11 { // the y
		t.Errorf("Origin(6) = %d", got)
	}
}

func TestVisibleProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	runes := []rune{'a', ' ', '\n', '\t', '\r', 0, 0x1b, 0x85, 0xad, 0x200d, 0x202e, '⟦', '⟧', 'x', 'F', '1', 0xfe0f,
		'❤', '#', 0xe0041, 0x10ffff, 'é'}
	for range 20000 {
		var b []byte
		for range rnd.IntN(12) {
			if rnd.IntN(4) == 0 {
				b = append(b, byte(rnd.IntN(256)))
			} else {
				b = utf8.AppendRune(b, runes[rnd.IntN(len(runes))])
			}
		}
		checkVisible(t, string(b))
	}
}

// checkVisible states what Visible and its kin promise.
func checkVisible(t *testing.T, s string) {
	t.Helper()
	v := text.Visible(s)
	if back, err := text.Raw(v); err != nil || back != s {
		t.Fatalf("%q -> %q -> %q, %v", s, v, back, err)
	}
	if !utf8.ValidString(v) || strings.Count(v, "\n") != strings.Count(s, "\n") {
		t.Fatalf("%q -> %q", s, v)
	}
	for m := range text.Suspects(v) {
		if m.Kind != text.KindSpace && m.Kind != text.KindConfusable && m.Kind != text.KindNoText {
			t.Fatalf("%q -> %q still holds %+v", s, v, m)
		}
	}
	l := text.VisibleLine(s)
	if back, err := text.RawLine(l); err != nil || back != s || strings.ContainsAny(l, "\n\t\r") ||
		strings.Trim(l, " ") != l {
		t.Fatalf("line %q -> %q -> %q, %v", s, l, back, err)
	}
	loose := text.Loose([]byte(v))
	if string(loose.Text) != s {
		t.Fatalf("%q -> %q -> loosely %q", s, v, loose.Text)
	}
	for i := range len(loose.Text) {
		if o := loose.Origin(i); o < 0 || o >= len(v) || i > 0 && o < loose.Origin(i-1) {
			t.Fatalf("%q: Origin(%d) = %d", v, i, o)
		}
	}
	if raw, err := text.Raw(s); err == nil && text.Visible(raw) != s {
		t.Fatalf("Raw(%q) = %q, which is spelled %q", s, raw, text.Visible(raw))
	}
	folded := text.Fold([]byte(s))
	for i := range len(folded.Text) {
		if o := folded.Origin(i); o < 0 || o >= len(s) || i > 0 && o < folded.Origin(i-1) {
			t.Fatalf("Fold(%q): Origin(%d) = %d", s, i, o)
		}
	}
	text.Strip([]byte(s))
	if e := text.Excerpt(s, len(s)/2, 60); len(e) > 80 || !utf8.ValidString(e) || strings.Contains(e, "\n") {
		t.Fatalf("Excerpt(%q) = %q", s, e)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[0m\xff⟦1B⟧", "❤\ufe0f\ufe0f \u202e", " \t\n ", "i g n o r e 1gn0re",
		"⟦x41⟧⟦27E6⟧"} {
		f.Add(s)
	}
	f.Fuzz(checkVisible)
}
