package ast

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strconv"
)

// goFile parses Go. What was parsed until an error is returned with it.
func goFile(s *source) (*token.FileSet, *ast.File, *Problem) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", s.data, parser.ParseComments|parser.SkipObjectResolution)
	if err == nil {
		return fset, f, nil
	}
	p := &Problem{File: s.path, Message: err.Error()}
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		p.Line, p.Message = list[0].Pos.Line, list[0].Msg
	}
	return fset, f, p
}

// goNodes are the nodes of a Go file that parses.
func goNodes(s *source) (nodes []Node) {
	fset, f, problem := goFile(s)
	if problem != nil || f == nil {
		return nil
	}
	add := func(kind, name string, n ast.Node) *Node {
		start, end := fset.PositionFor(n.Pos(), false), fset.PositionFor(n.End(), false)
		nodes = append(nodes, s.node(kind, name, Span{start.Offset, min(end.Offset, len(s.data))}, start.Line))
		return &nodes[len(nodes)-1]
	}
	at := func(id *ast.Ident) int { return fset.PositionFor(id.Pos(), false).Offset }
	library := f.Name.Name != "main"
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			path, _ := strconv.Unquote(n.Path.Value) // it was parsed
			add(typeImport, path, n)
		case *ast.FuncDecl:
			d := add(typeFn, n.Name.Name, n)
			d.name = at(n.Name)
			d.Exported = library && n.Name.IsExported() && (n.Recv == nil || exportedReceiver(n.Recv))
			d.Documented = n.Doc.Text() != ""
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					d := add(typeType, t.Name.Name, t)
					d.name = at(t.Name)
					d.Exported = library && t.Name.IsExported()
					d.Documented = t.Doc.Text() != "" || n.Doc.Text() != ""
				}
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" && library {
				add(typePanic, "panic", n)
			}
		}
		return true
	})
	return nodes
}

// exportedReceiver says whether a method belongs to a type that others can name.
func exportedReceiver(recv *ast.FieldList) bool {
	if len(recv.List) == 0 {
		return false
	}
	t := recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.ParenExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.IsExported()
		default:
			return false
		}
	}
}
