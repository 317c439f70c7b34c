package patchpolicy

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

const (
	// bundleFile is the name of the repository next to a plan.
	bundleFile = "repository.bundle"
	// maxHeads bounds what is read of it: the list of its branches stands first.
	maxHeads = 1 << 20
	// firstBranch is that of a workspace that came as files.
	firstBranch = "main"
)

// onBranches are the rules of a patch: what is for protected branches alone holds unless the plan says that it works on
// others. That is read from the plan, which was approved; where it can't be told, the branch is protected.
func (r *Run) onBranches(rules *registry.Registry) (*registry.Registry, error) {
	if rules.Git.ProtectedBranches == nil || rules.Level(registry.TodoRule) == "" {
		return rules, nil
	}
	branches, err := r.branches()
	if err != nil {
		return nil, err
	}
	other := rules
	for branch := range branches {
		if other = rules.On(branch); other == rules {
			return rules, nil
		}
	}
	return other, nil
}

// branches are those that the plan commits on, pushes to or ends on. An empty name is one that can't be told.
func (r *Run) branches() (map[string]bool, error) {
	unknown := map[string]bool{"": true}
	at := r.command()
	// Also past a checkout that failed.
	goesOn := func(arg string) bool { return strings.HasPrefix(arg, "--keep-going") }
	if at < 0 || r.Argv[at] != "run" || slices.ContainsFunc(r.Argv, goesOn) {
		return unknown, nil
	}
	plan, _, _ := r.words()
	name, ok := r.input(plan)
	if !ok {
		return unknown, nil
	}
	raw, err := r.Input(name, maxPlan)
	if errors.Is(err, os.ErrNotExist) {
		return unknown, nil
	} else if err != nil {
		return nil, err
	}
	calls, err := contract.ReadPlan(raw)
	if err != nil {
		return unknown, nil
	}
	heads, err := r.Input(path.Join(path.Dir(name), bundleFile), maxHeads)
	known, on := []string{firstBranch}, firstBranch
	if err == nil {
		known, on, _ = contract.BundleBranches(heads)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return branchesOf(calls, known, on), nil
}

// branchesOf goes through the calls of a plan that begins on a branch. known are the branches that there are.
func branchesOf(calls []*contract.ToolRequest, known []string, on string) map[string]bool {
	used := map[string]bool{}
	for _, call := range calls {
		var args struct {
			Target  string `json:"target"`
			Create  bool   `json:"create"`
			Refspec string `json:"refspec"`
		}
		if schemas.DecodeOpen(call.Args, &args) != nil {
			return map[string]bool{"": true}
		}
		switch call.Tool {
		case "git_checkout":
			if args.Create {
				known = append(known, args.Target)
			}
			on = ""
			if slices.Contains(known, args.Target) {
				on = args.Target
			}
		case "git_commit", "git_merge", "git_rebase", "git_pull":
			used[on] = true
		case "git_push":
			_, branch, _ := strings.Cut(args.Refspec, ":refs/heads/")
			used[branch] = true
		}
	}
	used[on] = true
	return used
}
