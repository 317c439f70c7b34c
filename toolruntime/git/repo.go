// Package git keeps the history of a workspace with Debian's git, and has the tools of section 5.4.
//
// Repositories and arguments are hostile. The git directory lies outside of the workspace, so no path of
// a tool reaches it. git runs without a shell, with a fixed environment and configuration: no hook, filter,
// external diff, pager, editor, signature, submodule or transport of a repository's or a user's choice runs.
// Names are judged before git sees them, and no argument of a call is ever an option of git's.
//
// It runs in the sandbox only.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Repo is the repository of one workspace. A host lets calls that change it run one by one.
type Repo struct {
	w   *workspace.Workspace
	dir string // the git directory
	// base is the commit that the workspace began with.
	base string
	// came are the commits that it came with.
	came []string
	// In is the folder of the bundles that can be pulled from: that of the one it was imported from.
	In string
	// from is that bundle.
	from string
	// Out is the folder for the bundle of pushes. Without one nothing can be pushed.
	Out string
	// judged are commits that were held to the rules when they were made or taken; true says that they were held to
	// those of a protected branch.
	judged map[string]bool
	// opened says that the git directory is that of a checkout.
	opened bool
	// objects is the folder of the objects, where it does not lie in dir.
	objects string
	// date, if not empty, is that of new commits: for tests.
	date string
}

// config outranks what a repository says, as each command gets it in its environment.
var config = []string{
	"advice.addEmbeddedRepo=false", "advice.detachedHead=false", "checkout.guess=false", "color.ui=false",
	"commit.gpgSign=false", "core.askPass=", "core.attributesFile=/dev/null", "core.autocrlf=false", "core.editor=:",
	"core.excludesFile=/dev/null", "core.fileMode=true", "core.fsmonitor=false", "core.hooksPath=/dev/null",
	"core.pager=cat", "core.protectHFS=true", "core.protectNTFS=true", "core.sshCommand=false", "core.symlinks=true",
	"core.untrackedCache=false", "diff.mnemonicPrefix=false", "diff.noprefix=false", "fetch.recurseSubmodules=false",
	"gc.auto=0", "init.templateDir=", "log.showSignature=false", "maintenance.auto=false", "merge.autoStash=false",
	"protocol.allow=never", "rebase.autoStash=false", "rerere.enabled=false", "sequence.editor=:",
	// Mistakes in the dates of old commits, which many repositories have (psf/requests is one), mean nothing for files.
	"fsck.badTimezone=ignore", "fsck.missingSpaceBeforeDate=ignore", "fsck.zeroPaddedDate=ignore",
	"fetch.fsck.badTimezone=ignore", "fetch.fsck.missingSpaceBeforeDate=ignore", "fetch.fsck.zeroPaddedDate=ignore",
	"status.submoduleSummary=false", "submodule.recurse=false", "tag.gpgSign=false", "transfer.fsckObjects=true",
	"user.email=" + email, "user.name=" + name,
}

// Who makes commits.
const (
	name  = "threegate-tools"
	email = "threegate-tools@localhost"
)

// attributes takes from every path what .gitattributes says: the bytes of a file are those of the repository.
const attributes = "* !text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace " +
	"!conflict-marker-size !delta !export-ignore !export-subst\n"

// environ is the whole environment of git.
func (r *Repo) environ() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "GIT_DIR=" + r.dir, "GIT_WORK_TREE=" + r.w.Dir,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_PROTOCOL_FROM_USER=0", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_COUNT=" + strconv.Itoa(len(config))}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	for i, kv := range config {
		key, value, _ := strings.Cut(kv, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	if r.objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+r.objects)
	}
	if r.date != "" {
		env = append(env, "GIT_AUTHOR_DATE="+r.date, "GIT_COMMITTER_DATE="+r.date)
	}
	return env
}

// command is one call of git.
type command struct {
	args  []string
	stdin *string
	env   []string
}

// do runs git, and returns what came of it, failed or not.
func (r *Repo) do(ctx context.Context, c command) (proc.Output, error) {
	out, err := proc.Run(ctx, proc.Command{Argv: append([]string{"git", "--no-pager"}, c.args...), Dir: r.w.Dir,
		Env: append(r.environ(), c.env...), Stdin: c.stdin})
	if ctx.Err() != nil {
		r.unlock()
	}
	if err == nil && out.Truncated {
		err = contract.Errorf(contract.Git, "git wrote more than %d bytes", proc.MaxOutput).
			WithHint("ask for less at once")
	}
	return out, err
}

// unlock removes the lock files of a git that was killed. No other git that writes runs meanwhile.
func (r *Repo) unlock() {
	_ = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case strings.HasSuffix(path, ".lock"):
			os.Remove(path)
		}
		return nil
	})
}

// git runs git, which must succeed, and returns its output.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	return r.must(ctx, command{args: args})
}

func (r *Repo) must(ctx context.Context, c command) (string, error) {
	out, err := r.do(ctx, c)
	if err == nil && out.Code != 0 {
		err = refusal(c.args[0], out)
	}
	return out.Stdout, err
}

// refusal is what git says when it fails. It leaves its hints out: they name commands that nobody can run here.
func refusal(what string, out proc.Output) *contract.Error {
	var lines []string
	said := out.Stderr
	if said == "" {
		said = out.Stdout
	}
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") &&
			!strings.HasPrefix(line, "notice:") {
			lines = append(lines, line)
		}
	}
	text := contract.Shorten(strings.ReplaceAll(strings.Join(lines, "; "), magic, ""), 1000)
	if text == "" {
		text = fmt.Sprintf("exit code %d", out.Code)
	}
	return contract.Errorf(contract.Git, "git %s: %s", what, text)
}

// began is the date of a first commit.
const began = "@0 +0000"

// Begin makes the repository of a workspace, whose first commit is what lies there. dir is a new folder
// outside of it, for git.
func Begin(ctx context.Context, w *workspace.Workspace, dir string) (*Repo, error) {
	r, err := create(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	if _, err := r.git(ctx, "add", "--all", "--force", "--", "."); err != nil {
		return nil, err
	}
	// The same files make the same commit, so that a bundle of what came after fits wherever they lie.
	_, err = r.must(ctx, command{env: []string{"GIT_AUTHOR_DATE=" + began, "GIT_COMMITTER_DATE=" + began},
		args: []string{"commit", "--quiet", "--no-verify", "--allow-empty", "--message=The workspace as it came"}})
	if err != nil {
		return nil, err
	}
	r.base, err = r.commit(ctx, "HEAD")
	r.came = []string{r.base}
	return r, err
}

// Open takes the repository of a workspace that is a checkout: its folder .git, in which commits are kept as ever. What
// lies there comes from the host, which vouches for it: of its configuration, filters and drivers are followed where
// .gitattributes names them. No path of a tool reaches it. Pulls of bundles and pushes need In and Out.
func Open(ctx context.Context, w *workspace.Workspace) (*Repo, error) {
	r := &Repo{w: w, dir: filepath.Join(w.Dir, ".git"), judged: map[string]bool{}, opened: true}
	if info, err := os.Lstat(r.dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no checkout with a folder .git: git init makes it one", w.Dir)
	}
	var err error
	if r.base, err = r.ref(ctx, "HEAD"); err == nil && r.base == "" {
		err = fmt.Errorf("%s has no commit yet", w.Dir)
	}
	if err != nil {
		return nil, err
	}
	ids, err := r.git(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes")
	r.came = append(strings.Fields(ids), r.base)
	return r, err
}

func create(ctx context.Context, w *workspace.Workspace, dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{w: w, dir: dir, judged: map[string]bool{}}
	if _, err := r.git(ctx, "init", "--quiet", "--template=", "--initial-branch=main"); err != nil {
		return nil, err
	}
	info := filepath.Join(dir, "info")
	return r, errors.Join(os.MkdirAll(info, 0o755),
		os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o644))
}

// commit resolves a name to a commit's id.
func (r *Repo) commit(ctx context.Context, rev string) (string, error) {
	id, err := r.ref(ctx, rev)
	if err == nil && id == "" {
		err = r.unknown(ctx, contract.Errorf(contract.Git, "there is no commit %q", rev))
	}
	return id, err
}

// changesIndex is the index in which Changes puts all that the workspace has.
const changesIndex = "index.changes"

func indexOfChanges(r *Repo) []string {
	return []string{"GIT_INDEX_FILE=" + filepath.Join(r.dir, changesIndex)}
}

// Changes writes what the workspace has changed since it came to a file: what git knows and what is new,
// but for ignored files. It is text: a binary file that changed is named, and its name returned. more are further
// options of git diff.
func (r *Repo) Changes(ctx context.Context, file string, more ...string) (binary []string, err error) {
	file, err = filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	env := indexOfChanges(r)
	if err := os.Remove(filepath.Join(r.dir, changesIndex)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, args := range [][]string{
		{"read-tree", r.base},
		{"add", "--all", "--", "."},
		slices.Concat([]string{"diff", "--cached", "--no-ext-diff", "--no-textconv", "--output=" + file}, more,
			[]string{r.base, "--"}),
	} {
		if _, err := r.must(ctx, command{args: args, env: env}); err != nil {
			return nil, err
		}
	}
	stat, err := r.must(ctx, command{env: env, args: []string{"diff", "--cached", "--no-ext-diff", "--no-textconv",
		"--numstat", "-z", "--no-renames", r.base, "--"}})
	for entry := range strings.SplitSeq(stat, "\x00") {
		if path, ok := strings.CutPrefix(entry, "-\t-\t"); ok {
			binary = append(binary, path)
		}
	}
	return binary, err
}
