package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Create makes the group at path in every hierarchy of cgroup v1, and in that of v2
// beside them, forbids all devices, sets the limits and reads them back.
// What is there of it on an error is for Remove.
func Create(root, path string, l Limits) error {
	dirs, err := hierarchies(root)
	if err != nil {
		return fmt.Errorf("create cgroup %s: %w", path, err)
	}
	for _, dir := range dirs {
		if err := makeGroup(dir, path); err != nil {
			return fmt.Errorf("create cgroup %s: %w", path, err)
		}
	}
	if err := limitDevices(filepath.Join(root, "devices", path)); err != nil {
		return fmt.Errorf("create cgroup %s: %w", path, err)
	}
	return Limit(root, path, l)
}

// harmless are full, null, random, tty, urandom and zero, as the kernel lists them.
var harmless = []string{"c 1:3 rw", "c 1:5 rw", "c 1:7 rw", "c 1:8 rw", "c 1:9 rw", "c 5:0 rw"}

// limitDevices forbids all devices but the harmless, and reads that back.
func limitDevices(dir string) error {
	if err := writeExisting(filepath.Join(dir, "devices.deny"), "a"); err != nil {
		return err
	}
	if err := writeExisting(filepath.Join(dir, "devices.allow"), harmless...); err != nil {
		return err
	}
	return devicesHold(dir)
}

func devicesHold(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "devices.list"))
	if err != nil {
		return err
	}
	got := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(got)
	if !slices.Equal(got, harmless) {
		return fmt.Errorf("these devices are allowed: %q", got)
	}
	return nil
}

// mounted are the hierarchies by their root: they are mounted when the host starts.
var mounted sync.Map

// hierarchies are the mount points of all hierarchies.
func hierarchies(root string) ([]string, error) {
	if dirs, ok := mounted.Load(root); ok {
		return dirs.([]string), nil
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range found {
		dir := filepath.Dir(f)
		if st, err := os.Lstat(dir); err == nil && st.IsDir() { // cpu,cpuacct have links to them
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("there is no hierarchy below %s", root)
	}
	mounted.Store(root, dirs)
	return dirs, nil
}

// makeGroup makes the group, and those above it if need be, in one hierarchy. It
// must be new.
func makeGroup(hierarchy, path string) error {
	const mode = 0o755
	if !exists(filepath.Join(hierarchy, cpusetFiles[0])) {
		err := os.Mkdir(filepath.Join(hierarchy, path), mode)
		if errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(filepath.Join(hierarchy, filepath.Dir(path)), mode); err == nil {
				err = os.Mkdir(filepath.Join(hierarchy, path), mode)
			}
		}
		return err
	}
	at := hierarchy
	steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, step := range steps {
		up := at
		at = filepath.Join(at, step)
		err := os.Mkdir(at, mode)
		if errors.Is(err, fs.ErrExist) && i < len(steps)-1 {
			err = nil
		}
		if err != nil {
			return err
		}
		for _, name := range cpusetFiles {
			have, err := os.ReadFile(filepath.Join(at, name))
			if err == nil && strings.TrimSpace(string(have)) != "" {
				continue
			}
			all, err := os.ReadFile(filepath.Join(up, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(at, name), all, 0)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cpusetFiles must have a value before a group of cpuset can have a process. They are
// in every group of that controller's hierarchy, and in no other.
var cpusetFiles = []string{"cpuset.cpus", "cpuset.mems"}

// EnterThread moves the calling thread, which must be locked, to the group in
// every hierarchy of cgroup v1: children that it starts are born there.
func EnterThread(root, path string) error {
	dirs, err := hierarchies(root)
	if err != nil {
		return fmt.Errorf("enter cgroup %s: %w", path, err)
	}
	tid := strconv.Itoa(unix.Gettid())
	for _, dir := range dirs {
		err := writeExisting(filepath.Join(dir, path, "tasks"), tid)
		if errors.Is(err, fs.ErrNotExist) {
			continue // that of v2: see OpenUnified
		}
		if err != nil {
			return fmt.Errorf("enter cgroup %s: %w", path, err)
		}
	}
	return nil
}

// writeExisting writes each text by a call of its own.
func writeExisting(file string, texts ...string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if err == nil {
			_, err = f.WriteString(text)
		}
	}
	return errors.Join(err, f.Close())
}

// OpenUnified opens the group in the hierarchy of v2 beside those of v1, or gives
// nil if there is none: a process can be born in it.
func OpenUnified(root, path string) (*os.File, error) {
	dirs, err := hierarchies(root)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if Unified(dir) {
			return os.Open(filepath.Join(dir, path))
		}
	}
	return nil, nil
}
