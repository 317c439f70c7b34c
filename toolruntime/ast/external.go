package ast

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// servers are the language servers of which nothing has to be said but their names.
var servers = map[string]struct {
	command   string
	languages []string
	options   any
	// few says that it knows the files of which it is told, not all of the workspace.
	few bool
	// later says that it looks at a file when it has told of it, not before the next request.
	later bool
}{
	"gopls": {command: "gopls", languages: []string{"go"}},
	// It looks for the files of the workspace after it has begun to answer.
	"pyright": {command: "pyright-langserver --stdio", languages: []string{"python"}, few: true},
	"clangd": {command: "clangd --enable-config=false --background-index=false",
		languages: []string{"c", "cpp"}, few: true, later: true},
	"rust-analyzer": {command: "rust-analyzer", languages: []string{"rust"}},
	"typescript-language-server": {command: "typescript-language-server --stdio",
		languages: []string{"javascript", "typescript", "tsx"}, few: true,
		// It would start npm; and ask a second server, which knows one file at a time, while the first one starts.
		// And it would keep old names where they are imported and exported.
		options: map[string]any{"disableAutomaticTypingAcquisition": true,
			"tsserver":    map[string]string{"useSyntaxServer": "never"},
			"preferences": map[string]bool{"providePrefixAndSuffixTextForRename": false}}},
}

// mayAsk are the requests that change nothing and run nothing.
var mayAsk = regexp.MustCompile(`^(?:textDocument/(?:declaration|definition|diagnostic|documentHighlight|documentLink|` +
	`documentSymbol|foldingRange|hover|implementation|inlayHint|prepareCallHierarchy|prepareRename|prepareTypeHierarchy|` +
	`references|rename|selectionRange|semanticTokens/full|signatureHelp|typeDefinition)|workspace/(?:symbol|diagnostic)|` +
	`(?:callHierarchy/(?:incoming|outgoing)Calls)|typeHierarchy/(?:sub|super)types)$`)

// asksForUses are those whose answers are places in all of the workspace.
var asksForUses = regexp.MustCompile(`/(?:references|rename|implementation|prepare(?:Call|Type)Hierarchy)$`)

const (
	maxExternal = 5 << 20
	// mostOpen bounds the files of which a server is told.
	mostOpen = 200
)

var (
	identifier = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*`)
	newName    = regexp.MustCompile(`^[\pL_][\pL\p{Nd}_]{0,199}$`)
)

type externalArgs struct {
	Provider string          `json:"provider" jsonschema:"a language server of the registry's ast.servers"`
	Request  ExternalRequest `json:"request"`
	contract.Timed
}

// ExternalRequest is a request of the Language Server Protocol.
type ExternalRequest struct {
	Method string         `json:"method" jsonschema:"one that changes nothing, such as textDocument/documentSymbol"`
	Params map[string]any `json:"params,omitempty" jsonschema:"file:///src/a.go is src/a.go of the workspace"`
}

type externalResult struct {
	Provider string `json:"provider"`
	Response any    `json:"response" jsonschema:"as the server gave it; files outside of the workspace are external:"`
	// Unfinished says that places may be missing.
	Unfinished bool `json:"unfinished" jsonschema:"the server was at work when it answered, as it had told: places may be missing"`
}

func (t tools) external(ctx context.Context, a externalArgs) (externalResult, error) {
	out := externalResult{Provider: a.Provider}
	if !mayAsk.MatchString(a.Request.Method) {
		return out, contract.Errorf(contract.Policy, "%.100q is no request that is passed on", a.Request.Method).
			WithHint("write the whole name of one that changes and runs nothing, such as " +
				"textDocument/documentSymbol, textDocument/definition, " +
				"textDocument/references, textDocument/hover or workspace/symbol")
	}
	file := ""
	if uri, ok := a.Request.Params["uri"]; ok && len(a.Request.Params) == 1 { // as the specification prints it
		a.Request.Params = map[string]any{"textDocument": map[string]any{"uri": uri}}
	}
	if doc, ok := a.Request.Params["textDocument"].(map[string]any); ok {
		uri, _ := doc["uri"].(string)
		var err error
		if file, err = inWorkspace(uri); err == nil {
			_, _, err = t.w.Lstat(file)
		}
		if err != nil {
			return out, err
		}
	}
	params, err := eachString(a.Request.Params, t.inward)
	if err != nil {
		return out, err
	}
	s, err := t.start(ctx, a.Provider)
	if err != nil {
		return out, err
	}
	defer s.close()
	if file != "" {
		if err := t.openFor(ctx, s, file, a); err != nil {
			return out, err
		}
	}
	raw, err := s.call(ctx, a.Request.Method, params)
	if err != nil {
		return out, err
	}
	out.Unfinished = s.isBusy()
	if len(raw) > maxExternal {
		return out, contract.Errorf(contract.Validation, "the answer has more than %d bytes", maxExternal)
	}
	var response any
	if err := json.Unmarshal(raw, &response); err != nil {
		return out, contract.Errorf(contract.Validation, "the answer can't be read: %v", err)
	}
	out.Response, err = eachString(response, t.outward)
	return out, err
}

// start starts a language server of the registry.
func (t tools) start(ctx context.Context, name string) (*lspServer, error) {
	configured, ok := t.rules.AST.Servers[name]
	if !ok {
		return nil, contract.Errorf(contract.Policy, "the registry's ast.servers does not name %.100q", name).
			WithHint(fmt.Sprintf("it names %q; ast_query and grep need none",
				slices.Sorted(maps.Keys(t.rules.AST.Servers))))
	}
	command := cmp.Or(configured.Command, servers[name].command)
	if command == "" {
		return nil, contract.Errorf(contract.Policy, "the registry does not say which command %q is", name)
	}
	argv, err := registry.Split(command)
	if err != nil {
		return nil, err
	}
	options := servers[name].options
	if name == "clangd" {
		// It takes headers for C++, in which a function has not the name that it has in C.
		others, _, err := load(ctx, t.w, []string{"**"}, "cpp", 1)
		if err != nil {
			return nil, err
		}
		if len(others) == 0 {
			options = map[string]any{"fallbackFlags": []string{"-xc"}}
		}
	}
	return startServer(ctx, argv, t.serverEnviron(), t.w.Dir, options)
}

// serverEnviron lets a server find what the image has, and download nothing.
func (t tools) serverEnviron() []string {
	env := append(proc.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
	env = append(env, proc.Rustup()...)
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("GOMODCACHE")+os.Getenv("GOPATH") == "" {
		env = append(env, "GOPATH="+home+"/go")
	}
	return env
}

// serverOf is the server of a language, by the order of names.
func (t tools) serverOf(lang string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(t.rules.AST.Servers)) {
		if slices.Contains(slices.Concat(t.rules.AST.Servers[name].Languages, servers[name].languages), lang) {
			return name, nil
		}
	}
	return "", contract.Errorf(contract.Policy, "the registry's ast.servers names no language server for %q", lang).
		WithHint("use replace_pattern, or ask the person who keeps the registry")
}

// open tells a server of a file.
func (t tools) open(ctx context.Context, s *lspServer, file string) error {
	data, _, err := t.w.Read(file, maxSource)
	if err != nil {
		return err
	}
	lang := languageOf(file)
	if lang == "tsx" {
		lang = "typescriptreact"
	}
	return s.open(ctx, file, lang, string(data))
}

// openFor tells a server of the file of a request and, if that asks for uses of a name, of all others that have it.
func (t tools) openFor(ctx context.Context, s *lspServer, file string, a externalArgs) error {
	place, ok := a.Request.Params["position"].(map[string]any)
	if !ok || !asksForUses.MatchString(a.Request.Method) {
		return t.open(ctx, s, file)
	}
	data, _, err := t.w.Read(file, maxSource)
	if err != nil {
		return err
	}
	line, _ := place["line"].(float64)
	character, _ := place["character"].(float64)
	at, ok := offsetOf(data, lspPosition{Line: int(line), Character: int(character)})
	if !ok {
		return t.open(ctx, s, file) // the server says what is wrong with it
	}
	for at > 0 && inIdentifier(data[at-1]) { // a position within a name is as one before it
		at--
	}
	return t.openAll(ctx, s, a.Provider, newSource(file, data), at)
}

// inIdentifier says whether a byte is part of a name. Those beyond ASCII are taken for letters.
func inIdentifier(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// openAll tells a server of a file, and of all others that it has to know to find what is named at an offset.
func (t tools) openAll(ctx context.Context, s *lspServer, server string, src *source, at int) error {
	if err := t.open(ctx, s, src.path); err != nil || !servers[server].few {
		return err
	}
	word := identifier.Find(src.data[at:])
	if word == nil {
		return nil
	}
	opened := []string{src.path}
	for _, lang := range servers[server].languages {
		others, truncated, err := load(ctx, t.w, []string{"**"}, lang, mostFiles)
		if err != nil {
			return err
		}
		for _, o := range others {
			if o.path == src.path || !bytes.Contains(o.data, word) {
				continue
			}
			if truncated = truncated || len(opened) >= mostOpen; truncated {
				return contract.Errorf(contract.ASTEdit, "more than %d files have %.100q", mostOpen, word).
					WithHint("use grep, or replace_pattern on a part of the files at a time")
			}
			if err := t.open(ctx, s, o.path); err != nil {
				return err
			}
			opened = append(opened, o.path)
		}
	}
	if !servers[server].later {
		return nil
	}
	for _, name := range opened {
		if err := s.waitChecked(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// inWorkspace is the path that a URI of a call names.
func inWorkspace(uri string) (string, error) {
	name, ok := strings.CutPrefix(uri, "file:///")
	if !ok || strings.ContainsAny(name, "%?#") {
		return "", contract.Refuse(workspace.Rule, "%.200q is no URI of the workspace", uri).
			WithHint("file:///src/a.go is src/a.go of the workspace")
	}
	return workspace.Clean(name)
}

// inward gives a URI of a call the workspace's place, and refuses one of another place.
func (t tools) inward(s string) (string, error) {
	if !strings.HasPrefix(strings.ToLower(s), "file:") {
		return s, nil
	}
	name, err := inWorkspace(s)
	return fileURI(t.w.Dir, name), err
}

// outward takes the workspace's place out of a URI of an answer.
func (t tools) outward(s string) (string, error) {
	if !strings.HasPrefix(s, "file:") {
		return s, nil
	}
	if name, err := uriPath(t.w.Dir, s); err == nil {
		return "file:///" + name, nil
	}
	return "external:" + strings.TrimPrefix(s, "file:"), nil
}

// eachString puts other strings in the place of those of a JSON value, its keys too.
func eachString(v any, other func(string) (string, error)) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return other(v)
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			if key, err = other(key); err != nil {
				return nil, err
			}
			if out[key], err = eachString(inner, other); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		for i := range v {
			if v[i], err = eachString(v[i], other); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// rename asks the language server of the node's file.
func (t tools) rename(ctx context.Context, a editArgs) (changes []change, count int, err error) {
	if !newName.MatchString(a.NewName) {
		return nil, 0, contract.Errorf(contract.Validation, "new_name %.100q is no name", a.NewName)
	}
	src, span, err := t.target(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	if _, err := look(ctx, []*source{src}); err != nil {
		return nil, 0, err
	}
	at := span.Start
	if i := slices.IndexFunc(src.nodes, func(n Node) bool { return n.Span == span && n.name > 0 }); i >= 0 {
		at = src.nodes[i].name
	}
	position, err := positionAt(src.data, at)
	if err != nil {
		return nil, 0, err
	}
	name, err := t.serverOf(src.lang)
	if err != nil {
		return nil, 0, err
	}
	s, err := t.start(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer s.close()
	if err := t.openAll(ctx, s, name, src, at); err != nil {
		return nil, 0, err
	}
	raw, err := s.call(ctx, "textDocument/rename", map[string]any{"position": position, "newName": a.NewName,
		"textDocument": map[string]string{"uri": fileURI(t.w.Dir, src.path)}})
	if err != nil {
		e := contract.AsError(err)
		if e.Code == contract.Validation {
			e.Code = contract.ASTEdit
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, e
	}
	return t.renamed(raw)
}

// renamed makes changes of a server's edits.
func (t tools) renamed(raw []byte) (changes []change, count int, err error) {
	edits, err := readEdits(t.w.Dir, raw)
	if err != nil {
		return nil, 0, err
	}
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		data, _, err := t.w.Read(file, workspace.MaxFile)
		if err != nil {
			return nil, 0, err
		}
		after, err := applyEdits(data, edits[file])
		if err != nil {
			return nil, 0, err
		}
		count += len(edits[file])
		changes = append(changes, change{newSource(file, data), after})
	}
	return changes, count, nil
}
