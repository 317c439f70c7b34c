package judge

import (
	"regexp"
	"strings"
)

// Rules about names. A patch has none of them: they are judged of a plan, and of the commits of a bundle.
const (
	MessageRule = "commit.message.conventional"
	BranchRule  = "branch.naming.convention"
)

// types are those of commits and branches, as the conventions name them.
const types = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test"

var (
	conventional = regexp.MustCompile(`^(?:` + types + `)(?:\([^()\s][^()]*\))?!?: \S`)
	// autosquash takes these, and they are gone with it.
	toSquash     = regexp.MustCompile(`^(?:fixup|squash|amend)! `)
	branchNaming = regexp.MustCompile(`^(?:main|master|develop|(?:` + types +
		`|bugfix|feature|hotfix|release)/[a-z0-9]+(?:[._-][a-z0-9]+)*)$`)
)

// Message holds a commit message to Conventional Commits 1.0. It returns nil for one that is of that form. A
// violation does not repeat the message.
func Message(text string) *Violation {
	header, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if (conventional.MatchString(header) || toSquash.MatchString(header)) && strings.TrimSpace(second) == "" {
		return nil
	}
	return &Violation{Rule: MessageRule, Message: "the message is not of the form of Conventional Commits",
		Hint: "write: type(scope): what it does, then an empty line; a type is one of " +
			strings.ReplaceAll(types, "|", ", ")}
}

// Branch holds the name of a new branch to the convention. It returns nil for one that keeps it. A violation does not
// repeat the name.
func Branch(name string) *Violation {
	if branchNaming.MatchString(name) {
		return nil
	}
	return &Violation{Rule: BranchRule, Message: "the branch's name is not of the form type/short-name",
		Hint: "name it such as feat/token-parser or fix/issue-12"}
}
