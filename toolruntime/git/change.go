package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
		return addResult{}, err
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
	if k.rules.Git.RequireCleanTreeForCommit {
		if err := k.clean(ctx, false); err != nil {
			return commitResult{}, err
		}
	}
	warnings, err := k.message(a.Message)
	if err != nil {
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
	if _, err := k.must(ctx, command{args: args, stdin: &a.Message}); err != nil {
		return commitResult{}, err
	}
	id, err := k.commit(ctx, "HEAD")
	return commitResult{id, warnings}, err
}

// judgeStaged holds what is staged to the rules of the registry; to those that need a toolchain, the work tree is held.
func (k keeper) judgeStaged(ctx context.Context, message string) (warnings []string, err error) {
	var j *judged
	for _, rule := range k.rules.Held(canJudge) {
		if rule == workspace.Rule {
			continue
		}
		if j == nil {
			changes, err := k.staged(ctx)
			if err != nil {
				return nil, err
			}
			j = &judged{k: k, changes: changes, base: "HEAD"}
		}
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
		w, err := k.hold(rule, broken, v.Hint)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, w...)
	}
	return warnings, nil
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
	if err != nil {
		return err
	}
	for _, c := range s.Changes {
		if c.Status != "?" && (c.Unstaged || all) {
			return contract.Refuse(cleanRule, "the work tree is not clean: %q has changes", c.Path).
				WithHint("stage them with git_add, and commit them where staged ones are too many")
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
	if err == nil {
		_, err = k.git(ctx, append([]string{"switch", "--quiet", "--no-guess"}, args...)...)
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

func (k keeper) merge(ctx context.Context, a mergeArgs) (mergeResult, error) {
	m := mergeResult{conflicts: conflicts{[]string{}}}
	if err := k.mergeable(ctx, a.Branch); err != nil {
		return m, err
	}
	ff := "--ff"
	if a.NoFF {
		ff = "--no-ff"
	}
	_, err := k.git(ctx, "merge", "--quiet", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat", "--no-autostash",
		"--no-verify-signatures", ff, a.Branch)
	if err != nil {
		m.Conflicts = k.undo(ctx, "merge", "MERGE_HEAD")
	}
	m.Merged = err == nil
	return m, err
}

// mergeable judges a branch to merge. Its name goes into the message, so git gets the name.
func (k keeper) mergeable(ctx context.Context, branch string) error {
	if err := k.branchName(ctx, branch); err != nil {
		return err
	}
	for _, under := range []string{"refs/heads/", "refs/remotes/"} {
		id, err := k.ref(ctx, under+branch)
		if err != nil {
			return err
		}
		if id == "" {
			continue
		}
		if short, err := k.commit(ctx, branch); err != nil || short != id {
			return contract.Errorf(contract.Git, "%q is the name of something else, too", branch)
		}
		return k.clean(ctx, true)
	}
	return contract.Errorf(contract.Git, "there is no branch %q", branch)
}

func (k keeper) rebase(ctx context.Context, a rebaseArgs) (rebaseResult, error) {
	r := rebaseResult{conflicts: conflicts{[]string{}}}
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
	if _, err = k.git(ctx, append(args, onto)...); err != nil {
		r.Conflicts = k.undo(ctx, "rebase", "rebase-merge")
	}
	r.Rebased = err == nil
	return r, err
}

// undo ends what conflicts or the end of its time stopped, and returns the paths that conflict.
func (r *Repo) undo(ctx context.Context, what, mark string) []string {
	paths := []string{}
	if _, err := os.Lstat(filepath.Join(r.dir, mark)); err != nil {
		return paths // git refused before it changed anything
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitTime)
	defer cancel()
	text, _ := r.git(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	for path := range strings.SplitSeq(text, "\x00") {
		if path != "" {
			paths = append(paths, path)
		}
	}
	_, _ = r.git(ctx, what, "--abort")
	return paths
}
