package container

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// initName is the program that is process 1 of every sandbox.
const initName = "threegate-init"

// initMend says what to do about a program that CheckInit refuses.
const initMend = "install the threegate-init that was built with this threegate (make build makes both), or correct " +
	"backends.init"

// CheckInit says what is wrong with the program that is to be process 1 of every
// sandbox. One that was built with cgo starts, but can't give up its rights on all
// of its threads, so that no run would ever begin.
func CheckInit(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o555 != 0o555 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s must be a regular file of mode 0755, not %v", file, info.Mode())
	}
	build, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s is no %s: %w", file, initName, err)
	}
	if err := checkInitBuild(build); err != nil {
		return fmt.Errorf("%s %w", file, err)
	}
	return nil
}

func checkInitBuild(build *debug.BuildInfo) error {
	if path.Base(build.Path) != initName {
		return fmt.Errorf("is %s, not %s", build.Path, initName)
	}
	for _, s := range build.Settings {
		if s.Key == "CGO_ENABLED" && s.Value != "0" {
			return errors.New("was built with cgo and can't isolate what it starts")
		}
	}
	return nil
}

// skeletonFiles are laid over every image: an identity that is the same in every sandbox.
var skeletonFiles = map[string]string{
	"/etc/group":      fmt.Sprintf("root:x:0:\nsandbox:x:%d:\n", job.PayloadGID),
	"/etc/hostname":   sandbox.Hostname + "\n",
	"/etc/hosts":      "127.0.0.1 localhost " + sandbox.Hostname + "\n::1 localhost\n",
	"/etc/machine-id": strings.Repeat("0", 32) + "\n",
	"/etc/passwd": fmt.Sprintf("root:x:0:0::/:/bin/false\nsandbox:x:%d:%d::/tmp:/bin/false\n", job.PayloadUID,
		job.PayloadGID),
	"/etc/resolv.conf": "",
}

// skeletonDirs are the mount points. Whatever an image has there stays unseen.
var skeletonDirs = []string{"/dev", "/etc", "/proc", "/sys", job.Dir, sandbox.InDir, sandbox.OutDir, sandbox.TmpDir}

// skeleton gives the folder that is laid over every image, with the present program of
// init. That is checked whenever it is another file than it was: a node that is
// upgraded beneath its gate starts nothing with a wrong one.
func (e *Executor) skeleton() (string, error) {
	info, err := os.Stat(e.cfg.InitPath)
	if err != nil {
		return "", executors.WithHint(fmt.Errorf("%w: %w", ErrConfig, err), initMend)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.init != nil && os.SameFile(e.init, info) && e.init.Size() == info.Size() && e.init.Mode() == info.Mode() &&
		e.init.ModTime().Equal(info.ModTime()) {
		return e.skeletonDir, nil
	}
	if err := CheckInit(e.cfg.InitPath); err != nil {
		return "", executors.WithHint(fmt.Errorf("%w: %w", ErrConfig, err), initMend)
	}
	dir, err := makeSkeleton(filepath.Join(e.cfg.RunDir, skeletonsDir), e.cfg.InitPath)
	if err != nil {
		return "", fmt.Errorf("run folder: %w", err)
	}
	e.init, e.skeletonDir = info, dir
	return dir, nil
}

// makeSkeleton makes the folder, named by the digest of the program. One that is there is
// complete, and left alone: overlays of it may be mounted.
func makeSkeleton(parent, program string) (string, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	final := filepath.Join(parent, hex.EncodeToString(sum[:16]))
	if _, err := os.Lstat(final); err == nil {
		return final, nil
	}
	dir, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	for _, d := range skeletonDirs {
		if err := makeDir(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	for name, text := range skeletonFiles {
		if err := writeFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if err := writeFile(filepath.Join(dir, job.InitPath), text, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(dir, final); err != nil && !errors.Is(err, os.ErrExist) { // another process was faster
		return "", err
	}
	return final, nil
}
