package git

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/fetch"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

type pullArgs struct {
	Remote string `json:"remote,omitempty" jsonschema:"https://HOST/PATH of an allowed host, NAME of a bundle NAME.bundle among the inputs, or origin"`
	Rebase bool   `json:"rebase,omitempty" jsonschema:"put the branch's own commits on top; without it, merge"`
}

// allowed holds the host of an address to the registry.
func (a pullArgs) allowed(rules *registry.Registry) error {
	if u, err := url.Parse(a.Remote); err == nil && u.Host != "" {
		return fetch.Allowed(rules, u)
	}
	return nil
}

type pullResult struct {
	Pulled bool `json:"pulled"`
	// Branch is what git_merge or git_rebase can take, with resolutions.
	Branch   string   `json:"branch" jsonschema:"the branch that was fetched, such as upstream/main"`
	Warnings []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
	conflicts
}

// remoteName keeps a name from being a path, an option or an address.
var remoteName = regexp.MustCompile(`^[a-z0-9]+(?:[._-][a-z0-9]+)*$`)

// pull takes the commits of a repository of an allowed host, or of a bundle that lies among the inputs, next to the one
// that the workspace came from. The branch that is checked out then moves forward, is rebased or gets a merge. It takes
// the branch of the same name, or, where there is none, that of the remote's HEAD.
func (k keeper) pull(ctx context.Context, a pullArgs) (pullResult, error) {
	p := pullResult{conflicts: noConflicts, Warnings: []string{}}
	branch, err := k.git(ctx, "branch", "--show-current")
	if branch = strings.TrimSpace(branch); err == nil && branch == "" {
		err = contract.Errorf(contract.Git, "HEAD is on no branch, so nothing can be pulled into it")
	}
	if err == nil {
		err = k.clean(ctx, true)
	}
	if err != nil {
		return p, err
	}
	theirs, err := k.theirs(ctx, a.Remote, branch)
	if err != nil {
		return p, err
	}
	if a.Rebase {
		r, err := k.rebase(ctx, rebaseArgs{Onto: "refs/remotes/" + theirs})
		return pullResult{r.Rebased, theirs, r.Warnings, r.conflicts}, err
	}
	m, err := k.merge(ctx, mergeArgs{Branch: theirs})
	return pullResult{m.Merged, theirs, m.Warnings, m.conflicts}, err
}

// theirs fetches from a remote, and returns the branch to take, such as upstream/main.
func (k keeper) theirs(ctx context.Context, remote, branch string) (string, error) {
	if k.In == "" {
		return "", contract.Errorf(contract.Git, "this session has no history to pull into").
			WithHint("a workspace that comes as repository.bundle has one")
	}
	if strings.HasPrefix(remote, "https://") || strings.HasPrefix(remote, "http://") {
		return k.download(ctx, remote, branch)
	}
	if !remoteName.MatchString(remote) || len(remote) > maxName {
		return "", contract.Errorf(contract.Validation, "%q is no name of a remote", remote).
			WithHint("a remote is https://HOST/PATH, or a bundle NAME.bundle among the inputs; " +
				"NAME is of a-z, 0-9 and - . _ between")
	}
	bundle := filepath.Join(k.In, remote+".bundle")
	if remote != Remote {
		if err := k.take(ctx, remote, bundle); err != nil {
			return "", err
		}
	}
	id, err := k.ref(ctx, "refs/remotes/"+remote+"/"+branch)
	if err == nil && id == "" && remote == Remote {
		err = contract.Errorf(contract.Git, "%s has no branch %q", remote, branch)
	}
	if err == nil && id == "" {
		branch, err = k.pick(ctx, bundle)
	}
	return remote + "/" + branch, err
}

// take reads a bundle's branches. Its objects are checked apart: no call can reach those that are refused.
func (k keeper) take(ctx context.Context, remote, bundle string) error {
	if info, err := os.Lstat(bundle); err != nil || !info.Mode().IsRegular() {
		return contract.Errorf(contract.Git, "there is no bundle %s.bundle among the inputs", remote).
			WithHint("make it with git bundle create, and declare it as an input next to repository.bundle")
	}
	apart, env, err := k.apart()
	if err != nil {
		return err
	}
	defer os.RemoveAll(apart)
	if _, err := k.unbundle(ctx, bundle, env); err != nil {
		return err
	}
	return k.fetch(ctx, bundle, "+refs/heads/*:refs/remotes/"+remote+"/*")
}

// apart is a new folder for objects that no call can reach, and the environment in which git puts them there.
func (r *Repo) apart() (dir string, env []string, err error) {
	dir, err = os.MkdirTemp(r.dir, "apart-")
	return dir, []string{"GIT_OBJECT_DIRECTORY=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(r.dir, "objects")}, err
}

// unbundle takes the objects of a bundle to where env says, and checks them. It returns the bundle's references.
func (r *Repo) unbundle(ctx context.Context, bundle string, env []string) (refs string, err error) {
	refs, err = r.must(ctx, command{args: []string{"bundle", "unbundle", bundle}, env: env})
	if err == nil {
		err = r.check(ctx, env...)
	}
	return refs, err
}
