package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/judge"
)

// maxLeft bounds the commits of a bundle that are judged.
const maxLeft = 1000

// Names holds what the bundles of a run have to the rules about names: the message of each commit that the workspace
// and the bundles next to its own did not come with, and the name of each branch that they do not have. The bundles are
// hostile: their objects are checked apart, and stay so. A merge may have the message that git writes. A violation has
// the bundle as its path and names a commit; it repeats no message and no name.
func (r *Repo) Names(ctx context.Context, bundles ...string) (found []judge.Violation, err error) {
	if err := r.takeAll(ctx, append(bundles, r.from)); err != nil {
		return nil, err
	}
	came, err := r.git(ctx, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes")
	if err != nil {
		return nil, err
	}
	for _, bundle := range bundles {
		broken, err := r.namesOf(ctx, bundle, strings.Split(came, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(bundle), err)
		}
		for _, v := range broken {
			v.Path = filepath.Base(bundle)
			found = append(found, v)
		}
	}
	return found, nil
}

// namesOf judges one bundle. known are the branches that came.
func (r *Repo) namesOf(ctx context.Context, bundle string, known []string) (found []judge.Violation, err error) {
	bundle, err = filepath.Abs(bundle)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(bundle); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("no regular file"))
	}
	apart, env, err := r.apart()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(apart)
	refs, err := r.unbundle(ctx, bundle, env)
	if err != nil {
		return nil, err
	}
	args := []string{"rev-list", fmt.Sprintf("--max-count=%d", maxLeft+1)}
	for line := range strings.Lines(refs) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		args = append(args, id)
		branch, ok := strings.CutPrefix(ref, "refs/heads/")
		v := judge.Branch(branch)
		if ref == "HEAD" || ok && slices.Contains(known, branch) || v == nil {
			continue
		}
		v.Message = fmt.Sprintf("the branch at %.12s: %s", id, v.Message)
		found = append(found, *v)
	}
	ids, err := r.must(ctx, command{args: append(args, "--not", "--all"), env: env})
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(ids)
	if len(commits) > maxLeft {
		return nil, fmt.Errorf("more than %d new commits", maxLeft)
	}
	for _, id := range commits {
		raw, err := r.must(ctx, command{args: []string{"cat-file", "commit", id}, env: env})
		if err != nil {
			return nil, err
		}
		head, message, _ := strings.Cut(raw, "\n\n")
		merge := strings.Count(head, "\nparent ") > 1 && strings.HasPrefix(message, "Merge ")
		if v := judge.Message(message); v != nil && !merge {
			v.Message = fmt.Sprintf("the commit %.12s: %s", id, v.Message)
			found = append(found, *v)
		}
	}
	return found, nil
}

// takeAll reads the bundles that could be pulled from, but for some. One that can't be read was none to pull from.
func (r *Repo) takeAll(ctx context.Context, but []string) error {
	if r.In == "" {
		return nil
	}
	entries, err := os.ReadDir(r.In)
	for _, e := range entries {
		file := filepath.Join(r.In, e.Name())
		name, ok := strings.CutSuffix(e.Name(), ".bundle")
		if ok && remoteName.MatchString(name) && !slices.ContainsFunc(but, func(b string) bool {
			return filepath.Base(b) == e.Name()
		}) {
			_ = keeper{Repo: r}.take(ctx, name, file)
		}
	}
	return err
}
