// Package toolchain holds a work tree to the rules that need its language's own programs: it builds, lints,
// formats and tests.
//
// It runs in the sandbox only. What it builds and tests is hostile: it has the same rights as this package, and
// its output is not believed where that can be helped. A command that could not be run is an error, never a pass.
package toolchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// The rules, in the order in which they are best looked at: tests run the code, so they come last.
const (
	Fmt   = "fmt.must.pass"
	Build = "build.must.pass"
	Lint  = "lint.must.pass"
	Tests = "test.must.pass"
)

// Rules lists them in that order.
var Rules = []string{Fmt, Build, Lint, Tests}

// Can says whether a rule can be judged here.
func Can(rule string) bool { return slices.Contains(Rules, rule) }

// maxOutput bounds what is read of a command's stream, in bytes: go test -json writes much.
const maxOutput = 64 << 20

// Job is one work tree to judge.
type Job struct {
	// Dir is the tree. Commands may write to it, unless it is sealed.
	Dir string
	// Sealed breaks a rule whose commands change a file of the tree, and makes the tree read-only for commands of the
	// language. It stays so.
	Sealed bool
	// Scratch is a folder outside of it, for caches and what is built.
	Scratch string
	// GoCache is that of the go command, if it is not to lie in Scratch.
	GoCache  string
	Registry *registry.Registry
	// Base is what the tree was before a change, if that is known.
	Base *Base
}

// Has says whether there is a command for a rule.
func (j Job) Has(rule string) bool {
	steps, err := j.steps(rule)
	return err == nil && len(steps) > 0
}

// Check holds the tree to a rule. An error means that it could not be judged. note, if not empty, is what else there is
// to say of a tree that keeps the rule.
func (j Job) Check(ctx context.Context, rule string) (found []judge.Violation, note string, err error) {
	var sealed seal
	if j.Sealed {
		sealed, err = j.seal(ctx, rule)
	}
	if err != nil {
		return nil, "", err
	}
	if rule == Tests {
		found, err = j.tests(ctx)
	} else {
		found, err = j.run(ctx, rule)
	}
	if err == nil {
		found, note, err = j.sinceBase(ctx, rule, found)
	}
	if err == nil && rule == Build && j.Base != nil {
		var left []judge.Violation
		left, err = j.leftOut(ctx)
		found = append(found, left...)
	}
	found = append(sealed.broken(j.Dir), found...)
	for i := range found {
		found[i].Rule = rule
	}
	return found[:min(len(found), maxViolations)], note, err
}

// run carries out the commands of a rule, of a build until one fails.
func (j Job) run(ctx context.Context, rule string) (found []judge.Violation, err error) {
	steps, err := j.steps(rule)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		lines, err := s.lines(j.Dir)
		if err != nil {
			return nil, err
		}
		for _, argv := range lines {
			out, err := j.command(ctx, argv)
			if err != nil {
				return nil, err
			}
			found = append(found, j.broken(argv, out)...)
			if len(found) > 0 && rule == Build || len(found) >= maxPlaces {
				return found, nil
			}
		}
	}
	return found, nil
}

// command runs a program in the tree, with an environment that is always the same.
func (j Job) command(ctx context.Context, argv []string) (proc.Output, error) {
	env, err := j.environ()
	if err != nil {
		return proc.Output{}, err
	}
	out, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: j.Dir, Env: env, MaxOutput: maxOutput})
	if err == nil && out.Truncated {
		err = fmt.Errorf("%s wrote more than %d bytes", argv[0], maxOutput)
	}
	return out, err
}

// environ lets no tool ask the network, fetch another toolchain or read what a user configured.
func (j Job) environ() ([]string, error) {
	at := func(name string) string { return filepath.Join(j.Scratch, name) }
	err := errors.Join(os.MkdirAll(at("home"), 0o700), os.MkdirAll(at("tmp"), 0o700))
	env := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "CI=1", "NO_COLOR=1",
		"HOME=" + at("home"), "TMPDIR=" + at("tmp"),
		"CGO_ENABLED=0", "GOCACHE=" + cmp.Or(j.GoCache, at("go-build")), "GOENV=off", "GOFLAGS=-buildvcs=false",
		"GOPATH=" + at("go"), "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local",
		"CARGO_HOME=" + at("cargo"), "CARGO_NET_OFFLINE=true", "CARGO_TARGET_DIR=" + at("target"),
		"CARGO_TERM_COLOR=never", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0"}
	// An image's programs may have other names, and its standard library may be built already.
	for _, name := range []string{"RUSTC", "RUSTDOC", "RUSTFMT", "RUSTUP_TOOLCHAIN", "GODEBUG"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, proc.Rustup()...), err
}

// relative is a path below the tree, or "".
func (j Job) relative(path string) string {
	if path == "" {
		return ""
	}
	if filepath.IsAbs(path) {
		for _, dir := range []string{j.Dir, realPath(j.Dir)} {
			if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
				return rel
			}
		}
		return ""
	}
	if path = filepath.Clean(path); !filepath.IsLocal(path) {
		return ""
	}
	return path
}

func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// parents are names that tools look for in the folders above a tree.
var parents = []string{"go.mod", "go.work", "Cargo.toml", ".cargo", "rust-toolchain", "rust-toolchain.toml",
	"rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml", "package.json", "node_modules", "pyproject.toml"}

// Above lists such files above a tree. A command that ran before can have put them there.
func Above(dir string) (found []string) {
	for at := filepath.Dir(realPath(dir)); ; at = filepath.Dir(at) {
		for _, name := range parents {
			if name = filepath.Join(at, name); exists(name) {
				found = append(found, name)
			}
		}
		if at == filepath.Dir(at) {
			return found
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, os.ErrNotExist)
}

// Guard finds files of a change that say how code is checked: what the base says of that is not for the change to
// say. paths are those that it touches.
func Guard(rule string, paths []string) (found []judge.Violation) {
	for _, path := range paths {
		name := strings.ToLower(filepath.Base(path))
		if filepath.Base(filepath.Dir(path)) == ".cargo" {
			name = ".cargo/" + name
		}
		for _, pattern := range append(slices.Clone(guarded[rule]), guarded[""]...) {
			if ok, _ := filepath.Match(pattern, name); ok {
				found = append(found, judge.Violation{Rule: rule, Path: path,
					Message: "the change touches a file that says how code is built or checked",
					Hint:    "leave it as it is; a person changes it in the base"})
				break
			}
		}
	}
	return found
}

// guarded are such files, by rule; those without a rule say it of all.
var guarded = map[string][]string{
	"": {"go.work", ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"},
	Fmt: {"rustfmt.toml", ".rustfmt.toml", ".prettierrc*", "prettier.config.*", ".prettierignore", ".editorconfig",
		"biome.json*"},
	Lint: {"clippy.toml", ".clippy.toml", ".golangci.*", "staticcheck.conf", ".eslintrc*", ".eslintignore",
		"eslint.config.*", "biome.json*", ".flake8", "ruff.toml", ".ruff.toml", ".pylintrc", "mypy.ini"},
	Tests: {"pytest.ini", "tox.ini", "jest.config.*", "vitest.config.*", ".mocharc*"},
}
