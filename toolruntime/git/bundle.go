package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Remote is the name of where a bundle came from.
const Remote = "origin"

// Import makes the repository of an empty workspace from a bundle: its branches become those of Remote, and the
// branch of its HEAD is checked out. Every object is checked before a file is written. dir is a new folder
// outside of the workspace, for git.
func Import(ctx context.Context, w *workspace.Workspace, dir, bundle string) (*Repo, error) {
	bundle, err := filepath.Abs(bundle)
	if err != nil {
		return nil, err
	}
	if in, err := os.ReadDir(w.Dir); err != nil {
		return nil, err
	} else if len(in) > 0 {
		return nil, fmt.Errorf("%s is not empty: a bundle is checked out into an empty folder", w.Dir)
	}
	r, err := create(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	err = r.fetch(ctx, bundle, "refs/heads/*:refs/remotes/"+Remote+"/*", "refs/tags/*:refs/tags/*")
	if err == nil {
		err = r.check(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bundle, err)
	}
	r.In, r.from = filepath.Dir(bundle), bundle
	branch, err := r.pick(ctx, bundle)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bundle, err)
	}
	for _, args := range [][]string{
		{"config", "remote." + Remote + ".fetch", "+refs/heads/*:refs/remotes/" + Remote + "/*"},
		{"config", "branch." + branch + ".remote", Remote},
		{"config", "branch." + branch + ".merge", "refs/heads/" + branch},
		{"update-ref", "refs/heads/" + branch, "refs/remotes/" + Remote + "/" + branch},
		{"symbolic-ref", "HEAD", "refs/heads/" + branch},
		{"reset", "--quiet", "--hard"},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	if r.base, err = r.commit(ctx, "HEAD"); err != nil {
		return nil, err
	}
	ids, err := r.git(ctx, "for-each-ref", "--format=%(objectname)", "refs/remotes/"+Remote)
	r.came = strings.Fields(ids)
	return r, err
}

// fetch reads a bundle.
func (r *Repo) fetch(ctx context.Context, bundle string, refspecs ...string) error {
	info, err := os.Lstat(bundle)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("no regular file")
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--", bundle}
	_, err = r.must(ctx, command{env: []string{"GIT_ALLOW_PROTOCOL=file"}, args: append(args, refspecs...)})
	return err
}

// check looks at every object: git 2.39 does not apply transfer.fsckObjects to bundles.
func (r *Repo) check(ctx context.Context, env ...string) error {
	args := []string{"fsck", "--strict", "--full", "--no-dangling", "--no-progress"}
	_, err := r.must(ctx, command{env: env, args: args})
	if err != nil {
		err = fmt.Errorf("%w (git fsck --strict in the repository names all of them; files without their history can "+
			"come as a folder, workspace/)", err)
	}
	return err
}

// pick chooses the branch to check out: that of the bundle's HEAD, or else main, master or the only one.
func (r *Repo) pick(ctx context.Context, bundle string) (string, error) {
	heads, err := r.git(ctx, "bundle", "list-heads", bundle)
	if err != nil {
		return "", err
	}
	_, branch, err := contract.BundleBranches([]byte(heads))
	return branch, err
}

// Commits writes the commits that are new since the workspace came, with their branches, as a bundle. It says
// whether there were any.
func (r *Repo) Commits(ctx context.Context, file string) (bool, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return false, err
	}
	what := append([]string{"--branches", "HEAD", "--not"}, r.came...)
	first, err := r.git(ctx, append([]string{"rev-list", "--max-count=1"}, what...)...)
	if err != nil || first == "" {
		return false, err
	}
	_, err = r.git(ctx, append([]string{"bundle", "create", "--quiet", file}, what...)...)
	return err == nil, err
}

// Apply applies a patch to the work tree as plain git apply does: all of it, or nothing.
func (r *Repo) Apply(ctx context.Context, file string) error {
	_, err := r.git(ctx, "apply", "--allow-empty", "--whitespace=nowarn", "--", file)
	return err
}

// Remove removes what was made for the session: the git directory or, of a checkout, what builds left.
func (r *Repo) Remove() error {
	if r.opened {
		return os.RemoveAll(r.Scratch())
	}
	return os.RemoveAll(r.dir)
}
