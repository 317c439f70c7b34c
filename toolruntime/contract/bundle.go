package contract

import (
	"maps"
	"slices"
	"strings"
)

// BundleBranches reads the beginning of a git bundle, or its list of references: its branches, and the one that a
// workspace begins on. An error says that this can't be told.
func BundleBranches(header []byte) (all []string, first string, err error) {
	list, _, _ := strings.Cut(string(header), "\n\n")
	branches, head := map[string]string{}, ""
	for line := range strings.SplitSeq(list, "\n") {
		id, ref, _ := strings.Cut(line, " ")
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			branches[name] = id
		} else if ref == "HEAD" {
			head = id
		}
	}
	first, err = ChooseBranch(branches, head)
	return slices.Sorted(maps.Keys(branches)), first, err
}

// ChooseBranch is the branch to begin on, of those with their commits: the one whose commit is that of HEAD or, where
// head is empty, main, master or the only one.
func ChooseBranch(branches map[string]string, head string) (string, error) {
	var fit []string
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		if head == "" || branches[name] == head {
			fit = append(fit, name)
		}
	}
	for _, name := range []string{"main", "master"} {
		if slices.Contains(fit, name) {
			return name, nil
		}
	}
	if len(fit) == 0 || head == "" && len(fit) > 1 {
		return "", Errorf(Git, "it is not clear which of its branches to take").
			WithHint("make a bundle with: git bundle create repository.bundle HEAD main")
	}
	return fit[0], nil
}
