package ast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

const (
	// maxRead bounds what is read of a server, in bytes.
	maxRead = 16 << 20
	// maxSaid bounds what is told of the end of its stderr.
	maxSaid = 2000
)

// lspServer is a running language server, spoken to over the Language Server Protocol, as much of it as the ast tools
// need. It is hostile: it may run code of the workspace, and ask for anything. What it asks for is answered with
// nothing: it gets no command executed and no edit applied. What it sends is bounded. It ends with its call, and so
// does all of its process group.
type lspServer struct {
	process *proc.Running
	conn    *jsonrpc2.Conn
	root    string
	home    string

	mu sync.Mutex
	// checked are the files that were opened, by URI. A channel is closed once the server said what is wrong with one.
	checked map[string]chan struct{}
	// busy are the tokens of work that it began and did not end.
	busy map[string]bool
}

// startServer starts a server for a folder and greets it. options, if not nil, are for this server only. When ctx ends,
// the server is killed. The caller has to call close.
func startServer(ctx context.Context, argv, env []string, root string, options any) (*lspServer, error) {
	home, err := os.MkdirTemp("", "lsp-")
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(ctx, proc.Command{Argv: argv, Dir: root, Env: append(env, "HOME="+home, "TMPDIR="+home)})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	s := &lspServer{process: p, root: root, home: home, checked: map[string]chan struct{}{}, busy: map[string]bool{}}
	stream := jsonrpc2.NewBufferedStream(pipes{&limited{p.Out, maxRead}, p.In}, jsonrpc2.VSCodeObjectCodec{})
	s.conn = jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(s.answer), jsonrpc2.SetLogger(quiet{}))
	if err := s.greet(ctx, options); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close kills the server and what it started.
func (s *lspServer) close() error {
	s.process.Kill()
	s.conn.Close()
	s.process.Wait()
	return os.RemoveAll(s.home)
}

func (s *lspServer) greet(ctx context.Context, options any) error {
	folder := map[string]string{"uri": fileURI(s.root, "."), "name": "workspace"}
	params := map[string]any{
		"processId": nil, "rootUri": folder["uri"], "workspaceFolders": []any{folder},
		"capabilities": map[string]any{
			"workspace": map[string]any{"configuration": true, "workspaceFolders": true,
				"workspaceEdit": map[string]any{"documentChanges": true}},
			"textDocument": map[string]any{"rename": map[string]any{"prepareSupport": true},
				"documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true}},
			"window": map[string]any{"workDoneProgress": true},
		}}
	if options != nil {
		params["initializationOptions"] = options
	}
	if _, err := s.call(ctx, "initialize", params); err != nil {
		return err
	}
	return s.notify(ctx, "initialized", struct{}{})
}

// open tells the server of a file's content. name is its path below the root.
func (s *lspServer) open(ctx context.Context, name, language, text string) error {
	uri := fileURI(s.root, name)
	s.mu.Lock()
	s.checked[uri] = make(chan struct{})
	s.mu.Unlock()
	return s.notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": language, "version": 1, "text": text}})
}

// waitChecked waits until the server has looked at an opened file: until it says what is wrong with it, if anything.
func (s *lspServer) waitChecked(ctx context.Context, name string) error {
	s.mu.Lock()
	done := s.checked[fileURI(s.root, name)]
	s.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-s.conn.DisconnectNotify():
		return s.failed(ctx, "textDocument/publishDiagnostics", io.ErrUnexpectedEOF)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wasChecked notes what a server says of a file. A file that was not opened is none of its business.
func (s *lspServer) wasChecked(params []byte) {
	var p struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if done := s.checked[p.URI]; done != nil {
		select {
		case <-done:
		default:
			close(done)
		}
	}
}

// progress notes work, such as indexing, that a server tells of.
func (s *lspServer) progress(params []byte) {
	var p struct {
		Token jsontext.Value `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch token := string(p.Token); p.Value.Kind {
	case "begin":
		s.busy[token] = true // maxRead bounds how many there are
	case "end":
		delete(s.busy, token)
	}
}

// isBusy says whether the server has told of work that has not ended. What it answered before that may lack something.
func (s *lspServer) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) > 0
}

func (s *lspServer) notify(ctx context.Context, method string, params any) error {
	if err := s.conn.Notify(ctx, method, params); err != nil {
		return s.failed(ctx, method, err)
	}
	return nil
}

// call makes a request. An error that the server answers is an E_VALIDATION_FAIL, its end an E_SHELL.
func (s *lspServer) call(ctx context.Context, method string, params any) (jsontext.Value, error) {
	var result jsontext.Value
	if err := s.conn.Call(ctx, method, params, &result); err != nil {
		return nil, s.failed(ctx, method, err)
	}
	return result, nil
}

func (s *lspServer) failed(ctx context.Context, method string, err error) error {
	var answer *jsonrpc2.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answer):
		return contract.Errorf(contract.Validation, "%s: the language server says: %.500s", method,
			text(answer.Message))
	}
	s.process.Kill()
	said := strings.TrimSpace(s.process.Wait().Stderr)
	if said = text(said[max(0, len(said)-maxSaid):]); said != "" {
		said = "; it wrote: " + said
	}
	return contract.Errorf(contract.Shell, "%s: the language server ended, or sent what can't be read: %s%s", method,
		err, said)
}

// answer is what a server gets for its requests.
func (s *lspServer) answer(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var params []byte
	if r.Params != nil {
		params = *r.Params
	}
	switch r.Method {
	case "textDocument/publishDiagnostics":
		s.wasChecked(params)
	case "$/progress":
		s.progress(params)
	case "workspace/configuration":
		var p struct {
			Items []jsontext.Value `json:"items"`
		}
		if json.Unmarshal(params, &p) == nil && len(p.Items) <= 1000 {
			return make([]any, len(p.Items)), nil
		}
		return []any{}, nil
	case "workspace/workspaceFolders":
		return []any{map[string]string{"uri": fileURI(s.root, "."), "name": "workspace"}}, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "this client applies no edits"}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
		"window/showMessageRequest", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh",
		"workspace/codeLens/refresh", "workspace/diagnostic/refresh":
		return nil, nil
	}
	if r.Notif {
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "this client does not do " + text(r.Method)}
}

// fileURI names a path below a root.
func fileURI(root, name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.Join(root, name)}).String()
}

// uriPath is the path below a root that a URI names, or an E_POLICY.
func uriPath(root, uri string) (string, error) {
	u, err := url.Parse(uri)
	if err == nil && u.Scheme == "file" && u.Host == "" {
		if rel, err := filepath.Rel(root, filepath.Clean(u.Path)); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", contract.Refuse("sec.paths.sandbox", "the language server names %.200q, not in the workspace", uri)
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// limited reads no more than is left.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("it sent more than %d bytes", maxRead)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

// quiet keeps what the library would log.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
