// Package toolruntime is the Tool Runtime SDK: developer tools (files, search, patches,
// processes, git, HTTP) under one contract, with policy, budgets and a record. A host embeds
// it, hands it requests and gets responses.
//
// It runs in the sandbox only, beside the programs that it starts, which have its rights. Its
// checks give quick and clear errors; what holds a program is the sandbox, and what
// a result is worth is judged outside.
//
// It imports nothing of the gate but pure packages.
package toolruntime

import (
	"github.com/threegate/tool-exec/toolruntime/files"
	"github.com/threegate/tool-exec/toolruntime/patch"
	"github.com/threegate/tool-exec/toolruntime/tool"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Tools is the catalogue for one workspace. A nil workspace is for schemas only.
func Tools(w *workspace.Workspace) []tool.Tool {
	return append(files.Tools(w), patch.Tool(w))
}
