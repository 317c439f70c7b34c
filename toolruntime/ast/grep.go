package ast

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

// What ast-grep is asked for. The ids of rules are types of nodes, or say something of a node: isExported, isDocs;
// or of all within it: isTest, isInner.
const (
	isExported = "exported"
	isDocs     = "documented"
	isTest     = "test"
	isInner    = "inner"
	isError    = "error"
	isJSX      = "jsx"
)

func named(kinds ...string) string {
	var any []string
	for _, k := range kinds {
		any = append(any, fmt.Sprintf(`{kind: %s, has: {field: name, pattern: $NAME}}`, k))
	}
	return `{any: [` + strings.Join(any, ", ") + `]}`
}

const errorNode = `{kind: ERROR}`

var rust = map[string]string{
	isError:    errorNode,
	typeFn:     named("function_item", "function_signature_item"),
	typeType:   named("struct_item", "enum_item", "union_item", "trait_item", "type_item"),
	typeImport: `{kind: use_declaration, has: {field: argument, pattern: $NAME}}`,
	typePanic:  `{kind: macro_invocation, has: {field: macro, regex: "^panic$"}}`,
	typeUnwrap: `{pattern: $X.unwrap()}`,
	isExported: `{kind: function_item, has: {kind: visibility_modifier, regex: "^pub$"}}`,
	isTest: `{any: [{kind: mod_item}, {kind: function_item}], follows: {kind: attribute_item,
  regex: "\\btest\\b", stopBy: {not: {kind: attribute_item}}}}`,
}

var python = map[string]string{
	isError:  errorNode,
	typeFn:   named("function_definition"),
	typeType: named("class_definition"),
	typeImport: `{any: [
  {kind: dotted_name, inside: {any: [{kind: import_statement},
    {kind: aliased_import, inside: {kind: import_statement}}]}},
  {any: [{kind: dotted_name}, {kind: relative_import}], inside: {kind: import_from_statement, field: module_name}}]}`,
	isExported: `{kind: function_definition, has: {field: name, regex: "^[^_]"}}`,
	isDocs: `{kind: function_definition, has: {field: body, has: {nthChild: 1, kind: expression_statement,
  has: {kind: string}}}}`,
	isInner: `{kind: function_definition}`,
}

// script is what JavaScript and TypeScript have in common.
func script(more map[string]string, types ...string) map[string]string {
	rules := map[string]string{
		isError: errorNode,
		typeFn: `{any: [` + named("function_declaration", "generator_function_declaration", "method_definition") + `,
  {kind: variable_declarator, all: [{has: {field: name, pattern: $NAME}},
    {has: {field: value, any: [{kind: arrow_function}, {kind: function_expression}]}}]}]}`,
		typeType: named(types...),
		typeImport: `{kind: string, any: [
  {inside: {any: [{kind: import_statement}, {kind: export_statement}], field: source}},
  {inside: {kind: arguments, inside: {kind: call_expression, has: {field: function, regex: "^(require|import)$"}}}}]}`,
		isExported: `{any: [
  {any: [{kind: function_declaration}, {kind: generator_function_declaration}], inside: {kind: export_statement}},
  {kind: variable_declarator, inside: {any: [{kind: lexical_declaration}, {kind: variable_declaration}],
    inside: {kind: export_statement}}}]}`,
	}
	maps.Copy(rules, more)
	return rules
}

// c are the rules of C; its C++ has classes.
func c(types ...string) map[string]string {
	return map[string]string{
		isError: errorNode,
		typeFn: `{kind: function_definition, has: {kind: function_declarator, stopBy: end,
  has: {field: declarator, pattern: $NAME}}}`,
		typeType:   named(types...),
		typeImport: `{kind: preproc_include, has: {field: path, pattern: $NAME}}`,
	}
}

var jsx = map[string]string{isJSX: `{any: [{kind: jsx_element}, {kind: jsx_self_closing_element}]}`}

var tsTypes = []string{"class_declaration", "abstract_class_declaration", "interface_declaration",
	"type_alias_declaration", "enum_declaration"}

var structures = map[string]map[string]string{
	"rust": rust, "python": python, "javascript": script(jsx, "class_declaration"),
	"typescript": script(nil, tsTypes...), "tsx": script(nil, tsTypes...),
	"c":   c("struct_specifier", "enum_specifier", "union_specifier"),
	"cpp": c("struct_specifier", "enum_specifier", "union_specifier", "class_specifier"),
}

// found is one match as ast-grep prints it.
type found struct {
	File   string `json:"file"`
	Text   string `json:"text"`
	RuleID string `json:"ruleId"`
	Range  struct {
		Bytes Span `json:"byteOffset"`
		Start struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
	Variables struct {
		Single map[string]captured   `json:"single"`
		Multi  map[string][]captured `json:"multi"`
	} `json:"metaVariables"`
}

// captured is what a $NAME stands for.
type captured struct {
	Text  string `json:"text"`
	Range struct {
		Bytes Span `json:"byteOffset"`
	} `json:"range"`
}

// scan runs ast-grep's rules over sources that one of them is for.
func scan(ctx context.Context, srcs []*source, rules string, each func(*source, found)) error {
	do := func(part []*source) (bool, error) {
		out, err := run(ctx, part, func(names []string) []string {
			return append([]string{"ast-grep", "scan", "--config", "sgconfig.yml", "--custom-languages", "ignore",
				"--inline-rules", rules, "--json=stream", "--color", "never", "--"}, names...)
		}, map[string]string{"sgconfig.yml": "ruleDirs: []\n"})
		switch {
		case err != nil:
			return false, err
		case out.Truncated || out.Code >= 128:
			return false, nil
		case out.Code != 0:
			return false, refused(out)
		}
		for line := range bytes.Lines([]byte(out.Stdout)) {
			var f found
			if err := json.Unmarshal(line, &f); err != nil {
				return false, contract.Errorf(contract.Internal, "ast-grep printed what can't be read: %v", err)
			}
			number, _, _ := strings.Cut(f.File, ".")
			i, err := strconv.Atoi(number)
			if err != nil || i < 0 || i >= len(part) || f.Range.Bytes.End > len(part[i].data) ||
				f.Range.Bytes.Start < 0 || f.Range.Bytes.Start > f.Range.Bytes.End {
				return false, contract.Errorf(contract.Internal, "ast-grep names a place that is none")
			}
			each(part[i], f)
		}
		return true, nil
	}
	return batches(srcs, do, func(s *source) { s.trouble = "it is too deep or too much for ast-grep" })
}

// refused is why ast-grep does not take a rule or pattern.
func refused(out proc.Output) error {
	said := strings.Join(strings.Fields(strings.ToValidUTF8(out.Stderr, "\uFFFD")), " ")
	return contract.Errorf(contract.Validation, "ast-grep: %.500s", said).
		WithHint("a pattern is code of the language, with $NAME for one node and $$$NAME for several")
}

// look finds the nodes of sources, and the errors of those without a parser of their own.
func look(ctx context.Context, srcs []*source) (problems []Problem, err error) {
	marks := map[*source]map[string][]Span{}
	var others []*source
	langs := map[string]bool{}
	for _, s := range srcs {
		switch {
		case s.trouble != "" || s.nodes != nil:
		case s.lang == "go":
			s.nodes = goNodes(s)
		case structures[s.lang] != nil:
			others, langs[s.lang], marks[s] = append(others, s), true, map[string][]Span{}
		}
	}
	if len(others) == 0 {
		return nil, nil
	}
	var rules []string
	for lang := range langs {
		for id, rule := range structures[lang] {
			rules = append(rules, fmt.Sprintf("id: %s.%s\nlanguage: %s\nrule: %s", id, lang, lang, rule))
		}
	}
	slices.Sort(rules)
	err = scan(ctx, others, strings.Join(rules, "\n---\n"), func(s *source, f found) {
		id, _, _ := strings.Cut(f.RuleID, ".")
		switch id {
		case isError:
			problems = append(problems, Problem{s.path, f.Range.Start.Line + 1, "this can't be parsed"})
		case isExported, isDocs, isTest, isInner, isJSX:
			marks[s][id] = append(marks[s][id], f.Range.Bytes)
		default:
			name := strings.Trim(cmp.Or(f.Variables.Single["NAME"].Text, f.Text), `"'<>`)
			n := s.node(id, name, f.Range.Bytes, f.Range.Start.Line+1)
			n.name = f.Variables.Single["NAME"].Range.Bytes.Start
			s.nodes = append(s.nodes, n)
		}
	})
	for s, m := range marks {
		s.mark(m)
	}
	return problems, err
}

// mark adds to nodes what was found out of them, and takes out calls that stand in tests.
func (s *source) mark(marks map[string][]Span) {
	within := func(n Node, id string) bool {
		return slices.ContainsFunc(marks[id], func(m Span) bool {
			return m.Start <= n.Span.Start && n.Span.End <= m.End && (id != isInner || m != n.Span)
		})
	}
	s.nodes = slices.DeleteFunc(s.nodes, func(n Node) bool {
		return (n.Type == typePanic || n.Type == typeUnwrap) && within(n, isTest)
	})
	for i, n := range s.nodes {
		if n.Type != typeFn {
			continue
		}
		s.nodes[i].Exported = slices.Contains(marks[isExported], n.Span) && !within(n, isTest) && !within(n, isInner)
		s.nodes[i].Documented = slices.Contains(marks[isDocs], n.Span) || s.lang != "python" && s.docAbove(n.Span.Start)
	}
	slices.SortStableFunc(s.nodes, func(a, b Node) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	if s.nodes == nil {
		s.nodes = []Node{}
	}
	if len(marks[isJSX]) > 0 {
		s.lang = "tsx" // no JavaScript engine reads JSX
	}
}

// docAbove says whether a comment for documents ends above a place, with nothing but attributes between.
func (s *source) docAbove(at int) bool {
	end := bytes.LastIndexByte(s.data[:at], '\n')
	for end >= 0 {
		start := bytes.LastIndexByte(s.data[:end], '\n') + 1
		line := string(bytes.TrimSpace(s.data[start:end]))
		end = start - 1
		switch {
		case strings.HasPrefix(line, "///"), strings.HasSuffix(line, "*/"), strings.HasPrefix(line, "#[doc"):
			return true
		case strings.HasPrefix(line, "#["), strings.HasPrefix(line, "@"):
		default:
			return false
		}
	}
	return false
}
