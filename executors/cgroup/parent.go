package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// controllers are those that limit a sandbox.
var controllers = []string{"cpu", "memory", "pids"}

const (
	holderName = "holder" // the processes that lay in a service's group itself
	shimsName  = "shims"
)

// Shims is the group of the processes that watch over the sandboxes below parent, or "" if
// they stay where they are: at the root nothing is the node's own but parent.
func Shims(parent string) string {
	above := filepath.Dir(parent)
	if above == "/" {
		return ""
	}
	return filepath.Join(above, shimsName)
}

// Prepare makes the group parent, below which sandboxes get theirs, and lets the kernel limit
// them there. It does so with version 2 only: with version 1 the runtime makes what is missing.
// The group above must be there. It is that of a service with Delegate=yes, or the root. As a
// group that hands on controllers may have no process, those of the service get one of their own.
func Prepare(root, parent string) error {
	if !filepath.IsAbs(parent) || filepath.Clean(parent) != parent || parent == "/" {
		return fmt.Errorf("cgroup %q is no group for sandboxes", parent)
	}
	if !Unified(root) {
		return nil
	}
	return prepareV2(root, parent)
}

func prepareV2(root, parent string) error {
	above := filepath.Dir(parent)
	dir := filepath.Join(root, above)
	missing, err := Missing(root, above)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("not delegated to the cgroup %s: the controllers %s", above, strings.Join(missing, ", "))
	}
	if above != "/" {
		if err := makeGroup(filepath.Join(root, Shims(parent))); err != nil {
			return err
		}
		if err := moveProcesses(root, above, filepath.Join(above, holderName)); err != nil {
			return err
		}
	}
	if err := makeGroup(filepath.Join(root, parent)); err != nil {
		return err
	}
	for _, d := range []string{dir, filepath.Join(root, parent)} {
		if err := enable(d); err != nil {
			return err
		}
	}
	return nil
}

// Missing names the controllers that the group at path does not have, of those that limit a sandbox.
// It is an error if there is no such group.
func Missing(root, path string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, path, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no cgroup %s: its service does not run", path)
	}
	if err != nil {
		return nil, err
	}
	have, missing := strings.Fields(string(text)), []string{}
	for _, c := range controllers {
		if !slices.Contains(have, c) {
			missing = append(missing, c)
		}
	}
	return missing, nil
}

func makeGroup(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// moveProcesses leaves none in the group from; what is forked meanwhile is moved, too.
func moveProcesses(root, from, to string) error {
	for end := time.Now().Add(killTime); ; {
		pids, err := Procs(root, from)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("cgroup %s: processes appear in it again and again", from)
		}
		if err := makeGroup(filepath.Join(root, to)); err != nil {
			return err
		}
		for _, pid := range pids {
			err := write(filepath.Join(root, to, "cgroup.procs"), strconv.Itoa(pid))
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
}

// enable hands the controllers on to the groups below dir.
func enable(dir string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	on, missing := strings.Fields(string(text)), []string{}
	for _, c := range controllers {
		if !slices.Contains(on, c) {
			missing = append(missing, "+"+c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return write(file, strings.Join(missing, " "))
}

// End ends what is left in the group at path and removes it. It is no error if there is none.
func End(root, path string) error {
	if err := Kill(root, path); err != nil {
		return err
	}
	// A process that is gone from the list can hold the group for an instant yet.
	for end := time.Now().Add(killTime); ; time.Sleep(killPauseMax) {
		err := Remove(root, path)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}
