package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/paths"
)

// Bounds of "## Inputs (JSON)".
const (
	maxJSONBytes  = 256 << 10
	maxJSONDepth  = 32
	maxJSONTokens = 200000
	maxVariables  = 256
)

// identifier says whether a name can be one in Python. It is no longer than anybody needs.
func identifier(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return name != "" && len(name) <= 100
}

// pythonKeyword says whether a name can't be a variable in Python.
func pythonKeyword(name string) bool {
	switch name {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
		"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

// inputsJSON reads "## Inputs (JSON)": one fenced block with one JSON object.
func (rr *requestReader) inputsJSON(s *document.Section) {
	text, offset, ok := rr.fence(s, "request.inputs_json", "JSON object", "json")
	if !ok {
		return
	}
	if len(text) > maxJSONBytes {
		rr.at("request.inputs_json", offset, "pass data as input files", "the object has %d bytes, %d are allowed", len(text), maxJSONBytes)
		return
	}
	var compact bytes.Buffer
	compact.Grow(len(text))
	valid := json.Compact(&compact, []byte(text)) == nil
	if rr.json(text, offset, valid) {
		rr.req.InputsJSON = compact.Bytes()
	}
}

// jsonReader walks one JSON text that is known to be valid: it looks at what a
// parser would pass over (keys given twice, depth, halves of characters), and
// needs the place of everything.
type jsonReader struct {
	rr     *requestReader
	text   string
	offset int
	pos    int
	ok     bool
	tokens int
	plain  bool // no string of it holds an escape or a replacement character
}

// json says whether text, one JSON value if it is valid, is an object whose keys can be
// variables.
func (rr *requestReader) json(text string, offset int, valid bool) bool {
	start := len(text) - len(strings.TrimLeft(text, " \t\n"))
	r := &jsonReader{rr: rr, text: text, offset: offset, pos: start, ok: true}
	r.plain = strings.IndexByte(text, '\\') < 0 && !strings.Contains(text, "\uFFFD")
	if valid && strings.HasPrefix(text[start:], "{") {
		r.value(0)
		return r.ok
	}
	var whole json.RawMessage
	probe := json.NewDecoder(strings.NewReader(text))
	if err := probe.Decode(&whole); err != nil {
		var syntax *json.SyntaxError
		at := len(strings.TrimRight(text, " \t\n"))
		what := "the JSON ends too early"
		if errors.As(err, &syntax) {
			at, what = int(syntax.Offset)-1, syntax.Error()
		} else if errors.Is(err, io.EOF) {
			what = "the block is empty"
		}
		r.report(min(max(at, 0), len(text)), `write one object, such as {"rows": 10}`, "not valid JSON: %s", strings.Trim(document.Quote(what), `"`))
		return false
	}
	if rest := strings.TrimLeft(text[probe.InputOffset():], " \t\n"); rest != "" {
		r.report(len(text)-len(rest), "keep one object", "there is more than one JSON value")
	}
	if !strings.HasPrefix(string(whole), "{") {
		r.report(start, `write one object, such as {"rows": 10}: its keys become variables`, "the JSON is %s, not an object", jsonKind(whole))
		return false
	}
	r.value(0)
	return r.ok
}

func (r *jsonReader) report(at int, hint, format string, args ...any) {
	r.ok = false
	r.rr.at("request.inputs_json", r.offset+at, hint, format, args...)
}

func jsonKind(raw json.RawMessage) string {
	switch raw[0] {
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "a truth value"
	case 'n':
		return "null"
	}
	return "a number"
}

// blanks steps over white space, commas and colons.
func (r *jsonReader) blanks() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.pos++
		default:
			return
		}
	}
}

func endsNumber(c byte) bool {
	return c <= ' ' || c == ',' || c == ']' || c == '}' // it is valid JSON: no other controls
}

// str reads the string at the place.
func (r *jsonReader) str() (value string, at int) {
	at = r.pos
	if r.plain {
		n := max(0, strings.IndexByte(r.text[at+1:], '"')) // valid JSON has one
		r.pos = at + 1 + n + 1
		return r.text[at+1 : at+1+n], at
	}
	for r.pos++; r.pos < len(r.text) && r.text[r.pos] != '"'; r.pos++ {
		if r.text[r.pos] == '\\' {
			r.pos++
		}
	}
	r.pos++
	raw := r.text[at:min(r.pos, len(r.text))]
	if strings.IndexByte(raw, '\\') < 0 {
		value = raw[1 : len(raw)-1]
	} else if err := json.Unmarshal([]byte(raw), &value); err != nil {
		r.ok = false
	}
	r.text16(value, raw, at)
	return value, at
}

// value reads one value; it says whether to go on.
func (r *jsonReader) value(depth int) bool {
	r.blanks()
	at := r.pos
	if r.tokens++; r.tokens > maxJSONTokens {
		r.report(at, "pass data as input files", "the object holds more than %d values", maxJSONTokens)
		return false
	}
	switch c := r.text[at]; c {
	case '{', '[':
		if depth >= maxJSONDepth {
			r.report(at, "keep the data flat, or pass it as an input file", "the object nests deeper than %d levels", maxJSONDepth)
			return false
		}
		r.pos++
		if c == '{' {
			return r.object(depth)
		}
		for r.blanks(); r.text[r.pos] != ']'; r.blanks() {
			if !r.value(depth + 1) {
				return false
			}
		}
		r.pos++
	case '"':
		s, _ := r.str()
		r.paths(s, at)
	default:
		for r.pos < len(r.text) && !endsNumber(r.text[r.pos]) {
			r.pos++
		}
		r.number(r.text[at:r.pos], at)
	}
	return true
}

// number looks at a number, or at a word of JSON.
func (r *jsonReader) number(s string, at int) {
	if word := s[0] == 't' || s[0] == 'f' || s[0] == 'n'; word {
		return
	}
	if len(s) > 1000 {
		r.report(at, "use a smaller number", "the number has %d digits", len(s))
	} else if strings.ContainsAny(s, ".eE") {
		if f, err := strconv.ParseFloat(s, 64); err != nil || math.IsInf(f, 0) {
			r.report(at, "use a number that fits", "the number %s is out of range", document.Quote(s))
		}
	}
}

// keys are those of one object. Most have a few, for which a list is quicker than a map.
type keys struct {
	few [8]string
	all map[string]bool // from the ninth on
	n   int
}

// add says whether a key is a new one.
func (k *keys) add(key string) bool {
	if k.n < len(k.few) {
		if slices.Contains(k.few[:k.n], key) {
			return false
		}
		k.few[k.n] = key
		k.n++
		return true
	}
	if k.all == nil {
		k.all = make(map[string]bool, 4*len(k.few))
		for _, f := range k.few {
			k.all[f] = true
		}
	}
	if k.all[key] {
		return false
	}
	k.all[key] = true
	k.n++
	return true
}

// object reads the members of an object and its end.
func (r *jsonReader) object(depth int) bool {
	var seen keys
	for r.blanks(); r.text[r.pos] != '}'; r.blanks() {
		r.tokens++
		key, at := r.str()
		switch {
		case !seen.add(key):
			r.report(at, "keep one of them", "the key %s is given twice", document.Quote(key))
		case depth == 0 && pythonKeyword(key):
			r.report(at, "choose another name", "%s is a word of Python and can't be a variable", document.Quote(key))
		case depth == 0 && !identifier(key):
			r.report(at, "use letters, digits and underscores, and begin with a letter", "%s can't be the name of a variable", document.Quote(key))
		}
		if depth == 0 && seen.n > maxVariables {
			r.report(at, "put the values into one object", "there are more than %d variables", maxVariables)
			return false
		}
		if !r.value(depth + 1) {
			return false
		}
	}
	r.pos++
	return true
}

// paths looks for paths of the host in a value.
func (r *jsonReader) paths(s string, at int) {
	for _, ref := range paths.Find(s, paths.Literal) {
		code.PathNote(ref, func(rule, message, hint string) {
			r.rr.at(rule, r.offset+at, hint, "%s", message)
		})
	}
}

// text16 refuses halves of characters: the decoder replaces them silently, so a
// program would see other text than the reviewer.
func (r *jsonReader) text16(s, raw string, at int) {
	if !strings.ContainsRune(s, '\uFFFD') {
		return
	}
	if !strings.Contains(raw, "\uFFFD") && !strings.Contains(strings.ToLower(raw), `\ufffd`) {
		r.report(at, "write the character itself", "%s holds half of a surrogate pair", document.Quote(fmt.Sprintf("%.20s", raw)))
	}
}
