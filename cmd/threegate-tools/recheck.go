package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/toolchain"
)

// errWarned says that only rules which do not block are broken.
var errWarned = errors.New("a rule that does not block is broken")

type recheck struct {
	settings
	time time.Duration

	rules   *registry.Registry
	base    string // the folder with the base
	patch   []byte
	scratch string
	// above are the files above the scratch folder that tools follow, before anything ran.
	above []string
	// dirty says that code of the patch has run, so no cache is believed any more.
	dirty bool
}

// finding is one line of the report.
type finding struct {
	Rule    string         `json:"rule"`
	Level   registry.Level `json:"level"`
	OK      bool           `json:"ok"`
	Message string         `json:"message"`
	Path    string         `json:"path"`
	Line    int            `json:"line"`
}

func recheckCommand() *cobra.Command {
	c := &recheck{}
	cmd := &cobra.Command{
		Use:   "recheck --registry FILE PATCH",
		Short: "Build, lint, format and test a base with a patch, in a fresh sandbox",
		Long: `recheck holds a patch to those rules of a registry that need a toolchain: fmt.must.pass,
build.must.pass, lint.must.pass and test.must.pass; and to those that know code by its structure, such
as code.ast.parsed. Where commits.bundle or push.bundle of the run lies next to the patch, its new
commits are held to commit.message.conventional and its new branches to branch.naming.convention.

The base is repository.bundle or the folder workspace/ next to the patch, as for run. For each rule
both are put together anew, by plain git apply, and the rule's commands are run: those of the
registry, or those of its ast.language. Nothing that the patch holds chooses them.

It prints one JSON object a line: {"rule","level","ok","message","path","line"}.

The code under test has the same user. It gets no descriptor of the report and can't read or write this process;
what it leaves running is killed before the next rule. It can't change the code that it is built with: the commands
of ast.language find the tree read-only, and a rule whose commands changed a file of it is broken, also if they put
it back. Commands that the registry lists may add files.

Tests count only when each test that the source declares is told as passed: that a program ends with 0 is not
enough. No test of the base may be gone, be skipped newly, or lie in a folder that is built no longer; one that a run of
the base does not tell of either is excused. What a test itself says is its own word: code can be written to pass.

Where the formatter or linter refuses the base, too, only places that it does not name there break the rule.

Use a fresh sandbox, with the inputs read-only.

Exit codes: 0 all rules hold, 1 a rule that blocks is broken, 3 only others are, 2 it could not be judged. Any other
end, as by a signal, means that it was not judged.`,
		Example: `  threegate-tools recheck --registry /in/registry.yaml /in/changes.patch`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&c.registry, "registry", "", "the `file` that lists the rules")
	cmd.Flags().DurationVar(&c.time, "max-time", 30*time.Minute, "time for all rules")
	cmd.MarkFlagRequired("registry")
	return cmd
}

func (c *recheck) run(ctx context.Context, patch string, out io.Writer) (err error) {
	if err := seal(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.time)
	defer cancel()
	if c.rules, err = c.readRegistry(); err != nil {
		return err
	}
	if c.patch, err = durable.ReadRegular(patch, maxPlan); err != nil {
		return err
	}
	changes, err := judge.Parse(c.patch)
	if err != nil {
		return fmt.Errorf("%s is not as git diff writes it: %w", patch, err)
	}
	var paths []string
	for _, change := range changes {
		paths = append(paths, change.Path)
		if change.Old != change.Path {
			paths = append(paths, change.Old)
		}
	}
	c.base = filepath.Dir(patch)
	if c.scratch, err = os.MkdirTemp("", "recheck-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.scratch)
	c.above = toolchain.Above(filepath.Join(c.scratch, "tree"))
	looked, err := c.code(ctx, changes)
	if err == nil {
		err = c.names(ctx, looked)
	}
	if err != nil {
		return err
	}
	return c.judge(ctx, paths, looked, out)
}

// names holds the bundles that lie next to the patch, if there are any, to the rules about names.
func (c *recheck) names(ctx context.Context, looked map[string][]judge.Violation) error {
	var rules, bundles []string
	for _, rule := range []string{judge.MessageRule, judge.BranchRule} {
		if c.rules.Level(rule) != "" {
			rules = append(rules, rule)
		}
	}
	for _, name := range []string{commitsFile, pushFile} {
		bundle := filepath.Join(c.base, name)
		if _, err := os.Lstat(bundle); !errors.Is(err, os.ErrNotExist) {
			bundles = append(bundles, bundle)
		}
	}
	if len(rules) == 0 || len(bundles) == 0 {
		return nil
	}
	for _, rule := range rules {
		looked[rule] = nil
	}
	return c.inRepo(ctx, func(_ toolchain.Job, repo *git.Repo) error {
		found, err := repo.Names(ctx, bundles...)
		for _, v := range found {
			if slices.Contains(rules, v.Rule) {
				looked[v.Rule] = append(looked[v.Rule], v)
			}
		}
		return err
	})
}

// judge looks at one rule after the other, and reports each.
func (c *recheck) judge(ctx context.Context, paths []string, done map[string][]judge.Violation,
	out io.Writer) error {
	var base *toolchain.Base
	var worst error
	report := json.NewEncoder(out)
	report.SetEscapeHTML(false)
	for _, rule := range slices.Concat(slices.Sorted(maps.Keys(done)), toolchain.Rules) {
		level := c.rules.Level(rule)
		if level == "" {
			continue
		}
		found, looked := done[rule]
		note := ""
		if !looked && base == nil {
			b, err := c.readBase(ctx)
			if err != nil {
				return err
			}
			base = b
		}
		if !looked {
			found = toolchain.Guard(rule, paths)
		}
		if !looked && len(found) == 0 {
			err := c.inTree(ctx, true, func(j toolchain.Job) (err error) {
				j.Base = base
				found, note, err = j.Check(ctx, rule)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", rule, err)
			}
		}
		// go build, go vet and gofmt run nothing of a tree.
		c.dirty = c.dirty || !looked && (rule == toolchain.Tests || len(c.rules.Commands(rule)) > 0 ||
			c.rules.AST.Language != "go")
		for _, v := range found {
			if v.Hint != "" {
				v.Message += "; " + v.Hint
			}
			if err := report.Encode(finding{rule, level, false, v.Message, v.Path, v.Line}); err != nil {
				return err
			}
		}
		switch {
		case len(found) == 0:
			if err := report.Encode(finding{Rule: rule, Level: level, OK: true, Message: note}); err != nil {
				return err
			}
		case level == registry.Blocking:
			worst = errRejected
		case worst == nil:
			worst = errWarned
		}
	}
	return worst
}

// readBase learns from the base what a patch may not take away. It runs nothing of it, but
// to learn what it breaks as well.
func (c *recheck) readBase(ctx context.Context) (*toolchain.Base, error) {
	b := &toolchain.Base{Run: func(ctx context.Context, do func(toolchain.Job) error) error {
		c.dirty = true
		return c.inTree(ctx, false, do)
	}}
	return b, c.inTree(ctx, false, func(j toolchain.Job) (err error) {
		if c.rules.Level(toolchain.Build) != "" {
			b.Folders, err = j.Folders(ctx)
		}
		if err == nil && c.rules.Level(toolchain.Tests) != "" {
			b.Tests, err = j.Tests(ctx)
		}
		return err
	})
}

// inTree makes the base anew from the inputs, with or without the patch, and hands it over. Afterwards nothing of
// what ran there is left.
func (c *recheck) inTree(ctx context.Context, patched bool, do func(toolchain.Job) error) error {
	return c.inRepo(ctx, func(j toolchain.Job, repo *git.Repo) error {
		if patched {
			if err := c.apply(ctx, repo, j.Dir+".patch"); err != nil {
				return err
			}
		}
		for _, name := range toolchain.Above(j.Dir) {
			if !slices.Contains(c.above, name) {
				return fmt.Errorf("a command has made %s, which tools would follow", name)
			}
		}
		return do(j)
	})
}

// inRepo is inTree with the repository of the base, without the patch.
func (c *recheck) inRepo(ctx context.Context, do func(toolchain.Job, *git.Repo) error) (err error) {
	dir, err := os.MkdirTemp(c.scratch, "tree-")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, sweep())
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() { // the tree was made read-only
				os.Chmod(path, 0o700)
			}
			return nil
		})
		os.RemoveAll(dir) // what can't be removed goes with the sandbox
	}()
	p := place{settings: settings{workspace: filepath.Join(dir, "workspace")}}
	if err := os.Mkdir(p.workspace, 0o755); err != nil {
		return err
	}
	if err := p.fill(c.base); err != nil {
		return err
	}
	_, repo, err := begin(ctx, p.workspace, bundleNextTo(c.base))
	if err != nil {
		return err
	}
	if repo == nil {
		return errors.New("there is no git to apply the patch with")
	}
	defer func() { err = errors.Join(err, repo.Remove()) }()
	j := toolchain.Job{Dir: p.workspace, Sealed: true, Scratch: filepath.Join(dir, "scratch"),
		Registry: c.rules}
	if !c.dirty {
		j.GoCache = cmp.Or(os.Getenv("GOCACHE"), filepath.Join(c.scratch, "go-build"))
	}
	return do(j, repo)
}

func (c *recheck) apply(ctx context.Context, repo *git.Repo, file string) error {
	if err := os.WriteFile(file, c.patch, 0o600); err != nil {
		return err
	}
	return repo.Apply(ctx, file)
}
