package toolchain

import (
	"context"
	"fmt"
	"slices"

	"github.com/threegate/tool-exec/toolruntime/judge"
)

// Base is what holds a change to the checks of the tree that it changes, and what excuses it.
type Base struct {
	// Folders are those that are built: of Go only.
	Folders []string
	Tests   []Test
	// Run hands over the tree of the base, made anew. It is called only if a check of the change fails.
	Run func(context.Context, func(Job) error) error

	told *toldTests
}

// toldTests are the tests of a tree, by name: how many it declares, and what a run told of them.
type toldTests struct {
	declared map[string]int
	told     verdicts
}

// tests runs the tests of the base, once.
func (b *Base) tests(ctx context.Context) (*toldTests, error) {
	if b.told != nil {
		return b.told, nil
	}
	all := &toldTests{map[string]int{}, verdicts{}}
	err := b.Run(ctx, func(j Job) error {
		return j.eachRunner(func(r runner, argv []string) error {
			declared, err := r.declared(j, ctx, argv)
			if err != nil {
				return err
			}
			for _, t := range declared {
				all.declared[t.Name]++
			}
			told, _, _, err := r.run(ctx, j, argv)
			for key, counts := range told {
				for verdict, n := range counts {
					all.told.count(nameOf(key), verdict, n)
				}
			}
			return err
		})
	})
	if err == nil {
		b.told = all
	}
	return all, err
}

// excuses says whether tests of a name are missing, or skip, in the base as well.
func (t *toldTests) excuses(name string, missing, skips int) bool {
	v := t.told[name]
	return missing <= max(0, t.declared[name]-v["pass"]-v["skip"]-v["fail"]) && skips <= v["skip"]
}

// sinceBase leaves of what was found in a tree only what the base does not have, if the base has any of it: a change
// does not answer for what was there. note says so.
func (j Job) sinceBase(ctx context.Context, rule string, found []judge.Violation) (
	left []judge.Violation, note string, err error) {
	if len(found) == 0 || j.Base == nil || j.Base.Run == nil || rule != Fmt && rule != Lint {
		return found, "", nil
	}
	var before []judge.Violation
	err = j.Base.Run(ctx, func(base Job) error {
		before, err = base.run(ctx, rule)
		return err
	})
	if err != nil || len(before) == 0 {
		return found, "", err
	}
	type place struct{ path, message string } // lines move
	had := map[place]int{}
	for _, v := range before {
		had[place{v.Path, v.Message}]++
	}
	left = slices.DeleteFunc(slices.Clone(found), func(v judge.Violation) bool {
		had[place{v.Path, v.Message}]--
		return had[place{v.Path, v.Message}] >= 0
	})
	return left, fmt.Sprintf("the base breaks it too: %d places do not count", len(found)-len(left)), nil
}
