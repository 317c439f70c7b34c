package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type patchArgs struct {
	Path         string `json:"path"`
	UnifiedDiff  string `json:"unified_diff" jsonschema:"of this one file; a new file has --- /dev/null"`
	ExpectSHA256 string `json:"expect_sha256,omitempty" jsonschema:"of the file as it is; another is an error"`
}

// Writes is the file that is locked.
func (a patchArgs) Writes() string { return a.Path }

// Check says what is wrong with a patch whatever the file has.
func (a patchArgs) Check() error {
	path, err := Clean(a.Path)
	if err == nil {
		_, err = readPatch(path, a.UnifiedDiff, nil)
	}
	return err
}

type patchResult struct {
	Patched      bool `json:"patched"`
	HunksApplied int  `json:"hunks_applied"`
	// Offsets has one number a hunk.
	Offsets []int `json:"offsets" jsonschema:"of each hunk, how many lines from its place it was found"`
}

// patch applies a unified diff to one file. There is no fuzz: all bytes of context count, and either every hunk is
// applied or none. What it accepts, `git apply` accepts, and both write the same.
func (t fileTools) patch(ctx context.Context, a patchArgs) (patchResult, error) {
	path, err := Clean(a.Path)
	if err != nil {
		return patchResult{}, err
	}
	f, err := readPatch(path, a.UnifiedDiff, t.w)
	if err != nil {
		return patchResult{}, err
	}
	if err := t.w.expect(path, a.ExpectSHA256); err != nil {
		return patchResult{}, err
	}
	var data []byte
	if f.IsNew {
		there, err := t.w.Exists(path)
		if err != nil {
			return patchResult{}, err
		}
		if there {
			return patchResult{}, contract.Errorf(contract.Validation, "the patch makes %q, which exists", path)
		}
	} else if data, _, err = t.w.Read(path, MaxFile); err != nil {
		return patchResult{}, err
	}
	data, offsets, err := apply(data, f.TextFragments)
	if err != nil {
		return patchResult{}, err
	}
	var mode os.FileMode // as it is, or that of a file that is no program
	if f.IsNew && f.NewMode&0o100 != 0 {
		mode = 0o755
	}
	if err := t.w.Write(ctx, path, data, mode, f.IsNew); err != nil {
		return patchResult{}, err
	}
	return patchResult{true, len(offsets), offsets}, nil
}

// readPatch is parsePatch, and says more of what is often done wrong, also by the file if there is a workspace.
func readPatch(path, diff string, w *Workspace) (*gitdiff.File, error) {
	f, err := parsePatch(path, diff)
	if err == nil {
		return f, nil
	}
	var now []byte
	if w != nil {
		now, _, _ = w.Read(path, MaxFile) // it need not be there
	}
	if e := misread(path, diff, linesOf(now)); e != nil {
		err = e
	}
	return nil, err
}

var hunkHeader = regexp.MustCompile(`^@@ -\d{1,9}(,\d{1,9})? \+\d{1,9}(,\d{1,9})? @@`)

// parsePatch reads a diff of one file, path. What the library would skip or guess is refused.
func parsePatch(path, diff string) (*gitdiff.File, error) {
	bad := func(format string, args ...any) (*gitdiff.File, error) {
		return nil, contract.Errorf(contract.Validation, "the patch "+format, args...).
			WithHint("give one file's unified diff: --- a/PATH, +++ b/PATH, then hunks with exact line counts")
	}
	parsed, _, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil {
		return bad("can't be read: %v", err)
	}
	if len(parsed) != 1 {
		return bad("changes %d files, not one", len(parsed))
	}
	f := parsed[0]
	switch {
	case f.IsBinary, f.IsRename, f.IsCopy, len(f.TextFragments) == 0:
		return bad("is not made of hunks of text")
	case f.IsDelete:
		return bad("deletes the file: use fs_delete")
	case f.NewMode != 0 && !f.IsNew && f.NewMode != f.OldMode, special(f.OldMode), special(f.NewMode):
		return bad("is about a file's mode, a link or a submodule")
	}
	if !f.IsNew && !names(f.OldName, path) || !names(f.NewName, path) {
		name := strings.TrimPrefix(f.NewName, "b/")
		return nil, contract.Errorf(contract.Validation, "the patch is about %q, and path is %q", name, path).
			WithHint(fmt.Sprintf("if the file is meant that path names, begin the patch with --- a/%s and +++ b/%s",
				path, path))
	}
	return f, accounted(diff, f)
}

// special says whether a mode, as git writes it, is that of no plain file.
func special(mode os.FileMode) bool { return mode != 0 && mode&0o170000 != 0o100000 }

func names(name, path string) bool { return name == path || name == "a/"+path || name == "b/"+path }

// accounted says whether every line from the first hunk on belongs to a hunk. Git skips what
// does not, so that a wrong count loses lines.
func accounted(diff string, f *gitdiff.File) error {
	want := 0
	for _, h := range f.TextFragments {
		want += 1 + len(h.Lines)
	}
	got, inside := 0, false
	for l := range bytes.Lines([]byte(diff)) {
		if bytes.HasPrefix(l, []byte("@@")) {
			if inside = true; !hunkHeader.Match(l) {
				return contract.Errorf(contract.Validation, "the patch has a hunk with the header %.80q", l)
			}
		}
		if inside && l[0] != '\\' {
			got++
		}
	}
	if got != want {
		return contract.Errorf(contract.Validation, "the patch has %d lines of hunks, but announces %d", got, want).
			WithHint("correct the counts in the lines that begin with @@; nothing may follow the last hunk")
	}
	return nil
}
