package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const cleanRule = "sec.git.clean_tree"

func (k keeper) add(ctx context.Context, a addArgs) (addResult, error) {
	specs, err := pathspecs(a.Paths)
	if err != nil {
		return addResult{}, err
	}
	before, err := k.index(ctx)
	if err != nil {
		return addResult{}, err
	}
	if _, err := k.git(ctx, append([]string{"add", "--"}, specs...)...); err != nil {
		hint := "paths are files or patterns such as src/**, not options; ** is all; git_status lists what has changed"
		return addResult{}, cmp.Or(k.ignored(ctx, a.Paths), error(contract.AsError(err).WithHint(hint)))
	}
	after, err := k.index(ctx)
	count := 0
	for path, entry := range after {
		if before[path] != entry {
			count++
		}
		delete(before, path)
	}
	return addResult{count + len(before)}, err
}

// ignored is an error if one of the paths is a file that is ignored, of which git add says only that nothing fits.
func (k keeper) ignored(ctx context.Context, paths []string) error {
	for _, p := range paths {
		if there, err := k.w.Exists(p); err != nil || !there {
			continue
		}
		out, err := k.do(ctx, command{args: []string{"check-ignore", "--quiet", "--", p}})
		if err == nil && out.Code == 0 {
			return contract.Errorf(contract.Git, "%q is ignored: a .gitignore names it", p).
				WithHint("an ignored file is not staged: name others, or change .gitignore")
		}
	}
	return nil
}

// index is what is staged: mode, id and stage by path.
func (r *Repo) index(ctx context.Context) (map[string]string, error) {
	text, err := r.git(ctx, "ls-files", "--stage", "-z")
	entries := map[string]string{}
	for line := range strings.SplitSeq(text, "\x00") {
		if entry, path, ok := strings.Cut(line, "\t"); ok {
			entries[path] += entry
		}
	}
	return entries, err
}

func (k keeper) commitStaged(ctx context.Context, a commitArgs) (commitResult, error) {
	if strings.ContainsRune(a.Message, 0) {
		return commitResult{}, contract.Errorf(contract.Validation, "the message holds a NUL")
	}
	s, err := k.look(ctx)
	if err == nil && k.rules.Git.RequireCleanTreeForCommit {
		err = s.clean(false)
	}
	if err != nil {
		return commitResult{}, err
	}
	var nothing error
	if !a.AllowEmpty {
		nothing = s.staging()
	}
	k = k.on(s.Branch)
	warnings, err := k.message(a.Message)
	if err != nil && nothing != nil {
		err = contract.AsError(err).WithHint(contract.AsError(err).Hint + ". Also, " + contract.AsError(nothing).
			Message)
	}
	if err := cmp.Or(err, nothing); err != nil {
		return commitResult{}, err
	}
	more, err := k.judgeStaged(ctx, a.Message)
	if err != nil {
		return commitResult{}, err
	}
	warnings = append(warnings, more...)
	args := []string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--file=-"}
	if a.Signoff {
		args = append(args, "--signoff")
	}
	if a.AllowEmpty {
		args = append(args, "--allow-empty")
	}
	if ctx.Err() != nil {
		return commitResult{}, ctx.Err()
	}
	ctx = context.WithoutCancel(ctx) // from here on all of it is done
	if _, err := k.must(ctx, command{args: args, stdin: &a.Message}); err != nil {
		return commitResult{}, err
	}
	id, err := k.commit(ctx, "HEAD")
	k.wasJudged(id)
	return commitResult{id, warnings}, err
}

// on is the keeper of a branch, to which not every rule may apply.
func (k keeper) on(branch string) keeper {
	k.protected = k.rules.Git.Protects(branch)
	k.rules = k.rules.On(branch)
	return k
}

// wasJudged remembers a commit that was held to the rules of a branch.
func (k keeper) wasJudged(id string) { k.judged[id] = k.judged[id] || k.protected }

// branch is the name of the branch that is checked out, or empty.
func (r *Repo) branch(ctx context.Context) (string, error) {
	out, err := r.do(ctx, command{args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}})
	return strings.TrimSpace(out.Stdout), err
}

// staging refuses a commit of nothing.
func (s statusResult) staging() error {
	var paths []string
	for _, c := range s.Changes {
		if c.Staged {
			return nil
		}
		paths = append(paths, c.Path)
	}
	e := contract.Errorf(contract.Git, "nothing is staged, so there is nothing to commit")
	if len(paths) == 0 {
		return e.WithHint("change files first: every file is as the last commit has it")
	}
	return e.WithHint(fmt.Sprintf("stage what is to be committed with git_add; changed or new: %s",
		contract.Shorten(strings.Join(paths, ", "), 500)))
}

// judgeStaged holds what is staged to the rules of the registry; to those that need a toolchain, the work tree is held.
// That its paths are those of files was looked at when they were written.
func (k keeper) judgeStaged(ctx context.Context, message string) (warnings []string, err error) {
	rules := slices.DeleteFunc(k.rules.Held(canJudge), func(rule string) bool { return rule == workspace.Rule })
	if len(rules) == 0 {
		return nil, nil
	}
	changes, err := k.staged(ctx)
	if err != nil {
		return nil, err
	}
	j := &judged{k: k, changes: changes, base: "HEAD",
		tree: func(context.Context) (string, error) { return k.w.Dir, nil }}
	return j.uphold(ctx, rules, message)
}

// staged is what a commit would change, also in files that are no text: a NUL hides nothing from a rule.
func (k keeper) staged(ctx context.Context) ([]judge.Change, error) {
	patch, err := k.git(ctx, "diff", "--cached", "--text", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	return parse([]byte(patch))
}

func parse(patch []byte) ([]judge.Change, error) {
	changes, err := judge.Parse(patch)
	if err != nil {
		return nil, contract.Errorf(contract.Git, "the change can't be judged: %v", err)
	}
	return changes, nil
}

// clean refuses a work tree with changes that are not staged; with all, also staged ones. Files that git does
// not know are no changes.
func (r *Repo) clean(ctx context.Context, all bool) error {
	s, err := r.look(ctx)
	if err == nil {
		err = s.clean(all)
	}
	return err
}

func (s statusResult) clean(all bool) error {
	for _, c := range s.Changes {
		if c.Status != "?" && (c.Unstaged || all) {
			return contract.Refuse(cleanRule, "the work tree is not clean: %q has changes", c.Path).
				WithHint("git_add stages it, git_commit commits it, and then the call can be made again")
		}
	}
	return nil
}

func (k keeper) checkout(ctx context.Context, a checkoutArgs) (checkoutResult, error) {
	warnings := []string{}
	args, err := k.where(ctx, a)
	if err == nil && a.Create {
		warnings, err = k.naming(a.Target)
	} else if err == nil {
		err = k.clean(ctx, true)
	}
	before, other := k.ref(ctx, "HEAD")
	if err := cmp.Or(err, other, ctx.Err()); err != nil {
		return checkoutResult{Warnings: warnings}, err
	}
	ctx = context.WithoutCancel(ctx) // from here on all of it is done
	_, err = k.git(ctx, append([]string{"switch", "--quiet", "--no-guess"}, args...)...)
	if err == nil && before != "" && !a.Create {
		err = k.touch(ctx, before, "HEAD")
	}
	return checkoutResult{err == nil, warnings}, err
}

// where are the words for git of where a checkout goes.
func (k keeper) where(ctx context.Context, a checkoutArgs) ([]string, error) {
	if a.Create {
		return []string{"--no-track", "--create", a.Target}, k.newBranch(ctx, a.Target)
	}
	if k.branchName(ctx, a.Target) == nil {
		if id, err := k.ref(ctx, "refs/heads/"+a.Target); err != nil || id != "" {
			return []string{a.Target}, err
		}
		remote := "refs/remotes/" + Remote + "/" + a.Target
		if id, err := k.ref(ctx, remote); err != nil || id != "" && a.Track {
			return []string{"--track", "--create", a.Target, remote}, err
		}
	}
	id, err := k.rev(ctx, a.Target)
	return []string{"--detach", id}, err
}
