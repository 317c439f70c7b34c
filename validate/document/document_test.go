package document

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

const limit = 1 << 20

func rulesOf(fs []schemas.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Rule)
	}
	return out
}

func TestParseGood(t *testing.T) {
	raw := "---\na: 1\nb: \"é\" # note\n---\n\n## One\n\ntext `<b>` and a < b\n\n```python\n## no " +
		"heading\n<b>\n```\n\n## Two\n\n- x\n"
	d, fs := Parse([]byte(raw), limit)
	if len(fs) != 0 {
		t.Fatalf("findings: %+v", fs)
	}
	if len(d.Sections) != 2 || d.Sections[0].Title != "One" || d.Sections[1].Title != "Two" {
		t.Fatalf("sections: %+v", d.Sections)
	}
	if d.Sections[0].Line != 6 || d.Sections[1].Line != 15 {
		t.Errorf("lines %d, %d", d.Sections[0].Line, d.Sections[1].Line)
	}
	if want := "\n- x\n"; string(d.Sections[1].Body) != want {
		t.Errorf("body %q, want %q", d.Sections[1].Body, want)
	}
	if !bytes.Equal(d.Text[d.Sections[1].BodyOffset:], d.Sections[1].Body) {
		t.Error("body offset does not lead to the body")
	}
	if len(d.Hidden) != 0 {
		t.Errorf("hidden: %+v", d.Hidden)
	}
	fence, offset := d.TextOf(d.Sections[0].Blocks[1])
	if string(fence) != "## no heading\n<b>\n" || !bytes.HasPrefix(d.Text[offset:], fence) {
		t.Errorf("fence %q at %d", fence, offset)
	}
}

func TestParseFindings(t *testing.T) {
	const front = "---\na: 1\n---\n"
	tests := []struct {
		name, raw, rule string
		line, column    int
	}{
		{"empty", "", "doc.empty", 0, 0},
		{"blank", " \n\n", "doc.empty", 0, 0},
		{"size", strings.Repeat("x", limit+1), "doc.size", 0, 0},
		{"elf", "\x7fELF\x02\x01\x01\x00", "doc.encoding.binary", 0, 0},
		{"nul", "---\na: 1\x00\n---\n", "doc.encoding.binary", 0, 0},
		{"utf16", "\xff\xfe-\x00-\x00", "doc.encoding.binary", 0, 0},
		{"utf8", front + "x\n ab\xff\n", "doc.encoding.utf8", 5, 4},
		{"bom", "\xef\xbb\xbf" + front, "doc.encoding.bom", 1, 1},
		{"crlf", "---\r\na: 1\r\n---\r\n", "doc.encoding.newline", 1, 4},
		{"control", front + "a\x1b[1mb\n", "doc.encoding.control", 4, 2},
		{"c1", front + "a\u0085b\n", "doc.encoding.control", 4, 2},
		{"lone cr", front + "a\rb\n", "doc.encoding.control", 4, 2},
		{"no front matter", "# hello\n", "doc.frontmatter.missing", 1, 1},
		{"toml", "+++\na = 1\n+++\n", "doc.frontmatter.missing", 1, 1},
		{"json", "{\"a\": 1}\n\n", "doc.frontmatter.missing", 1, 1},
		{"four dashes", "----\na: 1\n----\n", "doc.frontmatter.missing", 1, 1},
		{"unterminated", "---\na: 1\n", "doc.frontmatter.unterminated", 1, 1},
		{"unterminated, long", "---\na: 1\n## Command\n----\n", "doc.frontmatter.unterminated", 1, 1},
		{"blank line first", "\n---\na: 1\n---\n", "doc.frontmatter.delimiter", 1, 1},
		{"blank behind dashes", "---\na: 1\n--- \n", "doc.frontmatter.delimiter", 3, 1},
		{"blank before dashes", "---\na: |\n  x\n  ---\n", "doc.frontmatter.delimiter", 4, 1},
		{"other blank before the first dashes", "\u00a0---\na: 1\n---\n", "doc.frontmatter.missing", 1, 1},
		{"other blank before the last dashes", "---\na: 1\n\u2003---\n", "doc.frontmatter.unterminated", 1, 1},
		{"other blank before dashes between", "---\na: 'x\n\u00a0---\n  y'\n---\n", "doc.frontmatter.delimiter", 3, 1},
		{"yaml", "---\na: [\n---\n", "doc.frontmatter.syntax", 2, 1},
		{"yaml colon", "---\nb: é x: y\n---\n", "doc.frontmatter.syntax", 2, 8},
		{"yaml quote", "---\na: 'x\n---\n", "doc.frontmatter.syntax", 2, 4},
		{"yaml tab", "---\n\ta: x\n---\n", "doc.frontmatter.syntax", 2, 1},
		{"duplicate", "---\na: 1\nb: 2\na: 3\n---\n", "doc.frontmatter.duplicate_key", 4, 1},
		{"nested duplicate", "---\na:\n  - {é: 1, x: 2, x: 3}\n---\n", "doc.frontmatter.duplicate_key", 3, 19},
		{"anchor", "---\na: &x 1\n---\n", "doc.frontmatter.alias", 2, 4},
		{"alias", "---\na: &x 1\nb: *x\n---\n", "doc.frontmatter.alias", 3, 4},
		{"unknown alias", "---\nb: *x\n---\n", "doc.frontmatter.alias", 2, 4},
		{"merge", "---\n<<: {a: 1}\n---\n", "doc.frontmatter.alias", 2, 1},
		{"tag", "---\na: !!str 1\n---\n", "doc.frontmatter.tag", 2, 4},
		{"local tag", "---\na: !x 1\n---\n", "doc.frontmatter.tag", 2, 4},
		{"bare tag", "---\na: ! 1\n---\n", "doc.frontmatter.tag", 2, 4},
		{"tagged list", "---\na: !!set {b}\n---\n", "doc.frontmatter.tag", 2, 4},
		{"second YAML document", "---\na: 1\n--- # x\nb: 1\n---\n", "doc.frontmatter.documents", 3, 1},
		{"dots", "---\na: 1\n...\n---\n", "doc.frontmatter.documents", 3, 1},
		{"list", "---\n- a\n---\n", "doc.frontmatter.root", 2, 1},
		{"text", "---\nhello\n---\n", "doc.frontmatter.root", 2, 1},
		{"nothing", "---\n---\n", "doc.frontmatter.root", 1, 1},
		{"comment only", "---\n# x\n---\n", "doc.frontmatter.root", 1, 1},
		{"deep", "---\na: " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\n---\n", "doc.frontmatter.depth", 2,
			12},
		{"very deep", "---\na: " + strings.Repeat("[", 50000) + "\n---\n", "doc.frontmatter.depth", 2, 10004},
		{"complex key", "---\n? [a]\n: b\n---\n", "doc.frontmatter.type", 2, 3},
		{"two documents", front + "\n## A\n\nx\n\n---\nrequest_type: tool_request\n---\n", "doc.documents", 10, 1},
		{"setext", front + "\nCommand\n---\n", "doc.heading.form", 5, 1},
		{"closed heading", front + "\n## A ##\n", "doc.heading.form", 5, 1},
		{"indented heading", front + "\n  ## A\n", "doc.heading.form", 5, 1},
		{"level 1 after a section", front + "\n## A\n\nx\n\n# B\n", "doc.heading.level", 9, 1},
		{"a second title", front + "\n# A\n\n# B\n", "doc.heading.level", 7, 1},
		{"level 3", front + "\n## A\n### B\n", "doc.heading.level", 6, 1},
		{"nested heading", front + "\n> ## A\n", "doc.heading.level", 5, 3},
		{"nesting", front + strings.Repeat("> ", 30) + "x\n", "doc.nesting", 4, 33},
		{"list nesting", front + strings.Repeat("1) ", 30) + "x\n", "doc.nesting", 4, 49},
		{"many values", "---\na: [" + strings.Repeat("1,", MaxNodes+1) + "]\n---\n", "doc.size", 2, 19999},
		{"large front matter", "---\na: " + strings.Repeat("1", MaxFrontMatterBytes) + "\n---\n", "doc.size", 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fs := Parse([]byte(tt.raw), limit)
			for _, f := range fs {
				if f.Rule == tt.rule && f.Line == tt.line && f.Column == tt.column {
					if f.Message == "" || f.Hint == "" {
						t.Errorf("finding without message or hint: %+v", f)
					}
					return
				}
			}
			t.Errorf("no %s at %d:%d in %+v", tt.rule, tt.line, tt.column, fs)
		})
	}
}

func TestHidden(t *testing.T) {
	const front = "---\na: 1\n---\n"
	tests := []struct {
		body string
		want HiddenKind
	}{
		{"<!-- x -->\n", HiddenComment},
		{"a <!-- x --> b\n", HiddenComment},
		{"<div>\nx\n</div>\n", HiddenHTML},
		{"a <b>x</b>\n", HiddenHTML},
		{"a <img alt='<' src=x>\n", HiddenHTML},
		{"a <img\nsrc='>' >\n", HiddenHTML},
		{"a <?php x ?>\n", HiddenHTML},
		{"\\` <b>`\n", HiddenHTML},
		{"[//]: # (hidden)\n", HiddenDefinition},
		{"[x]:\n  hidden\n", HiddenDefinition},
		{"> [x]: y\n", HiddenDefinition},
		{"a `<b>` <https://a/b> <x@example.org> 1 < 2 && a<b, 3 > 2\n", ""},
		{"```\n<b><!-- x -->\n[x]: y\n```\n", ""},
		{"\\<b>\n", ""},
	}
	for _, tt := range tests {
		d, _ := Parse([]byte(front+tt.body), limit)
		switch {
		case tt.want == "" && len(d.Hidden) > 0:
			t.Errorf("%q: unexpected %+v", tt.body, d.Hidden)
		case tt.want != "" && !slices.ContainsFunc(d.Hidden, func(h Hidden) bool { return h.Kind == tt.want }):
			t.Errorf("%q: no %s in %+v", tt.body, tt.want, d.Hidden)
		}
	}
}

func TestTypedValues(t *testing.T) {
	raw := "---\ns: text\nn: 12\nq: \"12\"\nf: 1.5\nb: true\nt1: 2026-02-09T16:05:01Z\nt2: " +
		"\"2026-02-09T16:05:01.5Z\"\nt3: 2026-02-09T16:05:01+01:00\nt4: 2026-02-09\n" +
		"t5: \"2026-02-30T16:05:01Z\"\nhex: 0x10\nund: 1_000\noct: 010\ninf: .inf\nlist: [a, {b: " +
		"c}]\nempty:\nblank: ' '\nmulti: |\n  a\n  b\nyes: yes\n---\n"
	d, fs := Parse([]byte(raw), limit)
	if len(fs) != 0 {
		t.Fatal(fs)
	}
	tests := []struct {
		read string
		get  func(*Report) bool
		ok   bool
	}{
		{"s", func(r *Report) bool { _, ok := d.Front.String(r, "s"); return ok }, true},
		{"n as text", func(r *Report) bool { _, ok := d.Front.String(r, "n"); return ok }, false},
		{"b as text", func(r *Report) bool { _, ok := d.Front.String(r, "b"); return ok }, false},
		{"yes is text", func(r *Report) bool { s, ok := d.Front.String(r, "yes"); return ok && s == "yes" }, true},
		{"list as text", func(r *Report) bool { _, ok := d.Front.String(r, "list"); return ok }, false},
		{"multi as line", func(r *Report) bool { _, ok := d.Front.String(r, "multi"); return ok }, false},
		{"multi as text", func(r *Report) bool { _, ok := d.Front.Text(r, "multi"); return ok }, true},
		{"n as scalar", func(r *Report) bool { s, ok := d.Front.Scalar(r, "n"); return ok && s == "12" }, true},
		{"f as scalar", func(r *Report) bool { s, ok := d.Front.Scalar(r, "f"); return ok && s == "1.5" }, true},
		{"b as scalar", func(r *Report) bool { _, ok := d.Front.Scalar(r, "b"); return ok }, false},
		{"n", func(r *Report) bool { n, ok := d.Front.Int(r, "n"); return ok && n == 12 }, true},
		{"quoted int", func(r *Report) bool { _, ok := d.Front.Int(r, "q"); return ok }, false},
		{"float as int", func(r *Report) bool { _, ok := d.Front.Int(r, "f"); return ok }, false},
		{"hex", func(r *Report) bool { _, ok := d.Front.Int(r, "hex"); return ok }, false},
		{"underscores", func(r *Report) bool { _, ok := d.Front.Int(r, "und"); return ok }, false},
		{"octal", func(r *Report) bool { _, ok := d.Front.Int(r, "oct"); return ok }, false},
		{"number", func(r *Report) bool { f, ok := d.Front.Number(r, "f"); return ok && f == 1.5 }, true},
		{"infinity", func(r *Report) bool { _, ok := d.Front.Number(r, "inf"); return ok }, false},
		{"plain time", func(r *Report) bool {
			v, ok := d.Front.Time(r, "t1")
			return ok && v.Equal(time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC))
		}, true},
		{"quoted time", func(r *Report) bool { _, ok := d.Front.Time(r, "t2"); return ok }, true},
		{"other zone", func(r *Report) bool { _, ok := d.Front.Time(r, "t3"); return ok }, false},
		{"date", func(r *Report) bool { _, ok := d.Front.Time(r, "t4"); return ok }, false},
		{"30 February", func(r *Report) bool { _, ok := d.Front.Time(r, "t5"); return ok }, false},
		{"list", func(r *Report) bool { v, _ := d.Front.Get("list"); l, ok := v.List(r); return ok && len(l) == 2 },
			true},
		{"text as list", func(r *Report) bool { v, _ := d.Front.Get("s"); _, ok := v.List(r); return ok }, false},
	}
	for _, tt := range tests {
		r := d.Report()
		if ok := tt.get(r); ok != tt.ok {
			t.Errorf("%s: %v, want %v", tt.read, ok, tt.ok)
		}
		fs := r.Findings()
		if tt.ok == (len(fs) > 0) || !tt.ok && (fs[0].Rule != "doc.frontmatter.type" || fs[0].Line == 0 ||
			fs[0].Excerpt == "") {
			t.Errorf("%s: findings %+v", tt.read, fs)
		}
	}
	r := d.Report()
	d.Front.Require(r, "s", "absent", "empty", "blank")
	if got := rulesOf(r.Findings()); len(got) != 3 {
		t.Errorf("missing keys: %v", got)
	}
	r = d.Report()
	d.Front.Known(r, "ss", "n", "q")
	if fs := r.Findings(); len(fs) == 0 || fs[0].Rule != "doc.frontmatter.unknown_key" ||
		fs[0].Hint != "did you mean ss?" {
		t.Errorf("unknown keys: %+v", fs)
	}
}

func TestReportIsBounded(t *testing.T) {
	many := strings.Repeat("\x01\n", 5000)
	_, fs := Parse([]byte("---\na: 1\n---\n"+many), limit)
	if len(fs) > MaxFindingsPerRule+5 || !strings.Contains(fs[0].Message, "4980 more") {
		t.Errorf("%d findings, first %+v", len(fs), fs[0])
	}
	long := strings.Repeat("é", 5000) + "\x1b" + strings.Repeat("ü", 5000)
	_, fs = Parse([]byte("---\na: 1\n---\n"+long), limit)
	i := slices.IndexFunc(fs, func(f schemas.Finding) bool { return f.Rule == "doc.encoding.control" })
	if i < 0 || len(fs[i].Excerpt) > 200 || !strings.Contains(fs[i].Excerpt, "⟦1B⟧") {
		t.Errorf("excerpt: %+v", fs)
	}
}

// Parse comes to an end of what is made to be slow.
func TestSlowMarkdown(t *testing.T) {
	units := []string{"[", "[a](", "*a ", "`", "``a", "> ", "- ", "1) ", "<a", "<!--", "&", "\\", "[a]: b\n", "[x]:\n",
		"```\n", "# ", "## a\n", "a\n",
		"<a b='", "_a*", "- a\n\n", "a\n===\n", "<?", "`a``b```", "\t", "> a\n", "* * ", "a: b\n", "---\n", "request_type: x\n", "\u202e", "{é:,", "[é,", "<b"}
	const size = 1 << 18
	for _, front := range []string{"---\na: 1\n---\n", "", "---\n"} {
		for _, unit := range units {
			raw := front + strings.Repeat(unit, (size-len(front))/len(unit))
			Parse([]byte(raw), size)
		}
	}
}

func TestPositions(t *testing.T) {
	l := NewLines([]byte("ab\n\ncé\nd"))
	for _, c := range []struct{ offset, line, column int }{{-1, 1, 1}, {0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1},
		{7, 3, 4}, {8, 4, 1}, {99, 4, 2}} {
		if line, column := l.Pos(c.offset); line != c.line || column != c.column {
			t.Errorf("offset %d is %d:%d, want %d:%d", c.offset, line, column, c.line, c.column)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\na: 1\n---\n\n## A\n\nx <b>\n"))
	f.Add([]byte("---\na: &x [1, {b: *x}]\nb: !!str 2\n---\n> - 1) ## a\n```\nx"))
	f.Add([]byte("\xef\xbb\xbf---\r\na: '\r\n---\r\n[x]: y\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, fs := Parse(raw, 1<<16)
		if d == nil {
			if schemas.VerdictOf(fs) != schemas.VerdictReject {
				t.Fatal("no document and no blocking finding")
			}
			return
		}
		if d.Front == nil && schemas.VerdictOf(fs) != schemas.VerdictReject {
			t.Fatal("no front matter and no blocking finding")
		}
		lines := len(d.report.lines.starts)
		for _, f := range fs {
			if f.Line < 0 || f.Line > lines || f.Message == "" || f.Hint == "" {
				t.Fatalf("bad finding %+v of %d lines", f, lines)
			}
		}
		for _, s := range d.Sections {
			if !bytes.Equal(d.Text[s.BodyOffset:s.BodyOffset+len(s.Body)], s.Body) {
				t.Fatal("section body is not where it should be")
			}
		}
	})
}
