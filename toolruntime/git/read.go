package git

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

func (k keeper) status(ctx context.Context, _ statusArgs) (statusResult, error) { return k.look(ctx) }

// look reads the state of the work tree.
func (r *Repo) look(ctx context.Context) (statusResult, error) {
	s := statusResult{Changes: []Change{}}
	text, err := r.git(ctx, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
		"--ignore-submodules=all")
	if err != nil {
		return s, err
	}
	entries := strings.Split(text, "\x00")
	for i := 0; i < len(entries); i++ {
		kind, rest, _ := strings.Cut(entries[i], " ")
		// How many fields come before the path.
		fields := map[string]int{"1": 8, "2": 9, "u": 10, "?": 1}[kind]
		switch {
		case kind == "#":
			s.header(rest)
		case fields > 0:
			parts := strings.SplitN(rest, " ", fields)
			if len(parts) < fields {
				return s, contract.Errorf(contract.Internal, "git status wrote %q", entries[i])
			}
			c := Change{Path: parts[fields-1], Status: "?", Unstaged: true}
			if kind != "?" {
				c.Status = strings.ReplaceAll(parts[0], ".", "")
				c.Staged, c.Unstaged = parts[0][0] != '.', parts[0][1] != '.'
			}
			if kind == "2" && i+1 < len(entries) {
				i++
				c.From = entries[i]
			}
			s.Changes = append(s.Changes, c)
		}
	}
	return s, nil
}

func (s *statusResult) header(line string) {
	if name, ok := strings.CutPrefix(line, "branch.head "); ok && name != "(detached)" {
		s.Branch = name
	}
	if counts, ok := strings.CutPrefix(line, "branch.ab "); ok {
		fmt.Sscanf(counts, "+%d -%d", &s.Ahead, &s.Behind)
	}
}

func (k keeper) diff(ctx context.Context, a diffArgs) (diffResult, error) {
	specs, err := pathspecs(a.Paths)
	if err != nil {
		return diffResult{}, err
	}
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}
	from, dots, to := cutRange(a.Rev)
	id, err := k.rev(ctx, from)
	if err == nil && dots != "" {
		from = id
		id, err = k.rev(ctx, to)
		id = from + dots + id
	}
	if err != nil {
		return diffResult{}, err
	}
	patch, err := k.git(ctx, append(append(args, id, "--"), specs...)...)
	return diffResult{patch, !utf8.ValidString(patch)}, err
}

// cutRange cuts two commits apart that dots join, as git writes it. A name of git's has no two dots in it.
func cutRange(rev string) (from, dots, to string) {
	for _, dots := range []string{"...", ".."} {
		if from, to, ok := strings.Cut(rev, dots); ok {
			return cmp.Or(from, "HEAD"), dots, cmp.Or(to, "HEAD")
		}
	}
	return rev, "", ""
}
