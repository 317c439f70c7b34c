// Package toolruntime is the Tool Runtime SDK: developer tools (files, search, patches,
// processes, git, HTTP) under one contract, with policy, budgets and a record. A host embeds
// it, hands a Session requests and gets responses.
//
// It runs in the sandbox only, next to the programs that it starts, which have its rights. Its
// checks give quick and clear errors; what holds a program is the sandbox, and what
// a result is worth is judged outside.
//
// It imports nothing of the gate but pure packages.
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

// Tools are the tools of one workspace and its repository, under a registry. repo is nil where there is none. A
// session adds emit_metrics.
func Tools(w *workspace.Workspace, repo *git.Repo, r *registry.Registry) []contract.Tool {
	writers := ast.Guard(w, r, workspace.Tools(w))
	return slices.Concat(writers, proc.Tools(w, r), []contract.Tool{fetch.Tool(r)}, git.Tools(repo, r), ast.Tools(w, r))
}

// Contracts are all tools, for their schemas only.
func Contracts() []contract.Tool {
	return append(Tools(nil, nil, registry.Default()), EmitMetrics(nil))
}
