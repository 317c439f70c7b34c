package channel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
	"golang.org/x/net/html"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/secrets"
)

// MaxPartial is the size of the largest file of which a part is withheld. Of a larger one all is.
const MaxPartial = 4 << 20

// A format says where text may be withheld so that a file parses as before.
type format struct {
	// places are those whose content may change: values, comments, text. ok says that the file parses.
	places func(raw []byte) (places [][2]int, ok bool)
	// whole says that a place is withheld whole; else it is the unit of text inside of it.
	whole bool
}

// formatOf is the format of a file by its name: nil if a part of such a file is never withheld. A marker in a patch
// would be applied as code, and one in a list of checksums be taken for one.
func formatOf(name string) *format {
	name = strings.ToLower(path.Base(name))
	switch ext := strings.TrimPrefix(path.Ext(name), "."); ext {
	case "json", "jsonl", "ndjson", "geojson":
		return &format{places: jsonValues, whole: true}
	case "csv":
		return &format{places: fields(','), whole: true}
	case "tsv":
		return &format{places: fields('\t'), whole: true}
	case "html", "htm":
		return &format{places: textNodes}
	case "yaml", "yml":
		return &format{places: yamlValues}
	case "py", "rb", "pl", "r", "jl", "ex", "tcl":
		return &format{places: source{line: []string{"#"}, quotes: `"'`, triple: true}.places}
	case "js", "mjs", "ts", "tsx", "jsx", "go", "rs", "c", "h", "cc", "cpp", "hpp", "java", "kt", "swift", "cs", "dart":
		return &format{places: source{line: []string{"//"}, open: "/*", end: "*/", quotes: "\"'`"}.places}
	case "sql", "lua", "hs":
		return &format{places: source{line: []string{"--"}, open: "/*", end: "*/", quotes: `"'`}.places}
	case "txt", "md", "markdown", "rst", "log", "out", "":
		if !strings.Contains(name, "sums") {
			return &format{}
		}
	}
	return nil
}

// File judges a file whose text may be withheld in part; masked and released are as for Judge. shown is the file with
// markers, and parses as before; ok is false if that can't be had.
func File(name string, raw []byte, masked *secrets.Set, released ...schemas.Release) (v Verdict, shown []byte,
	ok bool) {
	f := formatOf(name)
	if f == nil || len(raw) > MaxPartial || HasMarker(raw) {
		return v, nil, false
	}
	v = Verdict{secrets: masked, released: released, units: textUnits}
	var places [][2]int
	if f.places != nil {
		if places, ok = f.places(raw); !ok {
			return v, nil, false
		}
		v.units = f.units(places)
	}
	for _, p := range masked.Find(raw) {
		if _, inside := within(raw, places, p[0], p[1]); f.places != nil && !inside {
			return v, nil, false
		}
		v.Withheld = append(v.Withheld, Span{Rule: RuleSecrets, What: "it holds a secret", From: p[0], To: p[1]})
	}
	v.judge(raw)
	shown = Whole(raw, v)
	if v.whole || len(v.Refused) > 0 || len(v.Withheld) == 0 {
		return v, nil, false
	}
	if f.places != nil {
		if after, ok := f.places(shown); !ok || len(after) != len(places) {
			return v, nil, false
		}
	}
	return v, shown, true
}

func textUnits(raw []byte, from, to int) [][2]int {
	lo, hi := unit(raw, from, to)
	return [][2]int{{lo, hi}}
}

// units finds what is withheld for a hit: of the places that it touches those that break a rule by themselves, or else
// all if nothing of it stands outside of them.
func (f *format) units(places [][2]int) func(raw []byte, from, to int) [][2]int {
	return func(raw []byte, from, to int) (out [][2]int) {
		touched, whole := within(raw, places, from, to)
		guilty := slices.DeleteFunc(slices.Clone(touched), func(p [2]int) bool { return !guilty(raw[p[0]:p[1]]) })
		if len(guilty) > 0 {
			touched = guilty
		} else if !whole {
			return nil
		}
		for _, p := range touched {
			if !f.whole {
				lo, hi := unit(raw, max(from, p[0]), min(to, p[1]))
				p = [2]int{max(lo, p[0]), min(hi, p[1])}
			}
			out = append(out, p)
		}
		return out
	}
}

func guilty(text []byte) bool {
	return slices.ContainsFunc(content.Scan(text),
		func(h content.Hit) bool { return content.TierOf(h.Rule) == content.Withhold })
}

// within are the places that raw[from:to] touches. whole says that no letter or digit of it stands outside of them.
func within(raw []byte, places [][2]int, from, to int) (touched [][2]int, whole bool) {
	i, _ := slices.BinarySearchFunc(places, from, func(p [2]int, from int) int { return cmp.Compare(p[1], from+1) })
	at := from
	inside := func(to int) bool {
		return !bytes.ContainsFunc(raw[at:max(at, to)],
			func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	}
	for whole = true; i < len(places) && places[i][0] < to; i++ {
		whole = whole && inside(places[i][0])
		touched = append(touched, places[i])
		at = max(at, min(places[i][1], to))
	}
	return touched, whole && inside(to)
}

// jsonValues are the insides of the strings of JSON, or of lines of JSON, that are no keys.
func jsonValues(raw []byte) (places [][2]int, ok bool) {
	if !json.Valid(raw) {
		for line := range bytes.Lines(raw) {
			if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) {
				return nil, false
			}
		}
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		from := i + 1
		for i = from; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		if !bytes.HasPrefix(bytes.TrimLeft(raw[i+1:], blanks), []byte(":")) {
			places = append(places, [2]int{from, i})
		}
	}
	return places, true
}

// fields returns a reader of tables: the insides of all fields behind the first row.
func fields(comma byte) func(raw []byte) ([][2]int, bool) {
	return func(raw []byte) (places [][2]int, ok bool) {
		row := 0
		for i := 0; i < len(raw); i++ {
			from, to := i, 0
			if raw[i] == '"' {
				for from, i = i+1, i+1; i < len(raw) && (raw[i] != '"' || i+1 < len(raw) && raw[i+1] == '"'); i++ {
					if raw[i] == '"' {
						i++
					}
				}
				if to = i; i == len(raw) {
					return nil, false
				}
				i++
			}
			for i < len(raw) && raw[i] != comma && raw[i] != '\n' {
				i++
			}
			if to == 0 {
				to = i
			}
			if row > 0 {
				places = append(places, [2]int{from, to})
			}
			if i < len(raw) && raw[i] == '\n' {
				row++
			}
		}
		return places, true
	}
}

// raw text of HTML, which a browser does not show as text.
var rawText = []string{"script", "style", "title", "textarea", "iframe", "noscript"}

// textNodes are the texts and comments of HTML.
func textNodes(raw []byte) (places [][2]int, ok bool) {
	in := ""
	z := html.NewTokenizer(bytes.NewReader(raw))
	for at := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return places, true
		}
		to := at + len(z.Raw())
		switch name, _ := z.TagName(); {
		case kind == html.StartTagToken:
			in = string(name)
		case kind == html.EndTagToken:
			in = ""
		case kind == html.TextToken && !slices.Contains(rawText, in):
			places = append(places, [2]int{at, to})
		case kind == html.CommentToken && bytes.HasPrefix(raw[at:to], []byte("<!--")) && to-at > len("<!---->"):
			places = append(places, [2]int{at + len("<!--"), to - len("-->")})
		}
		at = to
	}
}

// yamlValues are the comments and quoted values of YAML.
func yamlValues(raw []byte) (places [][2]int, ok bool) {
	places, ok = source{line: []string{"#"}, quotes: `"'`}.places(raw)
	for d := yaml.NewDecoder(bytes.NewReader(raw)); ok; {
		var n yaml.Node
		if err := d.Decode(&n); err != nil {
			ok = errors.Is(err, io.EOF)
			break
		}
	}
	return places, ok
}

// source is how a language marks comments and strings.
type source struct {
	line      []string
	open, end string // of comments over lines
	quotes    string
	triple    bool
}

// places are the insides of comments, and of strings that may hold any character.
func (s source) places(raw []byte) (places [][2]int, ok bool) {
	for i := 0; i < len(raw); {
		rest := raw[i:]
		line := slices.IndexFunc(s.line, func(mark string) bool { return bytes.HasPrefix(rest, []byte(mark)) })
		switch {
		case line >= 0 && (s.line[line] != "#" || s.triple || i == 0 || bytes.ContainsAny(raw[i-1:i], blanks)):
			to := lineStop(raw, i)
			places = append(places, [2]int{i + len(s.line[line]), to})
			i = to
		case s.open != "" && bytes.HasPrefix(rest, []byte(s.open)):
			n := bytes.Index(rest[len(s.open):], []byte(s.end))
			if n < 0 {
				return nil, false
			}
			places = append(places, [2]int{i + len(s.open), i + len(s.open) + n})
			i += len(s.open) + n + len(s.end)
		case strings.IndexByte(s.quotes, raw[i]) >= 0:
			mark := rest[:1]
			if triple := bytes.Repeat(mark, 3); s.triple && bytes.HasPrefix(rest, triple) {
				mark = triple
			}
			n := closing(rest[len(mark):], mark)
			if mark[0] == '\'' && !s.triple && i > 0 && unicode.IsLetter(rune(raw[i-1])) {
				n = -1
			}
			if n < 0 && len(mark) > 1 {
				return nil, false
			}
			if n < 0 { // an apostrophe
				i++
				continue
			}
			if i == 0 || raw[i-1] != 'b' && raw[i-1] != 'B' { // bytes hold no other characters
				places = append(places, [2]int{i + len(mark), i + len(mark) + n})
			}
			i += 2*len(mark) + n
		default:
			i++
		}
	}
	return places, true
}

// closing is where in text the string ends that mark closes, or -1. One of a single quote ends on its line.
func closing(text, mark []byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case bytes.HasPrefix(text[i:], mark):
			return i
		case text[i] == '\n' && len(mark) == 1 && mark[0] != '`':
			return -1
		}
	}
	return -1
}
