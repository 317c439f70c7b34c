package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/reach"
)

// Bounds of "## Inputs (JSON)".
const (
	maxJSONBytes = 256 << 10
	maxJSONDepth = 32
	maxVariables = 256
)

// A name of a variable of Python, no longer than anybody needs, and the words that are none.
var (
	identifier     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	pythonKeywords = strings.Fields(`False None True and as assert async await break class continue def del elif
		else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)
)

// inputsJSON reads "## Inputs (JSON)": one fenced block with one JSON object.
func (rr *requestReader) inputsJSON(s *document.Section) {
	text, offset, ok := rr.fence(s, "request.inputs_json", "JSON object", "json")
	if !ok {
		return
	}
	if len(text) > maxJSONBytes {
		rr.at("request.inputs_json", offset, "pass data as input files", "the object has %d bytes, %d are allowed",
			len(text), maxJSONBytes)
		return
	}
	if rr.json(text, offset) {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(text)) == nil {
			rr.req.InputsJSON = compact.Bytes()
		}
	}
}

// jsonReader walks the tokens of one valid JSON text: it looks at what a decoder passes
// over (keys given twice, depth, halves of characters), and at the place of everything.
type jsonReader struct {
	rr     *requestReader
	text   string
	offset int
	dec    *json.Decoder
	ok     bool
}

// json says whether text is one JSON object whose keys can be variables.
func (rr *requestReader) json(text string, offset int) bool {
	r := &jsonReader{rr: rr, text: text, offset: offset, ok: true, dec: json.NewDecoder(strings.NewReader(text))}
	r.dec.UseNumber()
	const hint = `write one object, such as {"rows": 10}: its keys become variables`
	var whole json.RawMessage
	probe := json.NewDecoder(strings.NewReader(text))
	if err := probe.Decode(&whole); err != nil {
		var syntax *json.SyntaxError
		at, what := len(strings.TrimRight(text, " \t\n")), "it ends too early"
		if errors.As(err, &syntax) {
			at, what = int(syntax.Offset)-1, strings.Trim(document.Quote(syntax.Error()), `"`)
		}
		r.report(min(max(at, 0), len(text)), hint, "not valid JSON: %s", what)
		return false
	}
	if rest := strings.TrimLeft(text[probe.InputOffset():], " \t\n"); rest != "" {
		r.report(len(text)-len(rest), hint, "there is more than one JSON value")
	}
	if whole[0] != '{' {
		r.report(strings.IndexByte(text, whole[0]), hint, "the JSON is not an object")
		return false
	}
	r.value(0)
	return r.ok
}

func (r *jsonReader) report(at int, hint, format string, args ...any) {
	r.ok = false
	r.rr.at("request.inputs_json", r.offset+at, hint, format, args...)
}

// next reads one token of valid JSON and says where it begins.
func (r *jsonReader) next() (token json.Token, at int) {
	at = int(r.dec.InputOffset())
	at += len(r.text[at:]) - len(strings.TrimLeft(r.text[at:], " \t\r\n,:"))
	token, err := r.dec.Token()
	if err != nil {
		r.ok = false
	}
	// The decoder replaces halves of characters silently, so that a program would see
	// other text than the reviewer.
	raw := r.text[at:r.dec.InputOffset()]
	written := strings.Contains(raw, "\uFFFD") || strings.Contains(strings.ToLower(raw), `\ufffd`)
	if s, text := token.(string); text && strings.ContainsRune(s, '\uFFFD') && !written {
		r.report(at, "write the character itself", "%s holds half of a surrogate pair",
			document.Quote(fmt.Sprintf("%.20s", raw)))
	}
	return token, at
}

// value reads one value; it says whether to go on.
func (r *jsonReader) value(depth int) bool {
	token, at := r.next()
	switch v := token.(type) {
	case string:
		for _, ref := range reach.Paths(v, reach.Literal) {
			code.PathNote(ref, func(rule, message, hint string) { r.rr.at(rule, r.offset+at, hint, "%s", message) })
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			r.report(at, "use a number that fits", "the number %s is out of range", document.Quote(string(v)))
		}
	case json.Delim:
		if depth >= maxJSONDepth {
			r.report(at, "keep the data flat, or pass it as an input file", "the object nests deeper than %d levels",
				maxJSONDepth)
			return false
		}
		seen := map[string]bool{}
		for r.dec.More() {
			if v == '{' && !r.key(seen, depth) || !r.value(depth+1) {
				return false
			}
		}
		r.next() // the end
	}
	return true
}

// key reads the key of a member; it says whether to go on.
func (r *jsonReader) key(seen map[string]bool, depth int) bool {
	token, at := r.next()
	key, _ := token.(string)
	switch {
	case seen[key]:
		r.report(at, "keep one of them", "the key %s is given twice", document.Quote(key))
	case depth == 0 && (slices.Contains(pythonKeywords, key) || !identifier.MatchString(key)):
		r.report(at, "use letters, digits and underscores, begin with a letter, and take no word of Python",
			"%s can't be the name of a variable", document.Quote(key))
	}
	seen[key] = true
	if depth == 0 && len(seen) > maxVariables {
		r.report(at, "put the values into one object", "there are more than %d variables", maxVariables)
		return false
	}
	return true
}
