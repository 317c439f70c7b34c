package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/threegate/tool-exec/toolruntime/ast"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/toolchain"
)

// canJudge says whether a change can be held to a rule here.
func canJudge(rule string) bool { return judge.Can(rule) || ast.Can(rule) || toolchain.Can(rule) }

// build holds a tree to a rule that needs a toolchain.
func (j *judged) build(ctx context.Context, dir, rule string) ([]judge.Violation, error) {
	job := j.k.job(dir)
	if j.before == nil {
		j.before = &toolchain.Base{Run: func(ctx context.Context, do func(toolchain.Job) error) error {
			tree, remove, err := j.k.treeOf(ctx, j.base)
			if err != nil {
				return err
			}
			defer remove()
			return do(j.k.job(tree))
		}}
	}
	job.Base = j.before
	found, note, err := job.Check(ctx, rule)
	if note != "" && len(found) == 0 {
		j.notes = append(j.notes, rule+": "+note)
	}
	if err != nil && ctx.Err() == nil {
		err = contract.Errorf(contract.Shell, "%v", err)
	}
	return found, err
}

func (k keeper) job(dir string) toolchain.Job {
	return toolchain.Job{Dir: dir, Scratch: k.Scratch(), GoCache: os.Getenv("GOCACHE"), Registry: k.rules}
}

// Scratch is the folder in which builds of the workspace find what others left.
func (r *Repo) Scratch() string { return filepath.Join(r.dir, "toolchain") }

// treeOf writes the files of a commit to a new folder.
func (k keeper) treeOf(ctx context.Context, commit string) (tree string, remove func(), err error) {
	dir, err := os.MkdirTemp(k.dir, "tree-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	tree = filepath.Join(dir, "files")
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	err = os.Mkdir(tree, 0o755)
	for _, args := range [][]string{{"read-tree", commit}, {"checkout-index", "--all", "--prefix=" + tree + "/"}} {
		if err == nil {
			_, err = k.must(ctx, command{args: args, env: env})
		}
	}
	if err != nil {
		remove()
	}
	return tree, remove, err
}

// judged is a change that is held to rules.
type judged struct {
	k       keeper
	changes []judge.Change
	// base is the commit that it changes, env names the index that holds what it makes.
	base string
	env  []string
	// tree is the folder with what the change makes, for rules that need a toolchain.
	tree func(context.Context) (dir string, err error)
	// more are rules that are asked for, whether the registry lists them or not.
	more []string
	code *ast.Looked
	// before is what excuses the change, notes are what is said of it.
	before *toolchain.Base
	notes  []string
}

func (j *judged) judge(ctx context.Context, rule, message string) (_ []judge.Violation, err error) {
	if judge.Can(rule) {
		found, err := judge.Judge(rule, j.changes, message, j.k.rules.Secrets)
		if err != nil {
			return nil, contract.Errorf(contract.Validation, "%v", err)
		}
		return found, nil
	}
	if toolchain.Can(rule) {
		dir, err := j.tree(ctx)
		if err != nil {
			return nil, err
		}
		return j.build(ctx, dir, rule)
	}
	if j.code == nil {
		if j.code, err = j.look(ctx); err != nil {
			return nil, err
		}
	}
	return j.code.Judge(rule, j.k.rules), nil
}

// uphold holds a change to rules: one that blocks is an error.
func (j *judged) uphold(ctx context.Context, rules []string, message string) (warnings []string, err error) {
	for i, rule := range rules {
		contract.Tell(ctx, 100*i/len(rules), rule)
		found, err := j.judge(ctx, rule, message)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		v := found[0]
		broken := v.Message
		if v.Path != "" {
			broken = fmt.Sprintf("%q, line %d: %s", v.Path, v.Line, v.Message)
		}
		if len(found) > 1 {
			broken += fmt.Sprintf(" (and %d places more)", len(found)-1)
		}
		w, err := j.k.hold(rule, broken, v.Hint)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, w...)
	}
	return append(warnings, j.notes...), nil
}

// look reads the code of the change, before and after.
func (j *judged) look(ctx context.Context) (*ast.Looked, error) {
	rules := j.k.rules.Held(ast.Can)
	for _, id := range j.more {
		if ast.Can(id) {
			rules = append(rules, id)
		}
	}
	var files []ast.File
	for _, c := range j.changes {
		if c.Deleted || c.Binary || !ast.Knows(c.Path) {
			continue
		}
		f, err := ast.File{Path: c.Path}, error(nil)
		if f.After, err = j.blob(ctx, c.Path, "ls-files", "--stage", "-z", "--"); err != nil {
			return nil, err
		}
		if f.Before, err = j.blob(ctx, c.Old, "ls-tree", "--full-tree", "-z", j.base, "--"); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return ast.Look(ctx, files, rules...)
}

// entry is what git lists of a regular file: its mode, perhaps its kind, and its id.
var entry = regexp.MustCompile(`^100[0-7]{3} (?:blob )?([0-9a-f]{40,64})\b`)

// blob is a file as a command of git lists it. It is nil where no regular file is.
func (j *judged) blob(ctx context.Context, path string, list ...string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := j.k.must(ctx, command{args: append(list, path), env: append(j.env, "GIT_LITERAL_PATHSPECS=1")})
	m := entry.FindStringSubmatch(text)
	if err != nil || m == nil {
		return nil, err
	}
	out, err := j.k.do(ctx, command{args: []string{"cat-file", "blob", m[1]}})
	if out.Truncated {
		err = nil // what is left is more than is parsed
	}
	if err == nil && out.Code != 0 {
		err = refusal("cat-file", out)
	}
	return append([]byte{}, out.Stdout...), err
}
