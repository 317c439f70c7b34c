package ast

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const (
	generateTime = 5 * time.Minute
	queryTime    = 30 * time.Second
	editTime     = 30 * time.Second
	defaultFiles = 5000
	defaultNodes = 200
	mostNodes    = 5000
	mostRules    = 50
	mostErrors   = 1000
	maxPattern   = 2000
)

type generateArgs struct {
	Paths       []string `json:"paths" jsonschema:"glob patterns"`
	Language    string   `json:"language,omitempty" jsonschema:"only files of it; all known ones without it and without ast.language"`
	Incremental bool     `json:"incremental,omitempty" jsonschema:"files that parsed before and are as they were are not parsed again"`
	MaxFiles    int      `json:"max_files,omitempty"`
}

type generateResult struct {
	ParsedFiles int       `json:"parsed_files" jsonschema:"those without an error"`
	Errors      []Problem `json:"errors"`
	Truncated   bool      `json:"truncated" jsonschema:"there are more files or errors"`
}

// Where names nodes. All that is given must fit.
type Where struct {
	Type     string `json:"type,omitempty" jsonschema:"match goes with a pattern"`
	NameLike string `json:"name_like,omitempty" jsonschema:"a glob pattern for the name, such as auth*"`
	FileGlob string `json:"file_glob,omitempty" jsonschema:"a glob pattern for the path"`
	Exported *bool  `json:"exported,omitempty"`
	Pattern  string `json:"pattern,omitempty" jsonschema:"code with $NAME for one node and $$$NAME for several; needs a language"`
	Language string `json:"language,omitempty"`
}

type queryArgs struct {
	Where Where `json:"where"`
	Limit int   `json:"limit,omitempty"`
}

type queryResult struct {
	Nodes     []Node `json:"nodes"`
	Truncated bool   `json:"truncated"`
}

// Check is one rule of an ast_validate.
type Check struct {
	ID          string         `json:"id" jsonschema:"a rule of the catalogue, or a name for where and must_have"`
	Enforcement registry.Level `json:"enforcement,omitempty"`
	Where       Where          `json:"where,omitempty"`
	MustHave    []string       `json:"must_have,omitempty" jsonschema:"docstring; without it no node may be where says"`
}

type validateArgs struct {
	Rules []Check `json:"rules"`
}

// Violation is one node that breaks a rule.
type Violation struct {
	Rule    string `json:"rule"`
	NodeID  string `json:"node_id" jsonschema:"empty if it is the whole file"`
	Message string `json:"message"`
	File    string `json:"file"`
	Line    int    `json:"line"`
}

type validateResult struct {
	Violations []Violation `json:"violations"`
	Truncated  bool        `json:"truncated"`
}

// WithError keeps the violations of a rule that blocks.
func (v validateResult) WithError() bool { return len(v.Violations) > 0 }

type tools struct {
	w     *workspace.Workspace
	rules *registry.Registry
	// parsed are the digests of files that parsed, by language.
	parsed *sync.Map
	// scratch is the folder for what builds leave to the next one, empty if there is none.
	scratch string
}

// Tools are the tools of a workspace. scratch is a folder in which builds find what others left, or empty.
func Tools(w *workspace.Workspace, r *registry.Registry, scratch string) []contract.Tool {
	t := tools{w, r, &sync.Map{}, scratch}
	return []contract.Tool{
		contract.NewTool("ast_generate", "parses files and says where they do not parse", generateTime,
			generateArgs{Incremental: true, MaxFiles: defaultFiles}, t.generate,
			contract.Items("paths", 1, 1000), contract.OneOf("language", languages()...),
			contract.Between("max_files", 1, mostFiles)).Reads(),
		contract.NewTool("ast_query", "finds functions, types, imports, or what a pattern of code names", queryTime,
			queryArgs{Limit: defaultNodes}, t.query, contract.Between("limit", 1, mostNodes),
			contract.In("where", whereSchema...)).Reads(),
		contract.NewTool("ast_validate", "holds all code to rules, of the catalogue or of one's own", queryTime,
			validateArgs{}, t.validate, contract.Items("rules", 1, mostRules),
			contract.In("rules", contract.OneOf("enforcement", "", "blocking", "warning", "suggestion"),
				contract.Length("id", 1, 100), contract.In("where", whereSchema...))).Reads(),
		contract.NewTool("ast_edit", "renames a symbol everywhere, or replaces code; all files or none", editTime,
			editArgs{Timed: contract.Timed{TimeoutMS: editTime.Milliseconds()}}, t.edit,
			contract.OneOf("operation", renameSymbol, replaceNode, replacePattern), timeout,
			contract.In("where", whereSchema...), contract.Length("text", 0, maxSource)),
		contract.NewTool("ast_external", "asks a language server", editTime,
			externalArgs{Timed: contract.Timed{TimeoutMS: editTime.Milliseconds()}}, t.external, timeout,
			contract.Length("provider", 1, 100)).Reads(),
	}
}

var timeout = contract.Between("timeout_ms", 1, float64(generateTime.Milliseconds()))

var whereSchema = []contract.Adjust{contract.OneOf("type", "", typeFn, typeType, typeImport, typeMatch),
	contract.OneOf("language", languages()...), contract.Length("pattern", 0, maxPattern),
	contract.Length("name_like", 0, maxPattern)}

func (t tools) language(named string) string { return cmp.Or(named, t.rules.AST.Language) }

func (t tools) generate(ctx context.Context, a generateArgs) (generateResult, error) {
	out := generateResult{Errors: []Problem{}}
	srcs, truncated, err := load(ctx, t.w, a.Paths, t.language(a.Language), a.MaxFiles)
	if err != nil {
		return out, err
	}
	var todo []*source
	key := func(s *source) string { return languageOf(s.path) + ":" + s.digest }
	for _, s := range srcs {
		if _, known := t.parsed.Load(key(s)); !known || !a.Incremental || s.trouble != "" {
			todo = append(todo, s)
		}
	}
	problems, err := parse(ctx, todo)
	if err != nil {
		return out, err
	}
	bad := map[string]bool{}
	for _, p := range problems {
		bad[p.File] = true
	}
	for _, s := range todo {
		if !bad[s.path] {
			t.parsed.Store(key(s), true)
		}
	}
	out.ParsedFiles, out.Truncated = len(srcs)-len(bad), truncated || len(problems) > mostErrors
	out.Errors = append(out.Errors, problems[:min(len(problems), mostErrors)]...)
	return out, nil
}

func (t tools) query(ctx context.Context, a queryArgs) (queryResult, error) {
	out := queryResult{Nodes: []Node{}}
	nodes, _, truncated, err := t.find(ctx, a.Where)
	if err != nil {
		return out, err
	}
	out.Truncated = truncated || len(nodes) > a.Limit
	out.Nodes = append(out.Nodes, nodes[:min(len(nodes), a.Limit)]...)
	return out, nil
}
