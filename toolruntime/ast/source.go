// Package ast has the tools of section 5.5, which know code by its structure, and the rules of section 7 that need it.
//
// Go is parsed in the process; other languages by ast-grep and, where the image has one, the language's own parser.
// Code is hostile. Programs get bounded copies of files in a folder of their own, with fixed options and environment:
// no configuration of the workspace's and no ignore file is read, and nothing of the workspace is run.
//
// It runs in the sandbox only.
package ast

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const (
	// maxSource bounds one file that is parsed, maxBatch those that a program gets at once, maxTotal all of one call,
	// in bytes.
	maxSource = 4 << 20
	maxBatch  = 512 << 10
	maxTotal  = 64 << 20
	mostFiles = 50_000
	// maxText bounds what is told of code or of what a parser says.
	maxText = 300
)

// extensions are the languages that are known, by the names of their files.
var extensions = map[string]string{".go": "go", ".rs": "rust", ".py": "python", ".pyi": "python", ".js": "javascript",
	".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript", ".ts": "typescript", ".mts": "typescript",
	".cts": "typescript", ".tsx": "tsx", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp",
	".hpp": "cpp"}

// suffix is how a copy of a file of a language is named.
var suffix = map[string]string{"go": ".go",
	"rust": ".rs", "python": ".py", "javascript": ".js", "typescript": ".ts", "tsx": ".tsx",
	"c": ".c", "cpp": ".cpp"}

// languages are the names of those that are known.
func languages() (names []any) {
	for name := range suffix {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return append([]any{""}, names...)
}

// languageOf is the language of a file, or empty.
func languageOf(p string) string { return extensions[strings.ToLower(path.Ext(p))] }

// source is one file as it was read.
type source struct {
	path, lang string
	data       []byte
	digest     string
	// nodes are what the file declares and does, once it was looked at.
	nodes []Node
	// trouble is why it can't be parsed at all.
	trouble string
}

func newSource(p string, data []byte) *source {
	s := &source{path: p, lang: languageOf(p), data: data, digest: fmt.Sprintf("%x", sha256.Sum256(data))}
	switch {
	case len(data) > maxSource:
		s.trouble = "it has more than " + strconv.Itoa(maxSource) + " bytes, and is not parsed"
	case !utf8.Valid(data):
		s.trouble = "it is not UTF-8"
	}
	return s
}

// load reads the files of known languages that globs name, at most most.
func load(ctx context.Context, w *workspace.Workspace, globs []string, lang string, most int) (
	found []*source, truncated bool, err error) {
	seen := map[string]bool{}
	total := 0
	for _, glob := range globs {
		err := workspace.Sources(ctx, w, glob, false, func(p string) error {
			if l := languageOf(p); seen[p] || l == "" || lang != "" && l != lang {
				return nil
			}
			if truncated = len(found) >= most; truncated {
				return workspace.ErrEnough
			}
			data, _, err := w.Read(p, workspace.MaxFile)
			s := newSource(p, data)
			if err != nil {
				s.trouble = contract.AsError(err).Message
			}
			if s.trouble != "" {
				s.data = nil
			}
			if total += len(s.data); total > maxTotal {
				return contract.Errorf(contract.ASTParse, "the files have more than %d bytes together", maxTotal).
					WithHint("ask for fewer files at once")
			}
			seen[p] = true
			found = append(found, s)
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return found, truncated, nil
}

// environ is the whole environment of a program that parses.
func environ(dir string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8", "NO_COLOR=1"},
		proc.Rustup()...)
}

// batches calls do with sources of a bounded size. Where do says that the batch was too much for its program, it is
// halved; one file that is too much is given to spoilt.
func batches(srcs []*source, do func([]*source) (fits bool, err error), spoilt func(*source)) error {
	var try func(part []*source) error
	try = func(part []*source) error {
		fits, err := do(part)
		switch {
		case err != nil || fits:
			return err
		case len(part) == 1:
			spoilt(part[0])
			return nil
		}
		half := len(part) / 2
		return errors.Join(try(part[:half]), try(part[half:]))
	}
	for len(srcs) > 0 {
		n, size := 0, 0
		for n < len(srcs) && n < 1000 && (n == 0 || size+len(srcs[n].data) <= maxBatch) {
			size += len(srcs[n].data)
			n++
		}
		if err := try(srcs[:n]); err != nil {
			return err
		}
		srcs = srcs[n:]
	}
	return nil
}

// run runs a program on copies of sources, each its number with the language's suffix, in a new folder with more files.
func run(ctx context.Context, srcs []*source, argv func(names []string) []string, more map[string]string) (
	proc.Output, error) {
	dir, err := os.MkdirTemp("", "ast-")
	if err != nil {
		return proc.Output{}, err
	}
	defer os.RemoveAll(dir)
	content := map[string][]byte{}
	for name, text := range more {
		content[name] = []byte(text)
	}
	var names []string
	for i, s := range srcs {
		names = append(names, strconv.Itoa(i)+suffix[s.lang])
		content[names[i]] = s.data
	}
	for name, data := range content {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return proc.Output{}, err
		}
	}
	return proc.Run(ctx, proc.Command{Argv: argv(names), Dir: dir, Env: environ(dir)})
}
