package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const (
	idPattern = `^([0-9a-f]{40})?$`
	// maxSide bounds a side of a conflict, maxSides all of them, in bytes.
	maxSide  = 64 << 10
	maxSides = 512 << 10
)

// conflicts are the paths that conflict in a merge or a rebase. After them everything is as before.
type conflicts struct {
	Conflicts []string `json:"conflicts"`
	Sides     []side   `json:"sides" jsonschema:"what each path is on both sides; the last of many are left out"`
	Ours      string   `json:"ours" jsonschema:"the commit of the branch; empty without a conflict"`
	Theirs    string   `json:"theirs" jsonschema:"the commit to merge or to put the branch onto"`
}

var noConflicts = conflicts{Conflicts: []string{}, Sides: []side{}}

// WithError keeps the list of conflicts.
func (c conflicts) WithError() bool { return len(c.Conflicts) > 0 }

// side is one path that conflicts, with what it is in the common ancestor and on both sides: null where it is not
// there, is no text, or is too long.
type side struct {
	Path   string  `json:"path"`
	Kind   string  `json:"kind" jsonschema:"content, added by both, deleted by us, deleted by them, or other"`
	Base   *string `json:"base"`
	Ours   *string `json:"ours"`
	Theirs *string `json:"theirs"`
	// Commit is the one that a rebase was about to make anew.
	Commit string `json:"commit,omitzero"`

	stages [4]stage
}

// stage is an entry of the index: of the base, ours and theirs.
type stage struct{ mode, id string }

// resolver are the arguments that resolve conflicts.
type resolver struct {
	Resolutions []resolution `json:"resolutions,omitempty" jsonschema:"one for each path that conflicts"`
	Ours        string       `json:"ours,omitempty" jsonschema:"the commit of the branch; another is an error"`
	Theirs      string       `json:"theirs,omitempty" jsonschema:"the commit to merge or to put it onto; another is an error"`
}

// resolution says what becomes of a path that conflicts: one of content, delete and take.
type resolution struct {
	Path    string  `json:"path"`
	Content *string `json:"content,omitempty" jsonschema:"the whole file"`
	Delete  bool    `json:"delete,omitempty"`
	Take    string  `json:"take,omitempty" jsonschema:"one side's file as it is; ours is that of the branch, in a rebase too"`
	Commit  string  `json:"commit,omitempty" jsonschema:"of a rebase: the commit that conflicts there"`
}

// check holds resolutions to their form, and both commits to those that the caller knows.
func (a resolver) check(ours, theirs string) error {
	for _, c := range []struct{ name, want, is string }{{"ours", a.Ours, ours}, {"theirs", a.Theirs, theirs}} {
		if c.want != "" && c.want != c.is {
			return contract.Errorf(contract.Git, "%s is %s by now, not %s", c.name, c.is, c.want).
				WithHint("look at the conflict again: call without resolutions")
		}
	}
	for _, r := range a.Resolutions {
		ways := 0
		for _, given := range []bool{r.Content != nil, r.Delete, r.Take != ""} {
			if given {
				ways++
			}
		}
		if ways != 1 {
			return contract.Errorf(contract.Validation, "the resolution of %q has %d of content, delete and take, "+
				"not one", r.Path, ways).
				WithHint("content is the whole file as it is to be; delete: true takes it away; take: ours or " +
					"theirs takes a side")
		}
	}
	return nil
}

// stopped reads where a merge or rebase has stopped.
func (r *Repo) stopped(ctx context.Context, ours, theirs string) (conflicts, error) {
	c := conflicts{Conflicts: []string{}, Sides: []side{}, Ours: ours, Theirs: theirs}
	commit, err := r.ref(ctx, "REBASE_HEAD")
	if err != nil {
		return c, err
	}
	text, err := r.git(ctx, "ls-files", "--unmerged", "-z")
	if err != nil {
		return c, err
	}
	for line := range strings.SplitSeq(text, "\x00") {
		entry, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if n := len(c.Sides); n == 0 || c.Sides[n-1].Path != path {
			c.Conflicts = append(c.Conflicts, path)
			c.Sides = append(c.Sides, side{Path: path, Commit: commit})
		}
		var s stage
		var no int
		if _, err := fmt.Sscanf(entry, "%s %s %d", &s.mode, &s.id, &no); err != nil || no < 1 || no > 3 {
			return c, contract.Errorf(contract.Internal, "git ls-files wrote %q", line)
		}
		if commit != "" && no > 1 { // git calls the branch to put it onto ours
			no = 5 - no
		}
		c.Sides[len(c.Sides)-1].stages[no] = s
	}
	return c, r.fill(ctx, &c)
}

// fill reads the sides, as many as there is room for.
func (r *Repo) fill(ctx context.Context, c *conflicts) error {
	room := maxSides
	for i := range c.Sides {
		s := &c.Sides[i]
		s.Kind = s.kind()
		for no, to := range []**string{1: &s.Base, 2: &s.Ours, 3: &s.Theirs} {
			if to == nil || s.stages[no].id == "" || s.stages[no].mode == "160000" {
				continue
			}
			text, err := r.git(ctx, "cat-file", "blob", s.stages[no].id)
			if err != nil {
				return err
			}
			if room -= min(len(text), maxSide); len(text) <= maxSide && room >= 0 && utf8.ValidString(text) {
				*to = &text
			}
		}
	}
	return nil
}

func (s *side) kind() string {
	have := ""
	for no, c := range []string{1: "b", 2: "o", 3: "t"} {
		if no > 0 && s.stages[no].id != "" {
			have += c
		}
	}
	kinds := map[string]string{"bot": "content", "ot": "added by both", "bo": "deleted by them", "bt": "deleted by us"}
	if kind, ok := kinds[have]; ok {
		return kind
	}
	return "other"
}

// resolve puts into the index what the resolutions say, for all paths that conflict.
func (a resolver) resolve(ctx context.Context, r *Repo, c conflicts, used map[int]bool) error {
	for _, s := range c.Sides {
		at := slices.IndexFunc(a.Resolutions, func(r resolution) bool {
			return r.Path == s.Path && r.Commit == s.Commit
		})
		if at < 0 {
			e := contract.Errorf(contract.Git, "%q conflicts, and no resolution is for it", s.Path)
			if s.Commit != "" {
				e = contract.Errorf(contract.Git, "%q conflicts at the commit %s, and no resolution is for both",
					s.Path, s.Commit)
			}
			return e.WithHint("sides has the contents; resolve every path of conflicts")
		}
		used[at] = true
		if err := r.settle(ctx, s, a.Resolutions[at]); err != nil {
			return err
		}
	}
	return nil
}

// settle makes one path what its resolution says, in the index and in the work tree.
func (r *Repo) settle(ctx context.Context, s side, to resolution) (err error) {
	var take stage
	switch {
	case to.Take == "ours":
		take = s.stages[2]
	case to.Take == "theirs":
		take = s.stages[3]
	case to.Content != nil:
		take.mode = "100644"
		for _, of := range []stage{s.stages[1], s.stages[3], s.stages[2]} {
			if strings.HasPrefix(of.mode, "100") {
				take.mode = of.mode
			}
		}
		take.id, err = r.must(ctx, command{args: []string{"hash-object", "-w", "--stdin"}, stdin: to.Content})
		take.id = strings.TrimSpace(take.id)
	}
	if err != nil {
		return err
	}
	entries := "0 " + strings.Repeat("0", 40) + "\t" + s.Path + "\x00" // without it, stages stay
	if take.id != "" {
		entries += take.mode + " " + take.id + " 0\t" + s.Path + "\x00"
	}
	update := command{args: []string{"update-index", "-z", "--index-info"}, stdin: &entries}
	if _, err := r.must(ctx, update); err != nil {
		return err
	}
	if err := r.w.Delete(ctx, s.Path, true, true); err != nil || take.id == "" {
		return err
	}
	_, err = r.git(ctx, "checkout-index", "--force", "--", s.Path)
	return err
}

// leftOver refuses resolutions of what does not conflict.
func (a resolver) leftOver(used map[int]bool) (err error) {
	for i, r := range a.Resolutions {
		if !used[i] {
			err = errors.Join(err, contract.Errorf(contract.Git, "%q does not conflict, or not at the commit %q",
				r.Path, r.Commit).WithHint("leave it out; a merge's resolutions name no commit, a rebase's do"))
		}
	}
	return err
}
