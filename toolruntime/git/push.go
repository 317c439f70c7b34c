package git

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type pushArgs struct {
	Remote  string `json:"remote,omitempty" jsonschema:"origin, where the bundle came from"`
	Refspec string `json:"refspec" jsonschema:"such as HEAD:refs/heads/feature"`
	Force   bool   `json:"force,omitempty" jsonschema:"the registry has no key that allows it"`
}

type pushResult struct {
	Pushed   bool     `json:"pushed"`
	Warnings []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
}

// pushFile is the bundle of all that was pushed.
const pushFile = "push.bundle"

// push puts a branch into the bundle of pushes, under the name that it is to have at the remote. Nothing is
// sent anywhere: who publishes the bundle is a person, after the result.
func (k keeper) push(ctx context.Context, a pushArgs) (pushResult, error) {
	source, branch, err := k.pushable(ctx, a)
	if err == nil {
		err = k.clean(ctx, true)
	}
	if err != nil {
		return pushResult{}, err
	}
	id, err := k.rev(ctx, source)
	if err != nil {
		return pushResult{}, err
	}
	remote := "refs/remotes/" + Remote + "/" + branch
	old, err := k.ref(ctx, remote)
	if err != nil {
		return pushResult{}, err
	}
	if old != "" {
		out, err := k.do(ctx, command{args: []string{"merge-base", "--is-ancestor", old, id}})
		if err == nil && out.Code != 0 {
			err = contract.Errorf(contract.Git, "%s has commits that %q lacks: no fast-forward", branch, source).
				WithHint("merge or rebase onto " + Remote + "/" + branch + " first")
		}
		if err != nil {
			return pushResult{}, err
		}
	}
	if old == id {
		return pushResult{true, []string{}}, nil
	}
	warnings := []string{}
	if old == "" {
		if warnings, err = k.naming(branch); err != nil {
			return pushResult{}, err
		}
	}
	if err := k.hasNew(ctx, branch, id); err != nil {
		return pushResult{}, err
	}
	more, err := k.on(branch).judgePush(ctx, old, id)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return pushResult{}, err
	}
	ctx = context.WithoutCancel(ctx) // from here on all of it is done
	if err := k.bundlePush(ctx, branch, id); err != nil {
		return pushResult{}, err
	}
	_, err = k.git(ctx, "update-ref", remote, id)
	return pushResult{err == nil, append(warnings, more...)}, err
}

// judgePush judges what a push adds to a branch, if a commit of it was not judged yet: it was pulled and not merged, or
// a program made it.
func (k keeper) judgePush(ctx context.Context, old, id string) (warnings []string, err error) {
	if unjudged, err := k.unjudged(ctx, id); err != nil || !unjudged {
		return nil, err
	}
	if old == "" {
		out, err := k.do(ctx, command{args: []string{"merge-base", k.base, id}})
		if old = strings.TrimSpace(out.Stdout); err != nil {
			return nil, err
		}
	}
	if old == "" {
		return nil, contract.Errorf(contract.Git, "it has nothing in common with what the workspace came with")
	}
	return k.judgeRange(ctx, old, id)
}

// pushable judges a push, and returns what goes to which branch.
func (k keeper) pushable(ctx context.Context, a pushArgs) (source, branch string, err error) {
	source, branch, _ = strings.Cut(a.Refspec, ":refs/heads/")
	err = k.mayPush(a)
	if err == nil {
		err = a.Check()
	}
	if err == nil && k.Out == "" {
		err = contract.Errorf(contract.Git, "this session has no folder for pushes").
			WithHint("whoever starts it can name one; commits can be made without")
	}
	if err == nil {
		err = k.newBranch(ctx, branch)
	}
	return source, branch, err
}

// mayPush holds a push to the registry.
func (k keeper) mayPush(a pushArgs) error {
	if !k.rules.Git.AllowPush {
		return contract.Errorf(contract.Policy, "pushes are not allowed").
			WithHint("git.allow_push of the registry allows them; the commits come out in any case")
	}
	return nil
}

// Check judges the form of a push before anything runs.
func (a pushArgs) Check() error {
	switch _, _, ok := strings.Cut(a.Refspec, ":refs/heads/"); {
	case a.Force || strings.HasPrefix(a.Refspec, "+"):
		return contract.Errorf(contract.Policy, "a push can't be forced: no key of the registry allows it").
			WithHint("leave force and + out; git_pull or git_rebase first, if the branch has moved")
	case a.Remote != Remote:
		return contract.Errorf(contract.Git, "there is no remote %q: the only one is %s", a.Remote, Remote)
	case !ok:
		return contract.Errorf(contract.Validation, "the refspec %q is not SOURCE:refs/heads/BRANCH", a.Refspec).
			WithHint("write it such as HEAD:refs/heads/feat/x")
	}
	return nil
}

// hasNew refuses a branch without a commit that is new: git leaves it out of a bundle, and says nothing.
func (k keeper) hasNew(ctx context.Context, branch, id string) error {
	first, err := k.git(ctx, append([]string{"rev-list", "--max-count=1", id, "--not"}, k.came...)...)
	if err == nil && first == "" {
		err = contract.Errorf(contract.Git, "%s has every commit for %s: a bundle can't carry a name alone",
			Remote, branch).WithHint("commit first; or let who publishes make the branch")
	}
	return err
}

// bundlePush writes the bundle anew. A second repository with the same objects has the branches by their new names.
func (k keeper) bundlePush(ctx context.Context, branch, id string) error {
	file, err := filepath.Abs(filepath.Join(k.Out, pushFile))
	if err != nil {
		return err
	}
	objects := filepath.Join(k.dir, "objects")
	env := []string{"GIT_DIR=" + filepath.Join(k.dir, "push"), "GIT_OBJECT_DIRECTORY=" + objects}
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		{"update-ref", "refs/heads/" + branch, id},
		append([]string{"bundle", "create", "--quiet", file, "--branches", "--not"}, k.came...),
	} {
		if _, err := k.must(ctx, command{args: args, env: env}); err != nil {
			return err
		}
	}
	return nil
}
