package validate

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
		value := jsontext.Value(text)
		if value.Compact() == nil {
			rr.req.InputsJSON = value
		}
	}
}

// jsonReader walks the tokens of one JSON text, and knows the place of everything. Names of variables, keys given
// twice, numbers out of range and paths are reported, each at its place; what is no JSON ends it.
type jsonReader struct {
	rr     *requestReader
	text   string
	offset int
	dec    *jsontext.Decoder
	ok     bool
}

const objectHint = `write one object, such as {"rows": 10}: its keys become variables`

// json says whether text is one JSON object whose keys can be variables.
func (rr *requestReader) json(text string, offset int) bool {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	r := &jsonReader{rr: rr, text: text, offset: offset, ok: true, dec: dec}
	if kind := dec.PeekKind(); kind != jsontext.KindInvalid && kind != '{' {
		r.report(r.at(), objectHint, "the JSON is not an object")
	} else if r.value(0) && r.at() < len(text) {
		r.report(r.at(), objectHint, "there is more than one JSON value")
	}
	return r.ok
}

func (r *jsonReader) report(at int, hint, format string, args ...any) {
	r.ok = false
	r.rr.at("request.inputs_json", r.offset+at, hint, format, args...)
}

// at is where the next token begins.
func (r *jsonReader) at() int {
	rest := r.text[r.dec.InputOffset():]
	return len(r.text) - len(strings.TrimLeft(rest, " \t\r\n,:"))
}

// next reads one token and says where it begins.
func (r *jsonReader) next() (token jsontext.Token, at int, ok bool) {
	at = r.at()
	token, err := r.dec.ReadToken()
	if err == nil {
		return token, at, true
	}
	at, what := len(strings.TrimRight(r.text, " \t\n")), "it ends too early"
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		at, what = int(syntax.ByteOffset), strings.Trim(document.Quote(syntax.Err.Error()), `"`)
	}
	r.report(at, objectHint, "not valid JSON: %s", what)
	return token, at, false
}

// value reads one value; it says whether to go on.
func (r *jsonReader) value(depth int) bool {
	token, at, ok := r.next()
	if !ok {
		return false
	}
	switch kind := token.Kind(); kind {
	case '"':
		for _, ref := range reach.Paths(token.String(), reach.Literal) {
			code.PathNote(ref, func(rule, message, hint string) { r.rr.at(rule, r.offset+at, hint, "%s", message) })
		}
	case '0':
		if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
			r.report(at, "use a number that fits", "the number %s is out of range", document.Quote(token.String()))
		}
	case '{', '[':
		if depth >= maxJSONDepth {
			r.report(at, "keep the data flat, or pass it as an input file", "the object nests deeper than %d levels",
				maxJSONDepth)
			return false
		}
		seen := map[string]bool{}
		for end := r.dec.PeekKind(); end != '}' && end != ']'; end = r.dec.PeekKind() {
			if kind == '{' && !r.key(seen, depth) || !r.value(depth+1) {
				return false
			}
		}
		_, _, ok = r.next() // the end
	}
	return ok
}

// key reads the key of a member; it says whether to go on.
func (r *jsonReader) key(seen map[string]bool, depth int) bool {
	token, at, ok := r.next()
	if !ok {
		return false
	}
	key := token.String()
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
