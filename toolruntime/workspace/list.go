package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const (
	maxGlob = 512
	// maxStars and maxBraces bound what matching one name can cost.
	maxStars  = 8
	maxBraces = 4
)

type listArgs struct {
	Glob          string `json:"glob" jsonschema:"such as src/**/*.rs"`
	MaxResults    int    `json:"max_results,omitempty"`
	IncludeHidden bool   `json:"include_hidden,omitempty" jsonschema:"also names that begin with a dot, without one in the pattern"`
}

// listResult is the result of fs_list: regular files, sorted by folder.
type listResult struct {
	Files []string `json:"files"`
	// Truncated says that there are more.
	Truncated bool `json:"truncated"`
}

// ErrEnough ends a walk.
var ErrEnough = errors.New("enough")

func (t fileTools) list(ctx context.Context, a listArgs) (listResult, error) {
	found := listResult{Files: []string{}}
	err := each(ctx, t.w, a.Glob, func(p string, d fs.DirEntry) error {
		if hides(a.Glob, p) && !a.IncludeHidden || !d.Type().IsRegular() {
			return nil
		}
		if found.Truncated = len(found.Files) == a.MaxResults; found.Truncated {
			return ErrEnough
		}
		found.Files = append(found.Files, p)
		return nil
	})
	return found, err
}

// each calls do for every entry that a glob names. do may return ErrEnough.
func each(ctx context.Context, w *Workspace, glob string, do func(p string, d fs.DirEntry) error) error {
	glob, err := CheckGlob(glob)
	if err != nil {
		return err
	}
	enough, file, folder := false, false, false
	err = w.Walk(ctx, func(p string, d fs.DirEntry) error {
		if !utf8.ValidString(p) || !doublestar.MatchUnvalidated(glob, p) {
			return nil
		}
		file, folder = file || !d.IsDir(), folder || d.IsDir()
		err := do(p, d)
		if enough = errors.Is(err, ErrEnough); enough {
			return fs.SkipAll
		}
		return err
	})
	switch {
	case err != nil || file:
	case folder && !strings.ContainsAny(glob, "*?[{"):
		err = contract.Errorf(contract.FileIO, "%q is a folder, and the pattern names files", glob).
			WithHint(fmt.Sprintf("its files are %q, those of folders below too %q", glob+"/*", glob+"/**"))
	case regular.MatchString(glob):
		err = contract.Errorf(contract.Validation, "no file fits %q, which is a glob pattern, not a regular "+
			"expression", glob).
			WithHint("write * for any letters of a name, ** for any folders: **/*.py")
	case strings.Contains(glob, `\`):
		err = contract.Errorf(contract.Validation, "no file fits the pattern %q, in which \\ takes the meaning of *",
			glob).
			WithHint(fmt.Sprintf("folders are parted by /, as in %q", strings.ReplaceAll(glob, `\`, "/")))
	}
	return err
}

// regular is what regular expressions have and names of files have not.
var regular = regexp.MustCompile(`^\^|\.\*|\.\+|\\[.dwsb]|\$$`)

// Sources calls do for every regular file that a glob matches, but for hidden ones, without hidden, and those of
// folders such as vendor and node_modules that the glob does not name. do may return ErrEnough.
func Sources(ctx context.Context, w *Workspace, glob string, hidden bool, do func(p string) error) error {
	return each(ctx, w, glob, func(p string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !hidden && hides(glob, p) || isVendored(glob, p) {
			return nil
		}
		return do(p)
	})
}

// CheckGlob judges a pattern of names, and returns it without a leading ./ or trailing slash.
func CheckGlob(glob string) (string, error) {
	if strings.HasPrefix(glob, "/") || strings.Contains("/"+glob+"/", "/../") {
		return "", contract.Refuse(Rule, "the pattern %q leaves the workspace", glob)
	}
	if len(glob) > maxGlob || strings.Count(glob, "*") > maxStars || strings.Count(glob, "{") > maxBraces ||
		!doublestar.ValidatePattern(glob) {
		return "", contract.Errorf(contract.Validation, "%q is no pattern that fs_list can match", glob).
			WithHint("use * within a name, ** across folders, and {a,b}; at most 8 stars and 4 braces")
	}
	return strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/"), nil
}

// namedDot is a dot that begins a name in a pattern.
var namedDot = regexp.MustCompile(`(?:^|[/{,])\.[^/]`)

// hides says whether a path has more hidden names than the pattern that matches it.
func hides(glob, p string) bool {
	return strings.Count("/"+p, "/.") > len(namedDot.FindAllString(glob, -1))
}
