// Package toolruntime is the Tool Runtime SDK: developer tools (files, search, patches,
// processes, git, HTTP) under one contract, with policy, budgets and a record. A host embeds
// it, hands it requests and gets responses.
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
	"github.com/threegate/tool-exec/toolruntime/fetch"
	"github.com/threegate/tool-exec/toolruntime/files"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/host"
	"github.com/threegate/tool-exec/toolruntime/patch"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/tool"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Tools are the tools of one workspace and its repository, under a registry. repo is nil where there is none. A
// session adds emit_metrics.
func Tools(w *workspace.Workspace, repo *git.Repo, r *registry.Registry) []tool.Tool {
	writers := ast.Guard(w, r, append(files.Tools(w), patch.Tool(w)))
	return slices.Concat(writers, proc.Tools(w, r), []tool.Tool{fetch.Tool(r)}, git.Tools(repo, r), ast.Tools(w, r))
}

// Contracts are all tools, for their schemas only.
func Contracts() []tool.Tool {
	return append(Tools(nil, nil, registry.Default()), host.EmitMetrics(nil))
}
