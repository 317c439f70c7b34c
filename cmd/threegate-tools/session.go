package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
	"github.com/threegate/tool-exec/validate/secrets"
)

// settings are the flags that run and serve have in common.
type settings struct {
	workspace string
	registry  string
	budget    toolruntime.Budget
}

func (s *settings) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.workspace, "workspace", "", "the `folder` that tools may touch")
	f.StringVar(&s.registry, "registry", "", "the `file` that says which hosts and commands are allowed (default none are)")
	f.IntVar(&s.budget.Calls, "max-calls", toolruntime.DefaultBudget.Calls, "calls of the session")
	f.Int64Var(&s.budget.Bytes, "max-bytes", toolruntime.DefaultBudget.Bytes, "`bytes` of arguments and results of the session")
	f.DurationVar(&s.budget.Time, "max-time", toolruntime.DefaultBudget.Time, "time of the session")
}

// open makes the session. The timeline belongs to the caller.
func (s *settings) open(w *workspace.Workspace, repo *git.Repo, timeline, errs io.Writer,
	o toolruntime.Options) (*toolruntime.Session, error) {
	r, err := s.readRegistry()
	if err != nil {
		return nil, err
	}
	r.Secrets = secrets.Finder{}
	o.Budget, o.Timeline, o.Stderr = s.budget, timeline, errs
	return toolruntime.New(toolruntime.Tools(w, repo, r), o), nil
}

// begin opens the workspace and makes its repository, from a bundle if one is named.
func begin(ctx context.Context, folder, bundle string) (*workspace.Workspace, *git.Repo, error) {
	w, err := workspace.Open(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("the workspace: %w", err)
	}
	if !proc.Installed("git") && bundle == "" {
		return w, nil, nil
	}
	dir, err := os.MkdirTemp("", "git-")
	if err != nil {
		return nil, nil, err
	}
	var repo *git.Repo
	if bundle == "" {
		repo, err = git.Begin(ctx, w, dir)
	} else {
		repo, err = git.Import(ctx, w, dir, bundle)
	}
	return w, repo, err
}

// readRegistry reads the registry, and the rule pack that lies beside it if one does.
func (s *settings) readRegistry() (*registry.Registry, error) {
	if s.registry == "" {
		return registry.Default(), nil
	}
	packFile := filepath.Join(filepath.Dir(s.registry), registry.PackFile)
	raw, err := durable.ReadRegular(s.registry, registry.MaxSize)
	if err != nil {
		return nil, err
	}
	r, err := registry.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.registry, err)
	}
	pack, err := durable.ReadRegular(packFile, registry.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = r.Raise(pack)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packFile, err)
	}
	return r, nil
}
