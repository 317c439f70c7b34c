package git

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// plainText says whether a name is text that git can't take for an option.
func plainText(s string) bool {
	return s != "" && s[0] != '-' && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// rev resolves a name of a caller's to the id of a commit: only ids are given to git then.
func (r *Repo) rev(ctx context.Context, rev string) (string, error) {
	if !plainText(rev) {
		return "", contract.Errorf(contract.Validation, "%q names no commit", rev)
	}
	return r.commit(ctx, rev)
}

// plainBranch is the alphabet of names that leave in a bundle. Whoever publishes it reads them line by line, and shows
// them.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+/-]{0,199}$`)

// newBranch judges the name of a branch that this run makes or pushes.
func (r *Repo) newBranch(ctx context.Context, name string) error {
	if !plainBranch.MatchString(name) {
		return contract.Errorf(contract.Validation, "%q is no name for a branch", name).
			WithHint("use 1 to 200 of a-z, A-Z, 0-9 and . _ @ + / -, a letter or digit first")
	}
	return r.branchName(ctx, name)
}

// branchName judges the name of a branch.
func (r *Repo) branchName(ctx context.Context, name string) error {
	bad := contract.Errorf(contract.Validation, "%q is no name of a branch", name).
		WithHint("write it as main or origin/main, without refs/heads/; git_status names the one that is checked out")
	if !plainText(name) || name == "HEAD" || strings.HasPrefix(name, "refs/") {
		return bad
	}
	out, err := r.do(ctx, command{args: []string{"check-ref-format", "refs/heads/" + name}})
	if err == nil && out.Code != 0 {
		err = bad
	}
	return err
}

// ref is the commit of a name, or empty.
func (r *Repo) ref(ctx context.Context, name string) (string, error) {
	args := []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}
	out, err := r.do(ctx, command{args: args})
	return strings.TrimSpace(out.Stdout), err
}

// magic makes a path one from the top of the work tree, with patterns as those of files.
const magic = ":(top,glob)"

// pathspecs judges paths and patterns as those of files are judged. The magic before each is ours, so that none
// of a caller's is read.
func pathspecs(paths []string) ([]string, error) {
	var specs []string
	for _, p := range paths {
		clean, err := workspace.Clean(p)
		if err != nil {
			return nil, err
		}
		if clean == "." {
			clean = "**"
		}
		specs = append(specs, magic+clean)
	}
	return specs, nil
}

// hold applies a rule that is broken: an error where it blocks, else a warning, or nothing.
func (k keeper) hold(rule, broken, hint string) (warnings []string, err error) {
	warnings = []string{}
	switch k.rules.Level(rule) {
	case registry.Blocking:
		e := contract.Errorf(contract.Validation, "%s", broken).WithHint(hint)
		e.Rule = rule
		err = e
	case registry.Warning, registry.Suggestion:
		warnings = append(warnings, rule+": "+broken)
	}
	return warnings, err
}

// named applies a rule about a name, if it is broken.
func (k keeper) named(v *judge.Violation) ([]string, error) {
	if v == nil {
		return []string{}, nil
	}
	return k.hold(v.Rule, v.Message, v.Hint)
}

// message holds a commit message to Conventional Commits 1.0.
func (k keeper) message(text string) ([]string, error) { return k.named(judge.Message(text)) }

// naming holds the name of a new branch to the convention.
func (k keeper) naming(name string) ([]string, error) { return k.named(judge.Branch(name)) }
