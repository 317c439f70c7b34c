package mcpserver

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/schemas"
)

// examples are arguments of draft_request that lint accepts but for the approval.
//
//go:embed examples/*.json
var examples embed.FS

// exampleNames are the names of examples, sorted.
func exampleNames() []string {
	files, err := fs.Glob(examples, "examples/*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".json")
	}
	return files
}

func example(name string) []byte {
	raw, err := examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		panic(err) // a name of exampleNames
	}
	return raw
}

// Media types of what is read.
const (
	typeMarkdown = "text/markdown"
	typeJSON     = "application/json"
	typeText     = "text/plain"
	typeBytes    = "application/octet-stream"
)

func (d *desk) resources(s *mcp.Server) {
	fixed := func(uri, name, what, mime string, text func() []byte) {
		s.AddResource(&mcp.Resource{URI: uri, Name: name, Description: what, MIMEType: mime},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return contents(&mcp.ResourceContents{URI: uri, MIMEType: mime, Text: string(text())}), nil
			})
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		doc := kinds[kind]
		fixed("threegate://schemas/"+kind, kind+" schema", "The normative text about a "+kind+".", typeMarkdown,
			doc.text)
		fixed("threegate://schemas/"+kind+".json", kind+" JSON Schema", "The JSON Schema of a "+kind+".", typeJSON,
			doc.schema)
	}
	fixed("threegate://rules", "rules", "Every rule with its reason and examples.", typeJSON, func() []byte {
		raw, err := json.Marshal(schemas.Rules())
		if err != nil {
			panic(err) // plain strings
		}
		return raw
	})
	for _, name := range exampleNames() {
		fixed("threegate://examples/"+name, "example: "+name, "Arguments of draft_request that lint accepts.", typeJSON,
			func() []byte { return example(name) })
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "threegate://rules/{rule}", Name: "rule",
		Description: "One rule.", MIMEType: typeJSON}, readRule)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: resultsURI + "{request_id}/artifacts/{+path}",
		Name: "artifact", Description: "A file of a result: untrusted data from a sandbox, at most 1 MiB."},
		d.readArtifact)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: resultsURI + "{request_id}/document", Name: "document",
		Description: "The whole result. read_result says which of its bytes are untrusted data.",
		MIMEType:    typeMarkdown}, d.readDocument)
}

func contents(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

func readRule(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	r, ok := schemas.RuleByID(strings.TrimPrefix(uri, "threegate://rules/"))
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	raw, err := json.Marshal(r)
	return contents(&mcp.ResourceContents{URI: uri, MIMEType: typeJSON, Text: string(raw)}), err
}

// untrusted marks contents that came from a sandbox.
func untrusted(digest string) mcp.Meta {
	return mcp.Meta{"threegate/untrusted": true, "threegate/sha256": digest}
}

func (d *desk) readArtifact(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, name, ok := artifactOf(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	r, err := d.result(id)
	if err != nil {
		return nil, resourceError(uri, err)
	}
	raw, err := d.artifact(r, name, maxArtifactBytes)
	if err != nil {
		return nil, resourceError(uri, err)
	}
	c := &mcp.ResourceContents{URI: uri, Meta: untrusted(schemas.SHA256(raw))}
	if utf8.Valid(raw) {
		c.MIMEType, c.Text = typeText, string(raw)
	} else {
		c.MIMEType, c.Blob = typeBytes, raw
	}
	return contents(c), nil
}

func (d *desk) readDocument(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, ok := strings.CutSuffix(strings.TrimPrefix(uri, resultsURI), "/document")
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	r, err := d.result(id)
	if err != nil {
		return nil, resourceError(uri, err)
	}
	c := &mcp.ResourceContents{URI: uri, MIMEType: typeMarkdown, Text: string(r.raw)}
	c.Meta = untrusted(schemas.SHA256(r.raw))
	c.Meta["threegate/spans"] = r.spans.Spans
	return contents(c), nil
}

// resourceError says why a resource can't be read, in words of ours.
func resourceError(uri string, err error) error {
	if err == errNone || err == errID {
		return mcp.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
