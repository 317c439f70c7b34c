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
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// What may lie in the folder of the inputs, next to a plan.
const (
	// filesFolder is what the workspace begins with.
	filesFolder = "workspace"
	// bundleFile is there in its stead: a repository.
	bundleFile = "repository.bundle"
	// registryFile says what the calls may do.
	registryFile = "registry.yaml"
)

// What a run writes to its folder of outputs.
const (
	responsesFile = "responses.jsonl"
	timelineFile  = "timeline.jsonl"
	changesFile   = "changes.patch"
	commitsFile   = "commits.bundle"
	pushFile      = "push.bundle" // by git_push
)

// place is where a run works, by its flags.
type place struct {
	settings
	out string
}

func (p *place) flags(cmd *cobra.Command) {
	p.settings.flags(cmd)
	cmd.Flags().Lookup("workspace").Usage = "the `folder` that tools may touch (default a new one below $TMPDIR)"
	cmd.Flags().StringVar(&p.out, "out", "/out", "`folder` for responses and timeline")
}

// desk is a run's session, its repository if there is one, and the files that tell of its calls.
type desk struct {
	out               string
	session           *toolruntime.Session
	repo              *git.Repo
	responses, copied *os.File
	// made is the folder of the workspace, if it is a temporary one.
	made string
}

// open begins a run whose inputs lie in the folder next. kept, which may be nil, gets the timeline as well.
func (p *place) open(ctx context.Context, next string, kept *os.File, errs io.Writer) (*desk, error) {
	if file := filepath.Join(next, registryFile); p.registry == "" {
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			p.registry = file
		} else if _, err := os.Lstat(filepath.Join(next, registry.PackFile)); !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s raises the levels of a registry, and there is no %s", registry.PackFile,
				registryFile)
		}
	}
	d := &desk{out: p.out}
	err := d.begin(ctx, p, next, kept, errs)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *desk) begin(ctx context.Context, p *place, next string, kept *os.File, errs io.Writer) (err error) {
	if d.responses, err = create(p.out, responsesFile); err != nil {
		return err
	}
	if d.copied, err = create(p.out, timelineFile); err != nil {
		return err
	}
	record := io.Writer(d.copied)
	if kept != nil {
		record = io.MultiWriter(kept, d.copied)
	}
	temporary := p.workspace == ""
	err = p.fill(next)
	if temporary {
		d.made = p.workspace
	}
	if err != nil {
		return err
	}
	w, repo, err := begin(ctx, p.workspace, bundleNextTo(next))
	if err != nil {
		return err
	}
	if repo == nil {
		fmt.Fprintln(errs, "note: there is no git, so no changes.patch")
	} else {
		repo.Out = p.out
	}
	d.repo = repo
	d.session, err = p.settings.open(w, repo, record, errs, toolruntime.Options{})
	return err
}

// do makes one call. An error says that the session can't go on.
func (d *desk) do(ctx context.Context, r *contract.ToolRequest) (contract.ToolResponse, error) {
	resp := d.session.Do(ctx, r)
	line, err := contract.Encode(resp)
	if err == nil {
		_, err = d.responses.Write(line)
	}
	return resp, errors.Join(err, d.session.Err())
}

// changes takes out what the calls did.
func (d *desk) changes(ctx context.Context, errs io.Writer) error {
	d.session.Close()
	if d.repo == nil {
		return nil
	}
	f, err := create(d.out, changesFile)
	if err != nil {
		return err
	}
	binary, err := d.repo.Changes(ctx, f.Name())
	for _, path := range binary {
		fmt.Fprintf(errs, "note: changes.patch names %q and does not hold it: it is no text\n", path)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = d.repo.Commits(ctx, filepath.Join(d.out, commitsFile))
	return err
}

func (d *desk) close() (err error) {
	if d.repo != nil {
		err = d.repo.Remove()
	}
	if d.made != "" {
		err = errors.Join(err, os.RemoveAll(d.made))
	}
	for _, f := range []*os.File{d.responses, d.copied} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// fill makes the workspace, with the files next to the plan.
func (p *place) fill(next string) error {
	from := filepath.Join(next, filesFolder)
	if p.workspace == "" {
		dir, err := os.MkdirTemp("", "workspace-")
		if err != nil {
			return err
		}
		p.workspace = dir
	}
	info, err := os.Lstat(from)
	if _, bundle := os.Lstat(filepath.Join(next, bundleFile)); err == nil && bundle == nil {
		return fmt.Errorf("%s and %s can't both be there", from, bundleFile)
	}
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(p.workspace, 0o755)
	}
	if err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder that can be copied", from)
	}
	err = filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		if workspace.IsGit(filepath.Base(path)) {
			err = errors.Join(err, fmt.Errorf("%s belongs to git: a workspace is files only", path))
		}
		return err
	})
	if err != nil {
		return err
	}
	return os.CopyFS(p.workspace, os.DirFS(from))
}

// bundleNextTo is the bundle in a folder, or "".
func bundleNextTo(dir string) string {
	bundle := filepath.Join(dir, bundleFile)
	if _, err := os.Lstat(bundle); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return bundle
}

// create makes a file that is new.
func create(dir, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
}
