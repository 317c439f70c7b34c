package git

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/envelope"
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
		return "", envelope.Errorf(envelope.Validation, "%q names no commit", rev)
	}
	return r.commit(ctx, rev)
}

// branchName judges the name of a branch.
func (r *Repo) branchName(ctx context.Context, name string) error {
	bad := envelope.Errorf(envelope.Validation, "%q is no name of a branch", name)
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
		specs = append(specs, ":(top,glob)"+clean)
	}
	return specs, nil
}

// hold applies a rule that is broken: an error where it blocks, else a warning, or nothing.
func (k keeper) hold(rule, broken, hint string) (warnings []string, err error) {
	warnings = []string{}
	switch k.rules.Level(rule) {
	case registry.Blocking:
		e := envelope.Errorf(envelope.Validation, "%s", broken).WithHint(hint)
		e.Rule = rule
		err = e
	case registry.Warning, registry.Suggestion:
		warnings = append(warnings, rule+": "+broken)
	}
	return warnings, err
}

// types are those of commits and branches, as the conventions name them.
const types = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test"

var (
	conventional = regexp.MustCompile(`^(?:` + types + `)(?:\([^()\s][^()]*\))?!?: \S`)
	// autosquash takes these, and they are gone with it.
	toSquash     = regexp.MustCompile(`^(?:fixup|squash|amend)! `)
	branchNaming = regexp.MustCompile(`^(?:main|master|develop|(?:` + types +
		`|bugfix|feature|hotfix|release)/[a-z0-9]+(?:[._-][a-z0-9]+)*)$`)
)

// message holds a commit message to Conventional Commits 1.0.
func (k keeper) message(text string) ([]string, error) {
	header, rest, _ := strings.Cut(text, "\n")
	ok := conventional.MatchString(header) || toSquash.MatchString(header)
	second, _, _ := strings.Cut(rest, "\n")
	if ok && strings.TrimSpace(second) == "" {
		return []string{}, nil
	}
	return k.hold("commit.message.conventional", "the message is not of the form of Conventional Commits",
		"write: type(scope): what it does, then an empty line; a type is one of "+strings.ReplaceAll(types, "|", ", "))
}

// naming holds the name of a new branch to the convention.
func (k keeper) naming(name string) ([]string, error) {
	if branchNaming.MatchString(name) {
		return []string{}, nil
	}
	return k.hold("branch.naming.convention", "the branch's name is not of the form type/short-name",
		"name it such as feat/token-parser or fix/issue-12")
}
