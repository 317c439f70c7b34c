package ast

import (
	"context"
	"errors"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Guard holds tools that write one file to code.ast.parsed, where it blocks: the file is parsed again after the change,
// and gets its old content back if it parsed before and does not now.
func Guard(w *workspace.Workspace, r *registry.Registry, tools []contract.Tool) []contract.Tool {
	if r.Level(ruleParsed) != registry.Blocking {
		return tools
	}
	for i, t := range tools {
		tools[i].Prepare = func(raw []byte) (*contract.Call, error) {
			c, err := t.Prepare(raw)
			if err != nil || c.Writes == "" || !Knows(c.Writes) {
				return c, err
			}
			run := c.Run
			c.Run = func(ctx context.Context) (any, error) { return guarded(ctx, w, c.Writes, run) }
			return c, nil
		}
	}
	return tools
}

func guarded(ctx context.Context, w *workspace.Workspace, file string, run func(context.Context) (any, error)) (
	any, error) {
	there, err := w.Exists(file)
	if err != nil {
		return nil, err
	}
	before, mode, err := w.Read(file, workspace.MaxFile)
	if there && err != nil {
		return nil, err
	}
	result, err := run(ctx)
	if err != nil {
		return result, err
	}
	after, _, err := w.Read(file, workspace.MaxFile)
	var problems []Problem
	if err == nil {
		problems, err = parse(ctx, []*source{newSource(file, after)})
	}
	if err == nil && len(problems) == 0 {
		return result, nil
	}
	if err == nil {
		if there {
			was, other := parse(ctx, []*source{newSource(file, before)})
			if other == nil && len(was) > 0 {
				return result, nil // a step on the way to a file that parses
			}
		}
		err = unparsed(problems[0])
	}
	ctx = context.WithoutCancel(ctx)
	if !there {
		return nil, errors.Join(err, w.Delete(ctx, file, false, true))
	}
	return nil, errors.Join(err, w.Write(ctx, file, before, mode, false))
}
