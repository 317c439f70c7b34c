// Package toolruntime is the Tool Runtime SDK: developer tools (files, search, patches, processes, git, code, HTTP)
// under one contract, with policy, budgets and a record. A host opens a folder with [workspace.Open] and its repository
// with [git.Open], reads a registry with [registry.Parse], starts a [Session] with the [Tools] of both, hands it
// requests with [Session.Do] and gets responses. Requests may be hostile, and are bounded in time, size and number.
//
// The programs that tools start (git, a shell_exec of the registry's, a build) have the rights of the host. Its checks
// give quick and clear errors; what holds programs is a sandbox around the host. What can't be trusted belongs into
// one.
//
// The envelopes, the tools and their arguments are those of [Version] of the specification, and follow its rule: what a
// client sends or reads changes in an incompatible way with a new MAJOR only. The Go API is that of this module's
// version; before 1.0 it may change, and CHANGELOG.md says how.
package toolruntime

import (
	"slices"

	"github.com/threegate/tool-exec/toolruntime/ast"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/fetch"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Version is that of the Tool Runtime specification whose envelopes and tools these are (its section 11). Tools and
// arguments of ours beside it are marked in docs/tools.md.
const Version = contract.Version

// Tools are the tools of one workspace and its repository, under a registry. repo is nil where there is none; without a
// registry no host and no command is allowed. A session adds emit_metrics.
func Tools(w *workspace.Workspace, repo *git.Repo, r *registry.Registry) []contract.Tool {
	if r == nil {
		r = registry.Default()
	}
	writers := ast.Guard(w, r, workspace.Tools(w))
	scratch := ""
	if repo != nil {
		scratch = repo.Scratch()
	}
	return slices.Concat(writers, proc.Tools(w, r), []contract.Tool{fetch.Tool(r)}, git.Tools(repo, r),
		ast.Tools(w, r, scratch))
}

// Contracts are all tools, for their schemas only.
func Contracts() []contract.Tool {
	return append(Tools(nil, nil, registry.Default()), EmitMetrics(nil))
}
