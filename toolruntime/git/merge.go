package git

import (
	"context"
	"errors"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type mergeArgs struct {
	Branch string `json:"branch"`
	NoFF   bool   `json:"no_ff,omitempty" jsonschema:"make a merge commit also where none is needed"`
	resolver
}

type mergeResult struct {
	Merged   bool     `json:"merged"`
	Warnings []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
	conflicts
}

type rebaseArgs struct {
	Onto       string `json:"onto" jsonschema:"a branch or commit"`
	Autosquash bool   `json:"autosquash,omitempty" jsonschema:"move fixup! and squash! commits to what they mend"`
	resolver
}

type rebaseResult struct {
	Rebased  bool     `json:"rebased"`
	Warnings []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
	conflicts
}

// resolving narrows the arguments of a resolver.
func resolving(s *jsonschema.Schema) {
	contract.Items("resolutions", 0, maxPaths)(s)
	contract.Pattern("ours", idPattern)(s)
	contract.Pattern("theirs", idPattern)(s)
	contract.In("resolutions", contract.OneOf("take", "", "ours", "theirs"), contract.Pattern("commit", idPattern))(s)
}

func (k keeper) merge(ctx context.Context, a mergeArgs) (mergeResult, error) {
	m := mergeResult{conflicts: noConflicts, Warnings: []string{}}
	theirs, err := k.mergeable(ctx, a.Branch)
	if err != nil {
		return m, err
	}
	ff := "--ff"
	if a.NoFF {
		ff = "--no-ff"
	}
	m.Warnings, m.conflicts, err = k.combine(ctx, a.resolver, theirs,
		[]string{"merge", "--quiet", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat", "--no-autostash",
			"--no-verify-signatures", ff, a.Branch},
		[]string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-edit", "--cleanup=strip"})
	m.Merged = err == nil
	return m, err
}

// mergeable judges a branch to merge, and returns its commit. Its name goes into the message, so git gets the name.
func (k keeper) mergeable(ctx context.Context, branch string) (string, error) {
	if err := k.branchName(ctx, branch); err != nil {
		return "", err
	}
	for _, under := range []string{"refs/heads/", "refs/remotes/"} {
		id, err := k.ref(ctx, under+branch)
		if err != nil {
			return "", err
		}
		if id == "" {
			continue
		}
		if short, err := k.commit(ctx, branch); err != nil || short != id {
			return "", contract.Errorf(contract.Git, "%q is the name of something else, too", branch)
		}
		return id, k.clean(ctx, true)
	}
	return "", k.unknown(ctx, contract.Errorf(contract.Git, "there is no branch %q", branch))
}

func (k keeper) rebase(ctx context.Context, a rebaseArgs) (rebaseResult, error) {
	r := rebaseResult{conflicts: noConflicts, Warnings: []string{}}
	onto, err := k.rev(ctx, a.Onto)
	if err == nil {
		err = k.clean(ctx, true)
	}
	if err != nil {
		return r, err
	}
	args := []string{"rebase", "--quiet", "--no-verify", "--no-gpg-sign", "--no-autostash", "--no-stat",
		"--no-update-refs"}
	if a.Autosquash { // git 2.39 does so only with -i; the editor of the list is none
		args = append(args, "--interactive", "--autosquash")
	}
	r.Warnings, r.conflicts, err = k.combine(ctx, a.resolver, onto, append(args, onto),
		[]string{"rebase", "--continue"})
	r.Rebased = err == nil
	return r, err
}

// combine begins a merge or rebase aside, resolves what conflicts and lets git go on, until it is done. Then the branch
// takes what came of it, if the rules allow that.
func (k keeper) combine(ctx context.Context, a resolver, theirs string, begin, goOn []string) (
	warnings []string, c conflicts, err error) {
	c, warnings = noConflicts, []string{}
	ours, err := k.commit(ctx, "HEAD")
	if err != nil {
		return warnings, c, err
	}
	if err := a.check(ours, theirs); err != nil {
		return warnings, c, err
	}
	side, remove, err := k.aside(ctx)
	if err != nil {
		return warnings, c, err
	}
	defer remove()
	used := map[int]bool{}
	_, err = side.git(ctx, begin...)
	for err != nil {
		if ctx.Err() != nil {
			return warnings, c, ctx.Err()
		}
		stopped, lookErr := side.stopped(ctx, ours, theirs)
		if lookErr != nil {
			return warnings, c, lookErr
		}
		if len(stopped.Conflicts) == 0 {
			return warnings, c, err
		}
		if len(a.Resolutions) == 0 {
			return warnings, stopped, contract.AsError(err).WithHint("git_merge and git_rebase take resolutions: " +
				"{path, content}, {path, delete: true} or {path, take: ours}; a rebase's name their commit, too")
		}
		if err := a.resolve(ctx, side, stopped, used); err != nil {
			return warnings, stopped, err
		}
		_, err = side.git(ctx, goOn...)
	}
	if err := a.leftOver(used); err != nil {
		return warnings, c, err
	}
	warnings, err = k.adopt(ctx, side)
	return warnings, c, err
}

// unknown adds the names that there are to an error about one that there is not.
func (r *Repo) unknown(ctx context.Context, e *contract.Error) error {
	names, err := r.git(ctx, "for-each-ref", "--count=50", "--format=%(refname:lstrip=2)", "refs/heads", "refs/remotes",
		"refs/tags")
	if err != nil {
		return errors.Join(e, err)
	}
	return e.WithHint("there are: " + strings.Join(strings.Fields(names), ", ") + "; git_pull brings others, if it may")
}
