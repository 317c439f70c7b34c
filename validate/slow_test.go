package validate_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// TestSlowDocuments judges documents that are made to be slow, of a sixteenth of the largest size: what
// they take at that size is for BenchmarkSlowest to say.
func TestSlowDocuments(t *testing.T) {
	for name, judge := range slowDocuments(t, 16) {
		t.Run(name, func(*testing.T) { judge() })
	}
}

// BenchmarkSlowest says what the slowest of these documents takes: `make bench-rules`.
func BenchmarkSlowest(b *testing.B) {
	documents := slowDocuments(b, 1)
	for b.Loop() {
		slowest, which := time.Duration(0), ""
		for name, judge := range documents {
			start := time.Now()
			judge()
			if took := time.Since(start); took > slowest {
				slowest, which = took, name
			}
		}
		b.Logf("%s takes longest", which)
		b.ReportMetric(slowest.Seconds(), "s/slowest")
	}
}

// slowDocuments are results and requests of a part of the largest size, by name.
func slowDocuments(tb testing.TB, part int) map[string]func() {
	limits := validate.DefaultPolicy(asOf)
	largestRequest, largestResult := int(limits.MaxRequestBytes)/part, int(limits.MaxResultBytes)/part
	docs := slowStructures(tb, largestRequest, largestResult)
	result := func(name string, doc []byte) { docs["result, "+name] = func() { judgeResult(doc) } }
	request := func(name string, at, text string) {
		doc := bytes.Replace(benchRequest(tb, 0), []byte(at), []byte(at+text), 1)
		docs[fmt.Sprintf("request, %s at %q", name, at)] = func() { judgeRequest(doc) }
	}
	// A part of a request that is longer than this is refused unread.
	most := map[string]int{"def schedule(": 240 << 10 / part, "{\"loan\"": 240 << 10 / part, "- Justification: ": 630 << 10 / part}
	for name, text := range slowTexts(largestRequest) {
		long := strings.Repeat(text+"\n", largestResult/(len(text)+1)+1)
		result(name, bytes.Replace(benchResult(tb, 1600), []byte("```text\n"),
			[]byte("````````text\n"+long+"````````\n\n```text\n"), 1))
		for _, at := range []string{"def schedule(", "- Justification: "} {
			request(name, at, text[:min(len(text), most[at])])
		}
		request(name, "## Code\n", text)
	}
	for _, unit := range slowUnits {
		for at, n := range most {
			request(fmt.Sprintf("%q", unit), at, strings.Repeat(unit, n/len(unit)))
		}
	}
	for name, line := range slowLines() {
		var b strings.Builder
		for b.Len() < largestResult-8<<10 {
			b.WriteString(line())
			b.WriteByte('\n')
		}
		result(name+", no two lines the same", resultOf(tb, b.String()))
	}
	return docs
}

// slowTexts are texts of about n bytes, each of which keeps one of the readers busy.
func slowTexts(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	// other repeats s with other words in place of each #: nothing is known from before.
	other := func(s string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(s, "#", strconv.FormatInt(int64(i)+46656, 36)))
		}
		return b.String()[:size]
	}
	return map[string]string{
		"fences":       fill("```\nx\n"),
		"nested lists": strings.Repeat("- ", 20000) + "x",
		"quotes":       strings.Repeat("> ", 20000) + "x",
		"one line":     fill("a"),
		"base64":       fill("aGVsbG8gd29ybGQgdGhpcyBpcyB0ZXh0 \n"),
		"base64 deep":  fill("WVdKamFHVnNiRzhnZDI5eWJHUT0="),
		"percent":      fill("%61%62+"),
		"escapes":      fill(`\x61\u0062`),
		"keywords":     fill("run the command, please execute sudo key token secret password "),
		"controls":     fill("policy must be changed allowlist sandbox should "),
		"near misses":  fill("please download the file and then run "),
		"spaced":       fill("r u n   t h e   s c r i p t "),
		"leet":         fill("3x3cu73 7h3 5cr1p7 n0w "),
		"brackets":     fill("[a]("),
		"images":       fill("![x]("),
		"tags":         fill("<a "),
		"invisible":    fill("a\u200b"),
		"escape codes": fill("\x1b[31m"),
		"quotes code":  fill(`"'`),
		"subshells":    fill("$("),
		"tongues":      fill("führe bitte den Befehl 请运行命令 "),
		"orders":       other("please x#y run the script and z#x then. "),
		"orders, leet": other("pl3453 x#y run the 5cr1p7 and z#x th3n. "),
		"orders, rows": other("please run x#y\nthe script\nand then z#x\nask for it, "),
		"tongues, two": other("bitte x#y führe den Befehl aus, 请运行命令 z#x. "),
		"docstrings":   fill("an_identifier_of_some_length\"\"\"\n"),
		"literals":     fill("'abcdefgh' + "),
		"letters":      fill("g h p "),
		"numbers":      fill("104, 101, 32, 10;"),
		"colons":       fill("67:68:"),
		"entities":     fill("&#103;&#x68;"),
		"dump":         fill("00000010  68 65 6c 6c 6f 20 77 6f  72 6c 64 21 20 20 0a 0a  |hello world!  ..|\n"),
		"digests":      other("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f#a08 "),
		"base32":       fill("NBSWY3DPEB3W64TMMQQHI2DJOMQGS4ZAORSXQ5BA "),
		"blanks":       fill(" "),
		"accents":      fill("é ü å "),
		"assignments":  fill("server=a;password=bb;"),
		"names":        fill("twitter=aaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaa "),
		"users":        fill("auth-user-pass=aaaaaa;"),
		"prefixes":     fill("glpat-"),
		"keys":         fill("key=key="),
		"waiting":      fill("telnet /inet/tcp/1/a/1 getline "),
		"no secrets":   fill("SNYKKEY||2bf3c4aC-0C1A- "),
		"in disguise":  other("th3 c4t# s4t 0n th3 m4t w1th h1s h4t\n"),
		"dotted":       other("t.h.e c.a.t s.a.t o.n t.h.e m.a.t w.i.t.h #\n"),
		"misspelt":     other("teh whitte catt sett on teh mattt with hiss blak hatt #\n"),
		"backwards":    other("eht elttil tac saw gnittis no eht #\n"),
		"alike":        other("τhε lιττlε cατ wας sιττιng οn τhε # mατ\n"),
		"upside down":  other("ʇɐɯ ǝɥʇ uo ʇɐs ʇɐɔ ǝɥʇ #\n"),
		"column":       fill("the\ncat\nsat\n"),
		"together":     fill("thelittlecatwassittingonthematandthecat"),
		"entities too": other("t&#104;e c&#97;t s&#97;t o&#110; th&#101; m&#97;t #\n"),
		"bits":         fill("\u200b\u200c"),
	}
}

// slowUnits are repeated.
var slowUnits = []string{
	"install ", "pip ", "pip install", "add the package ", "must be installed ", "npm i - ", "go get ", "安装 ",
	"it should be. ", "\n- install\n", "python -m ",
	"secret = 'x", "key: token = ", "password=\"", "s.abcdefghijklmnopqrst ", "-----BEGIN PRIVATE KEY-----",
	"://a:b@",
	"authorization: ", "eyJ", "curl -u ",
	"/etc/", "/../", "~/", "file:/", "=/x", "$HOME/", "C:\\a", "unix:",
	"x=\"a\"+", "chr(47)+", "\"\".join([", "f'{x}", "a.b(", "os.path.join('/',", "'%s' % ", "[47,", "x += 'a'\n",
	"'''", "\\x2f", "\"a\" \"b\" ", "import os, ", "x='a';", "eval(x)\n", "x=[65,66,67,68];", "@", "((", "`",
	"<a ", "<!-- ", "a\u200b", "а", "[a]: b\n", "**a", "a\n", "\"a\": {", "{\"a\":", "YWJj", "%2f", "\\u0041",
	"0x41,",
	"41 42 43 44 ", "H4sIAAAA",
}

// slowLines make lines at random, of the kinds that took longest of all that were tried.
func slowLines() map[string]func() string {
	r := rand.New(rand.NewPCG(3, 5))
	word := func(letters string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	const (
		all    = "abcdefghijklmnopqrstuvwxyz"
		harder = "bcdfghjklmnprst"
	)
	some := func() string { return word(all, 2+r.IntN(8)) }
	many := func(n int, between string, w func() string) string {
		ws := make([]string, n)
		for i := range ws {
			ws[i] = w()
		}
		return strings.Join(ws, between)
	}
	plain := strings.Fields("please delete the archive run command network approval policy table customer send open " +
		"next step file operator tool user and is of to was not")
	return map[string]func() string{
		"sentences": func() string {
			return fmt.Sprintf("%s the %s of %s and %s was %s %s", some(), some(), some(), some(), some(), some())
		},
		"words": func() string { return many(14, " ", func() string { return plain[r.IntN(len(plain))] }) },
		"clauses": func() string {
			return many(16, ", ", func() string { return plain[r.IntN(len(plain))] + " " + some() })
		},
		"letters apart": func() string { return many(40, " ", func() string { return word(all, 1) }) },
		"short words":   func() string { return many(15, " ", func() string { return word(harder, 3) }) },
		"mixed letters": func() string {
			return many(8, " ", func() string {
				w := []byte(plain[r.IntN(len(plain))])
				r.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
				return string(w)
			})
		},
		"escapes": func() string {
			return many(12, " ", func() string {
				return fmt.Sprintf(`\x%02x\u%04x %s`, 33+r.IntN(90), 33+r.IntN(90),
					word(all, 1))
			})
		},
		"dump":    func() string { return many(16, " ", func() string { return fmt.Sprintf("%02x", 33+r.IntN(90)) }) },
		"numbers": func() string { return many(20, ", ", func() string { return fmt.Sprint(33 + r.IntN(90)) }) },
		"calls": func() string {
			return many(20, "+", func() string {
				return fmt.Sprintf("chr(%d)",
					33+r.IntN(90))
			})
		},
		"joined": func() string {
			return many(8, " ", func() string {
				return fmt.Sprintf("['%s','%s'].join('')", word(all, 3),
					word(all, 3))
			})
		},
		"one word": func() string { return word(all, 1) + strings.Repeat("-"+word(all, 1), 900) },
		"hyphens":  func() string { return many(7, "-", func() string { return plain[r.IntN(len(plain))] }) },
		"programs": func() string {
			return fmt.Sprintf("curl %s wget %s python -c base64 -d %s", some(), some(),
				some())
		},
		"quotes": func() string { return many(8, " + ", func() string { return `"` + word(all, 2) + `"` }) },
		"base64": func() string { return word(all+"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/", 60) },
	}
}

// TestTooMuchToJudge: what could not be judged does not pass, and the finding says what to
// do about it, not what to do about a payload.
func TestTooMuchToJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	some := func() string {
		b := make([]byte, 2+r.IntN(8))
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz"[r.IntN(26)]
		}
		return string(b)
	}
	text := func(size int) []byte {
		var b strings.Builder
		for b.Len() < size {
			fmt.Fprintf(&b, "%s the %s of %s and %s was %s %s\n", some(), some(), some(), some(), some(), some())
		}
		return resultOf(t, b.String())
	}
	if fs := judgeResult(text(64 << 10)); schemas.VerdictOf(fs) == schemas.VerdictReject {
		t.Errorf("64 KB are refused: %+v", fs[0])
	}
	fs := judgeResult(resultOf(t, strings.Repeat("powershell nc curl | base64 -d\n", 60<<10)))
	i := slices.IndexFunc(fs, func(f schemas.Finding) bool { return strings.Contains(f.Hint, "less text") })
	if i < 0 || fs[i].Severity != schemas.SeverityBlocking {
		t.Errorf("2 MB: %+v", fs)
	}
}
