package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// aside makes a second repository with the same objects and branches. A merge or rebase is tried there: nothing is to
// be undone, and what it comes to can be judged before a branch moves. Its work tree holds only files that conflict.
func (r *Repo) aside(ctx context.Context) (side *Repo, remove func(), err error) {
	dir, err := os.MkdirTemp(r.dir, "side-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	files, git := filepath.Join(dir, "tree"), filepath.Join(dir, "git")
	if err := errors.Join(os.Mkdir(files, 0o700), os.MkdirAll(filepath.Join(git, "info"), 0o700)); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"HEAD", "config", "packed-refs", "info/attributes"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(git, name), data, 0o600)); err != nil {
			return nil, nil, err
		}
	}
	err = errors.Join(os.CopyFS(filepath.Join(git, "refs"), os.DirFS(filepath.Join(r.dir, "refs"))),
		os.WriteFile(filepath.Join(git, "info", "sparse-checkout"), nil, 0o600))
	if err != nil {
		return nil, nil, err
	}
	w, err := workspace.Open(files)
	if err != nil {
		return nil, nil, err
	}
	side = &Repo{w: w, dir: git, objects: filepath.Join(r.dir, "objects"), date: r.date}
	for _, args := range [][]string{{"config", "core.sparseCheckout", "true"}, {"read-tree", "-m", "-u", "HEAD"}} {
		if _, err := side.git(ctx, args...); err != nil {
			return nil, nil, err
		}
	}
	return side, remove, nil
}

// adopt judges what a side repository has come to, as the gate judges the change, and then moves the branch that is
// checked out there.
func (k keeper) adopt(ctx context.Context, side *Repo) (warnings []string, err error) {
	before, err := k.commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	after, err := side.commit(ctx, "HEAD")
	if err != nil || after == before {
		return []string{}, err
	}
	branch, err := k.branch(ctx)
	if err != nil {
		return nil, err
	}
	warnings, err = k.on(branch).judgeRange(ctx, before, after)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return warnings, err
	}
	ctx = context.WithoutCancel(ctx) // files change from here on: all of them do
	if _, err = k.git(ctx, "reset", "--quiet", "--keep", after); err == nil {
		err = k.touch(ctx, before, after)
	}
	return warnings, err
}

// touch counts the files that differ between two commits.
func (r *Repo) touch(ctx context.Context, before, after string) error {
	names, err := r.git(ctx, "diff", "--name-only", "--no-renames", "-z", before, after, "--")
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		if name != "" {
			contract.Touch(ctx, name)
		}
	}
	return err
}

// judgeRange holds what lies between two commits to the rules of the registry, with the messages of the commits that
// are new, and remembers those.
func (k keeper) judgeRange(ctx context.Context, before, after string) (warnings []string, err error) {
	ids, err := k.git(ctx, "rev-list", after, "--not", before)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(k.dir, "range-")
	if err != nil {
		return nil, err
	}
	cleanUp := func() {}
	defer func() { cleanUp(); os.RemoveAll(dir) }()
	file := filepath.Join(dir, "patch")
	if _, err := k.git(ctx, "diff", "--text", "--no-ext-diff", "--no-textconv", "--no-color", "--output="+file,
		before, after, "--"); err != nil {
		return nil, err
	}
	patch, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	changes, err := parse(patch)
	if err != nil {
		return nil, err
	}
	messages, err := k.git(ctx, "log", "--no-show-signature", "--format=%B", fmt.Sprintf("--max-count=%d", maxLeft),
		after, "--not", before)
	if err != nil {
		return nil, err
	}
	j := &judged{k: k, changes: changes, base: before, env: []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}}
	if _, err := k.must(ctx, command{args: []string{"read-tree", after}, env: j.env}); err != nil {
		return nil, err
	}
	var tree string
	j.tree = func(ctx context.Context) (_ string, err error) {
		if tree != "" {
			return tree, nil
		}
		made, remove, err := k.treeOf(ctx, after)
		if err == nil {
			tree, cleanUp = made, remove
		}
		return made, err
	}
	warnings, err = j.uphold(ctx, k.rules.Held(canJudge), messages)
	var broken *contract.Error
	if errors.As(err, &broken) && broken.Rule != "" {
		broken.Hint += fmt.Sprintf("; the registry lists %s under validators, and the branch stays as it was",
			broken.Rule)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range strings.Fields(ids) {
		k.wasJudged(id)
	}
	return append([]string{}, warnings...), nil
}

// unjudged says whether a commit has one behind it that neither came with the workspace nor was judged, as on a
// protected branch if this one is.
func (k keeper) unjudged(ctx context.Context, id string) (bool, error) {
	ids, err := k.git(ctx, append([]string{"rev-list", id, "--not"}, k.came...)...)
	return slices.ContainsFunc(strings.Fields(ids), func(id string) bool {
		protected, known := k.judged[id]
		return !known || k.protected && !protected
	}), err
}
