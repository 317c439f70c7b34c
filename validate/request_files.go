package validate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
)

// Bounds of a list of files, whatever the policy allows.
const (
	maxItems       = 1000
	maxDescription = 4000
)

// reservedOutput is what below /out the node writes itself: whole streams and places of words of others.
var reservedOutput = regexp.MustCompile(`(?i)^/out/(?:` +
	strings.ReplaceAll(regexp.QuoteMeta(strings.Join(schemas.StreamArtifacts, "\n")), "\n", "|") +
	`|ts-[^/]*` + regexp.QuoteMeta(schemas.SpansSuffix) + `)$`)

var (
	itemRe    = regexp.MustCompile(`^\s{0,3}((?:[-*+]|[0-9]{1,3}[.)])\s+)?`)
	itemPath  = regexp.MustCompile("^[*_`\"'\\[(]*(/[^\\s`\"'*]*)")
	innerPath = regexp.MustCompile("[\\s`\"'(*](/(?:in|out)/[^\\s`\"'*]*)")
	hashRe    = regexp.MustCompile(`\b[0-9a-fA-F]{64}\b`)
)

// files reads a section that lists files below top, one a line, with words about it
// that may go on in further lines.
func (rr *requestReader) files(s *document.Section, rule, top string) []place {
	hint := "write one line for each file: - " + top + "/NAME: what it is; or None"
	var out []place
	none, other := -1, false
	for _, l := range bodyLines(s) {
		m := itemRe.FindStringSubmatchIndex(l.text)
		bullet := m[2] >= 0
		text, offset := l.text[m[1]:], l.offset+m[1]
		from, to := pathIn(text, top, bullet)
		said := plain(text)
		switch {
		case bullet && from < 0 && noneRe.MatchString(said), len(out) == 0 && noneRe.MatchString(said):
			none = offset
		case bullet && from < 0 && streamRe.MatchString(said), len(out) == 0 && streamRe.MatchString(said):
			other = true
		case from >= 0 && (bullet || !strings.HasPrefix(l.text, "  ")):
			if len(out) == maxItems {
				rr.at(rule, l.offset, "pack small files into fewer ones", "the section lists more than %d files",
					maxItems)
				return out
			}
			out = append(out, rr.place(text, offset, from, to))
		case bullet:
			rr.at(rule, offset, hint, "the line %s does not name one file below %s", document.Quote(said), top)
			other = true
		default:
			rr.stated = append(rr.stated, statement{text: l.text, offset: l.offset})
			if n := len(out); n > 0 && len(out[n-1].description) < maxDescription {
				out[n-1].description = strings.TrimSpace(out[n-1].description + " " + strings.TrimSpace(text))
			}
		}
	}
	if none >= 0 && len(out) > 0 {
		rr.at(rule, none, hint, "the section says that there are no files but then lists some")
	} else if none < 0 && !other && len(out) == 0 {
		rr.at(rule, s.Offset, hint, "the section lists no file below %s and does not say None", top)
	}
	return out
}

// pathIn finds the path that a line is about: one at its start, or the only one of an item. from is -1 if
// there is none.
func pathIn(text, top string, item bool) (from, to int) {
	m := itemPath.FindStringSubmatchIndex(text)
	if m == nil && item {
		all := innerPath.FindAllStringSubmatchIndex(text, -1)
		all = slices.DeleteFunc(all, func(m []int) bool { return !strings.HasPrefix(text[m[2]:], top+"/") })
		if len(all) == 1 {
			m = all[0]
		}
	}
	if m == nil {
		return -1, -1
	}
	return m[2], m[2] + len(strings.TrimRight(text[m[2]:m[3]], ":,;.)]"))
}

// place is the path at text[from:to] with what is said about it.
func (rr *requestReader) place(text string, offset, from, to int) place {
	line, column := rr.doc.Pos(offset + from)
	description := strings.Join(strings.Fields(strings.TrimLeft(text[to:], " \t:,;.)]*_`\"'–—-")), " ")
	if description == "" {
		description = strings.Trim(plain(text[:from]), " :([-–—")
	}
	rr.strict = append(rr.strict, span{offset + from, offset + to})
	rr.stated = append(rr.stated, statement{text: text[to:], offset: offset + to})
	return place{path: text[from:to], line: line, column: column, description: description}
}

// inputFiles reads "## Input Files".
func (rr *requestReader) inputFiles(s *document.Section) {
	for _, p := range rr.files(s, "request.inputs", "/in") {
		if indexPath(rr.listed, p.path) >= 0 {
			rr.rep.AtLine("request.inputs", p.line, p.column, document.Quote(p.path)+" is listed twice",
				"list every file once")
		}
		rr.listed = append(rr.listed, p)
	}
}

// declaresDocumentation are the words with which a request says that it brings
// documentation.
const declaresDocumentation = "documentation text"

// outputs reads "## Output Expectations".
func (rr *requestReader) outputs(s *document.Section) {
	words := strings.Join(strings.Fields(strings.ToLower(string(s.Body))), " ")
	rr.req.Documentation = strings.Contains(words, declaresDocumentation)
	var seen []string
	for _, p := range rr.files(s, "request.outputs", "/out") {
		refuse := func(hint, format string, args ...any) {
			rr.rep.AtLine("request.outputs", p.line, p.column, fmt.Sprintf(format, args...), hint)
		}
		why, other := badPath(p.path, "/out"), overlap(p.path, seen)
		switch {
		case why != "":
			refuse("write it like /out/result.json", "the output path %s %s", document.Quote(p.path), why)
		case reservedOutput.MatchString(p.path):
			refuse("choose another name", "the node itself writes %s", document.Quote(p.path))
		case other != "":
			refuse("list every file once, under a path of its own", "the output path %s clashes with %s",
				document.Quote(p.path), document.Quote(other))
		default:
			seen = append(seen, p.path)
			rr.req.Outputs = append(rr.req.Outputs, schemas.OutputExpectation{Path: p.path, Description: p.description})
		}
	}
	if limit := rr.p.MaxOutputs; limit > 0 && len(seen) > limit {
		rr.at("request.outputs", s.Offset, "pack small files into fewer ones",
			"there are %d outputs, the node delivers %d", len(seen), limit)
	}
}

// agreement compares the section with the declared inputs, and the command with
// both lists. Where a declared path was refused already they can't agree.
func (rr *requestReader) agreement() {
	if rr.doc.Front == nil || rr.badInput {
		return
	}
	var inputs, outputs []string
	for _, in := range rr.req.Inputs {
		inputs = append(inputs, in.Path)
	}
	inTree := func(p string) bool {
		return slices.ContainsFunc(rr.req.Inputs, func(in schemas.Input) bool {
			return in.Unpack != "" && strings.HasPrefix(p, in.Path+"/")
		})
	}
	for _, o := range rr.req.Outputs {
		outputs = append(outputs, o.Path)
	}
	if s, ok := rr.doc.Find(sectionInputs); ok {
		rr.inputsAgree(s, inputs)
	}
	for _, w := range rr.req.Argv {
		_, value, attached := strings.Cut(w, "=")
		if !attached {
			value = w
		}
		p := strings.TrimSuffix(value, "/")
		covers := func(path string) bool { return path == p || strings.HasPrefix(path, p+"/") }
		begins := func(path string) bool { return strings.HasPrefix(path, p) } // of several outputs
		at := rr.commands[0].start
		switch {
		case !inPath.MatchString(p) && !outPath.MatchString(p):
		case strings.HasPrefix(p, "/in/") && !slices.ContainsFunc(inputs, covers) && !inTree(p):
			rr.at("request.inputs.undeclared", at, "declare it below inputs, or correct the path",
				"the command names %s, which is not a declared input: it will not be there", document.Quote(p))
		case strings.HasPrefix(p, "/out/") && !slices.ContainsFunc(outputs, begins):
			rr.at("request.outputs.undeclared", at, "list it in ## Output Expectations, or it is not delivered",
				"the command names %s, which is not a declared output", document.Quote(p))
		}
	}
}

// inputsAgree compares the section s with the paths of the declared inputs.
func (rr *requestReader) inputsAgree(s *document.Section, declared []string) {
	for i := range rr.req.Inputs {
		in := &rr.req.Inputs[i]
		j := indexPath(rr.listed, in.Path)
		if j < 0 {
			rr.at("request.inputs", s.Offset, "list it with a word about what it is",
				"the input %s is declared in the front matter and not listed in the section", document.Quote(in.Path))
			continue
		}
		l := rr.listed[j]
		in.Description = l.description
		if hash := hashRe.FindString(l.description); hash != "" && !strings.EqualFold(in.SHA256, hash) {
			rr.rep.AtLine("request.inputs", l.line, l.column,
				"the hash after "+document.Quote(l.path)+" is not the one in the front matter",
				"keep the hash in the front matter only")
		}
	}
	for _, l := range rr.listed {
		if slices.Contains(declared, l.path) {
			continue
		}
		why, hint := "has no hash in the front matter", "declare it below inputs; threegate approve computes the hashes"
		if bad := badPath(l.path, "/in"); bad != "" {
			why, hint = bad, "write it like /in/data.csv"
		}
		rr.rep.AtLine("request.inputs", l.line, l.column, "the input "+document.Quote(l.path)+" "+why, hint)
	}
}

func indexPath(list []place, p string) int {
	return slices.IndexFunc(list, func(l place) bool { return l.path == p })
}

// Inputs compares the declared inputs of req with the files that came along:
// files maps the path of each ("/in/...") to the SHA-256 of its claimed bytes
// in small hex digits. Every difference blocks.
func Inputs(req *schemas.Request, files map[string]string, p Policy) []schemas.Finding {
	rep := document.NewReport(nil)
	declared := map[string]bool{}
	if req != nil {
		for _, in := range req.Inputs {
			declared[in.Path] = true
			got, ok := files[in.Path]
			switch {
			case !ok:
				rep.Whole("request.inputs.missing",
					"the input "+document.Quote(in.Path)+" did not come along with the request",
					"put the file into the request's .inputs folder; threegate promote does so")
			case got != in.SHA256:
				rep.Whole("request.inputs.hash",
					fmt.Sprintf("the input %s is not the file that was approved: its SHA-256 is %s, declared is %s",
						document.Quote(in.Path), document.Quote(got), document.Quote(in.SHA256)),
					"review the file that is there and approve the request again: threegate approve")
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !declared[path] {
			rep.Whole("request.inputs.extra", "the file "+document.Quote(path)+" came along and is not declared",
				"declare it with its hash and have the request approved again, or remove it")
		}
	}
	return p.severities(rep.Findings())
}
