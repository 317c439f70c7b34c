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
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// Program is one of the two static programs of the node's own that every sandbox holds.
type Program struct {
	Name   string
	Path   string // on the host
	inside string // in the sandbox
}

// Programs are threegate-init, process 1 of every sandbox, and threegate-payload, which lies beside it.
func Programs(init string) []Program {
	const payload = "threegate-payload"
	return []Program{
		{"threegate-init", init, job.InitPath},
		{payload, filepath.Join(filepath.Dir(init), payload), job.PayloadPath},
	}
}

// programsHint says what to do about a program that Check refuses.
const programsHint = "install the threegate-init and threegate-payload that were built with this threegate (make " +
	"build makes them) into one folder, or correct backends.init"

// Check says what is wrong with the program. A threegate-init that was built with cgo starts, but can't give up its
// rights on all of its threads, so that no run would ever begin.
func (p Program) Check() error {
	info, err := os.Stat(p.Path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o555 != 0o555 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s must be a regular file of mode 0755, not %v", p.Path, info.Mode())
	}
	build, err := buildinfo.ReadFile(p.Path)
	if err != nil {
		return fmt.Errorf("%s is no %s: %w", p.Path, p.Name, err)
	}
	if err := p.checkBuild(build); err != nil {
		return fmt.Errorf("%s %w", p.Path, err)
	}
	return nil
}

func (p Program) checkBuild(build *debug.BuildInfo) error {
	if path.Base(build.Path) != p.Name {
		return fmt.Errorf("is %s, not %s", build.Path, p.Name)
	}
	for _, s := range build.Settings {
		if s.Key == "CGO_ENABLED" && s.Value != "0" {
			return errors.New("was built with cgo: it can't isolate what it starts, nor start in every image")
		}
	}
	return nil
}

func checkPrograms(programs []Program) error {
	for _, p := range programs {
		if err := p.Check(); err != nil {
			return executors.WithHint(fmt.Errorf("%w: %w", ErrConfig, err), programsHint)
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
var skeletonDirs = []string{"/dev", "/etc", "/proc", "/sys", job.Dir, sandbox.InDir, sandbox.OutDir,
	sandbox.ShmDir, sandbox.TmpDir}

// skeleton gives the folder that is laid over every image, with the present programs of
// the node's own. They are checked whenever one is another file than it was: a node that
// is upgraded beneath its gate starts nothing with a wrong one.
func (e *Executor) skeleton() (string, error) {
	programs := Programs(e.cfg.InitPath)
	var found []os.FileInfo
	for _, p := range programs {
		info, err := os.Stat(p.Path)
		if err != nil {
			return "", executors.WithHint(fmt.Errorf("%w: %w", ErrConfig, err), programsHint)
		}
		found = append(found, info)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.EqualFunc(e.programs, found, sameProgram) {
		return e.skeletonDir, nil
	}
	if err := checkPrograms(programs); err != nil {
		return "", err
	}
	dir, err := makeSkeleton(filepath.Join(e.cfg.RunDir, skeletonsDir), programs)
	if err != nil {
		return "", fmt.Errorf("run folder: %w", err)
	}
	e.programs, e.skeletonDir = found, dir
	return dir, nil
}

func sameProgram(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime())
}

// makeSkeleton makes the folder, named by the digest of the programs. One that is there is
// complete, and left alone: overlays of it may be mounted.
func makeSkeleton(parent string, programs []Program) (string, error) {
	files := map[string][]byte{}
	digest := sha256.New()
	for _, p := range programs {
		text, err := os.ReadFile(p.Path)
		if err != nil {
			return "", err
		}
		files[p.inside] = text
		sum := sha256.Sum256(text)
		digest.Write(sum[:])
	}
	final := filepath.Join(parent, hex.EncodeToString(digest.Sum(nil)[:16]))
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
	for name, text := range files {
		if err := writeFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Rename(dir, final); err != nil && !errors.Is(err, os.ErrExist) { // another process was faster
		return "", err
	}
	return final, nil
}
