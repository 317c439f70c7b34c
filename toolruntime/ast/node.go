package ast

import (
	"fmt"
)

// Span are the offsets of a node's first byte and of the one behind its last.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Node is a place in code. Its id names the file, the span and the file's digest: it holds as long as the file stays as
// it is, in any session.
type Node struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	File       string `json:"file"`
	Span       Span   `json:"span" jsonschema:"bytes of the file"`
	Line       int    `json:"line"`
	Exported   bool   `json:"exported"`
	Documented bool   `json:"documented" jsonschema:"known of functions and of Go's types"`

	// name is the offset of the name, if it is known.
	name int
}

// The types of nodes.
const (
	typeFn     = "fn"
	typeType   = "type"
	typeImport = "import"
	typeMatch  = "match"
	// typePanic and typeUnwrap are calls, which rules look for.
	typePanic  = "panic"
	typeUnwrap = "unwrap"
)

const digestLength = 16

// node makes a node of a source.
func (s *source) node(kind, name string, at Span, line int) Node {
	id := fmt.Sprintf("%s:%d-%d:%s", s.digest[:digestLength], at.Start, at.End, s.path)
	return Node{ID: id, Type: kind, Name: name, File: s.path, Span: at, Line: line}
}
