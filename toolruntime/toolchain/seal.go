package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/judge"
)

// tick is how long the file system's clock may take to go on.
const tick = 10 * time.Second

// maxChanged bounds how many changed files are named: a build can change all.
const maxChanged = 10

// state is what a file had when it was sealed. A program can give it back all but the time of its last change, which
// only the kernel writes.
type state struct {
	dev, ino uint64
	mode     uint32
	changed  unix.Timespec
}

func stateOf(name string) (state, error) {
	var s unix.Stat_t
	err := unix.Lstat(name, &s)
	return state{s.Dev, s.Ino, s.Mode, s.Ctim}, err
}

// seal is the state of a tree, by path.
type seal map[string]state

// seal makes the tree one that the code in it can't change unseen, not even to undo it later. Commands of the
// language find it read-only. Those of the registry may add files, as builds do that have no other place.
func (j Job) seal(ctx context.Context, rule string) (seal, error) {
	readOnly := len(j.Registry.Commands(rule)) == 0
	if readOnly && strings.EqualFold(j.Registry.AST.Language, "rust") {
		// cargo writes Cargo.lock before it builds. This runs nothing of the tree; a build says better what is wrong.
		if _, err := j.command(ctx, []string{"cargo", "metadata", "--format-version=1"}); err != nil {
			return nil, err
		}
	}
	sealed := seal{}
	var last time.Time
	err := filepath.WalkDir(j.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !readOnly && d.IsDir() {
			return err
		}
		if readOnly && (d.IsDir() || d.Type().IsRegular()) {
			info, err := d.Info()
			if err == nil {
				err = os.Chmod(path, info.Mode().Perm()&^0o222)
			}
			if err != nil {
				return err
			}
		}
		rel, _ := filepath.Rel(j.Dir, path) // path is below the tree
		s, err := stateOf(path)
		if changed := time.Unix(s.changed.Unix()); changed.After(last) {
			last = changed
		}
		sealed[rel] = s
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("seal the tree: %w", err)
	}
	return sealed, passed(last)
}

// passed waits until files that change get a later time than this.
func passed(last time.Time) error {
	for deadline := time.Now().Add(tick); ; time.Sleep(time.Millisecond) {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			return err
		}
		if time.Unix(now.Unix()).After(last) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("seal the tree: its files are from the future")
		}
	}
}

// broken finds what a command changed.
func (s seal) broken(dir string) (found []judge.Violation) {
	for _, rel := range slices.Sorted(maps.Keys(s)) {
		now, err := stateOf(filepath.Join(dir, rel))
		if (err != nil || now != s[rel]) && len(found) < maxChanged {
			found = append(found, judge.Violation{Path: rel,
				Message: "a command changed this, or what lies in it: what was built or tested is not the patch",
				Hint:    "let code write elsewhere: a build.rs to OUT_DIR, tests to TMPDIR"})
		}
	}
	return found
}
