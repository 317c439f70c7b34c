package git

import (
	"context"
	"slices"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/toolchain"
)

const (
	gitTime = 30 * time.Second
	// toolchainTime bounds a call that builds and tests.
	toolchainTime = 30 * time.Minute

	maxName    = 250
	maxPaths   = 1000
	maxMessage = 64 << 10
)

type statusArgs struct {
	Porcelain bool `json:"porcelain,omitempty" jsonschema:"the result has one form, whatever this says"`
}

type statusResult struct {
	Branch  string   `json:"branch" jsonschema:"empty if HEAD is on none"`
	Ahead   int      `json:"ahead" jsonschema:"commits that its upstream lacks"`
	Behind  int      `json:"behind" jsonschema:"commits of its upstream that it lacks"`
	Changes []Change `json:"changes"`
}

// Change is one path that is not as the last commit has it.
type Change struct {
	Path string `json:"path"`
	// Status are git's letters: of the index, and of the work tree if it differs from that; ? is untracked.
	Status   string `json:"status"`
	Staged   bool   `json:"staged"`
	Unstaged bool   `json:"unstaged"`
	// From is the old path of one that was moved.
	From string `json:"from,omitzero"`
}

type diffArgs struct {
	Rev   string   `json:"rev,omitempty" jsonschema:"the commit to compare the work tree with, or A..B to compare two, or A...B for what B has since both parted"`
	Paths []string `json:"paths,omitempty" jsonschema:"paths or glob patterns; all if none is given"`
}

type diffResult struct {
	Patch string `json:"patch"`
	Lossy bool   `json:"lossy" jsonschema:"bytes that are no UTF-8 were replaced: git apply will not take the patch"`
}

type addArgs struct {
	Paths []string `json:"paths" jsonschema:"paths or glob patterns"`
}

type addResult struct {
	Added int `json:"added" jsonschema:"paths that are staged otherwise than before"`
}

// Check judges the paths before anything runs.
func (a addArgs) Check() error { _, err := pathspecs(a.Paths); return err }

// Check judges the paths before anything runs.
func (a diffArgs) Check() error { _, err := pathspecs(a.Paths); return err }

type commitArgs struct {
	Message    string `json:"message"`
	Signoff    bool   `json:"signoff,omitempty" jsonschema:"add a Signed-off-by of threegate-tools"`
	AllowEmpty bool   `json:"allow_empty,omitempty"`
}

type commitResult struct {
	Commit   string   `json:"commit"`
	Warnings []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
}

type checkoutArgs struct {
	Target string `json:"target" jsonschema:"a branch, or a commit to look at without one"`
	Create bool   `json:"create,omitempty" jsonschema:"make this branch at HEAD; changes stay"`
	Track  bool   `json:"track,omitempty" jsonschema:"make a branch that only origin has"`
}

type checkoutResult struct {
	CheckedOut bool     `json:"checked_out"`
	Warnings   []string `json:"warnings" jsonschema:"rules that are broken and do not block"`
}

// keeper carries out the calls on one repository under a registry.
type keeper struct {
	*Repo
	rules *registry.Registry
	// protected says that rules are those of a protected branch.
	protected bool
}

// Tools are the git tools. repo is nil in a session without a repository.
func Tools(repo *Repo, rules *registry.Registry) []contract.Tool {
	k := keeper{Repo: repo, rules: rules}
	return []contract.Tool{
		of(k, "git_status", "says what is changed, staged and unknown to git", statusArgs{Porcelain: true},
			keeper.status).Reads(),
		of(k, "git_diff", "shows how tracked files differ from a commit", diffArgs{Rev: "HEAD"}, keeper.diff,
			contract.Length("rev", 1, maxName), contract.Items("paths", 0, maxPaths)).Reads(),
		of(k, "git_add", "stages files, also their deletion", addArgs{}, keeper.add,
			contract.Items("paths", 1, maxPaths)),
		contract.Policed(of(k, "git_commit", "commits what is staged", commitArgs{}, keeper.commitStaged,
			contract.Length("message", 1, maxMessage)), func(a commitArgs) error {
			_, err := k.message(a.Message)
			return err
		}),
		contract.Policed(of(k, "git_checkout", "switches to a branch, or makes one", checkoutArgs{Track: true},
			keeper.checkout, contract.Length("target", 1, maxName)), func(a checkoutArgs) (err error) {
			if a.Create {
				_, err = k.naming(a.Target)
			}
			return err
		}),
		of(k, "git_merge", "merges a branch, or changes nothing", mergeArgs{NoFF: true}, keeper.merge,
			contract.Length("branch", 1, maxName), resolving),
		of(k, "git_rebase", "puts the branch's commits onto another one, or changes nothing",
			rebaseArgs{Autosquash: true}, keeper.rebase, contract.Length("onto", 1, maxName), resolving),
		contract.Policed(of(k, "git_push", "puts a branch into the bundle of what is to be published",
			pushArgs{Remote: Remote}, keeper.push, contract.Length("refspec", 1, 2*maxName)), k.mayPush),
		contract.Policed(of(k, "git_pull",
			"takes the commits of an allowed host or a bundle into the branch, or changes "+
				"nothing", pullArgs{Remote: Remote, Rebase: true}, keeper.pull, contract.Length("remote", 1,
				maxAddress)),
			func(a pullArgs) error { return a.allowed(rules) }),
		of(k, "validate", "holds what the workspace has changed since it came to rules", validateArgs{Glob: "**"},
			keeper.validate, contract.OneOf("enforcement", "", "blocking", "warning", "suggestion")),
	}
}

// judging are tools that hold a change to the rules.
var judging = []string{"git_commit", "git_merge", "git_rebase", "git_push", "git_pull", "validate"}

func of[A, R any](k keeper, name, purpose string, defaults A, run func(keeper, context.Context, A) (R, error),
	adjust ...contract.Adjust) contract.Tool {
	limit := gitTime
	if slices.Contains(judging, name) && len(k.rules.Held(toolchain.Can)) > 0 {
		limit = toolchainTime
	}
	return contract.NewTool(name, purpose, limit, defaults, func(ctx context.Context, a A) (R, error) {
		if k.Repo == nil {
			var none R
			return none, contract.Errorf(contract.Git, "this session has no repository").
				WithHint("use the file tools; whoever starts the session can give it a repository, as a git bundle")
		}
		return run(k, ctx, a)
	}, adjust...)
}
