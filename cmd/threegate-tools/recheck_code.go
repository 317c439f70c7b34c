package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/threegate/tool-exec/toolruntime/ast"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/toolchain"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// code holds the patch to the rules that know code by its structure. It runs nothing of the base or the patch.
func (c *recheck) code(ctx context.Context, changes []judge.Change) (found map[string][]judge.Violation, err error) {
	rules := c.rules.Held(ast.Can)
	changes = slices.DeleteFunc(slices.Clone(changes), func(ch judge.Change) bool {
		return ch.Deleted || ch.Binary || !ast.Knows(ch.Path)
	})
	found = map[string][]judge.Violation{}
	if len(rules) == 0 {
		return found, nil
	}
	files := make([]ast.File, len(changes))
	read := func(patched bool) error {
		return c.inTree(ctx, patched, func(j toolchain.Job) error {
			w, err := workspace.Open(j.Dir)
			if err != nil {
				return err
			}
			for i, ch := range changes {
				files[i].Path = ch.Path
				if patched {
					files[i].After, err = readCode(w, ch.Path)
				} else if ch.Old != "" {
					files[i].Before, err = readCode(w, ch.Old)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := errors.Join(read(false), read(true)); err != nil {
		return nil, err
	}
	looked, err := ast.Look(ctx, files, rules...)
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		found[rule] = looked.Judge(rule, c.rules)
	}
	return found, nil
}

// readCode is a regular file, or nil where there is none: a link named as code is none.
func readCode(w *workspace.Workspace, name string) ([]byte, error) {
	if there, err := w.Exists(name); err != nil || !there {
		return nil, err
	}
	_, info, err := w.Lstat(name)
	if err != nil || info.Mode()&fs.ModeType != 0 {
		return nil, err
	}
	data, _, err := w.Read(name, workspace.MaxFile)
	return data, err
}
