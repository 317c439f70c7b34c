package toolchain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

// goPackage is what go list says of one.
type goPackage struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
}

// goList asks for packages. It runs nothing of the tree.
func (j Job) goList(ctx context.Context, args ...string) (all []goPackage, err error) {
	argv := append([]string{"go", "list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, args...)
	out, err := j.command(ctx, argv)
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("go list: %s", tail(out.Stderr))
	}
	if err != nil {
		return nil, err
	}
	d := jsontext.NewDecoder(strings.NewReader(out.Stdout))
	for {
		var p goPackage
		if err := json.UnmarshalDecode(d, &p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// Folders are those that go build ./... builds, for trees of Go.
func (j Job) Folders(ctx context.Context) (folders []string, err error) {
	if !strings.EqualFold(j.Registry.AST.Language, "go") {
		return nil, nil
	}
	all, err := j.goList(ctx, "./...")
	for _, p := range all {
		folders = append(folders, j.relative(p.Dir))
	}
	return folders, err
}

// leftOut finds folders that the base builds and that the change keeps from being built, with code in them.
func (j Job) leftOut(ctx context.Context) (found []judge.Violation, err error) {
	if len(j.Base.Folders) == 0 {
		return nil, nil
	}
	now, err := j.Folders(ctx)
	if err != nil {
		return nil, err
	}
	for _, folder := range j.Base.Folders {
		code, _ := filepath.Glob(filepath.Join(j.Dir, folder, "*.go"))
		if len(code) > 0 && !slices.Contains(now, folder) {
			found = append(found, judge.Violation{Path: folder,
				Message: "the change takes this folder out of what is built",
				Hint:    "leave go.mod, go.work and build constraints as they are; a person changes them in the base"})
		}
	}
	return found, nil
}

// goTests reads the tests of the packages that a go test command names.
func (j Job) goTests(ctx context.Context, argv []string) (tests []Test, err error) {
	args := slices.DeleteFunc(slices.Clone(argv[2:]), func(a string) bool {
		return !strings.HasPrefix(a, ".") && !strings.HasPrefix(a, "-tags=")
	})
	all, err := j.goList(ctx, args...)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				continue // go test says so better
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && isTest(fn) {
					tests = append(tests, Test{p.ImportPath, fn.Name.Name, filepath.Join(j.relative(p.Dir), name)})
				}
			}
		}
	}
	return tests, nil
}

// isTest is what the go command takes for a test, or for a fuzz test, which runs as one.
func isTest(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || len(fn.Type.Params.List) != 1 || len(fn.Type.Params.List[0].Names) > 1 {
		return false
	}
	pointer, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	kind := ""
	switch x := pointer.X.(type) {
	case *ast.SelectorExpr:
		kind = x.Sel.Name
	case *ast.Ident:
		kind = x.Name
	}
	for prefix, of := range map[string]string{"Test": "T", "Fuzz": "F"} {
		if rest, ok := strings.CutPrefix(fn.Name.Name, prefix); ok && kind == of {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}

// readGo reads what go test -json writes.
func readGo(_ Job, out proc.Output, _ []byte) (told verdicts, failed []judge.Violation) {
	told = verdicts{}
	said := map[string]*strings.Builder{}
	lines := bufio.NewScanner(strings.NewReader(out.Stdout))
	lines.Buffer(nil, maxOutput)
	for lines.Scan() {
		var e struct{ Action, Package, ImportPath, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		key := Test{Package: e.Package + e.ImportPath, Name: e.Test}.key()
		switch e.Action {
		case "output", "build-output":
			if said[key] == nil {
				said[key] = &strings.Builder{}
			}
			said[key].WriteString(e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				continue
			}
			told.add(key, e.Action)
			if e.Action == "fail" && said[key] != nil {
				failed = append(failed, judge.Violation{Message: key + " fails: " + tail(said[key].String())})
			}
		case "build-fail":
			if said[key] != nil {
				failed = append(failed, judge.Violation{Message: tail(said[key].String())})
			}
		}
	}
	return told, failed[:min(len(failed), maxViolations)]
}
