package container

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"

	"github.com/threegate/tool-exec/executors"
)

// initName is the program that is process 1 of every sandbox.
const initName = "threegate-init"

// initMend says what to do about a program that CheckInit refuses.
const initMend = "install the threegate-init that was built with this threegate (make build makes both), or correct backends.init"

// CheckInit says what is wrong with the program that is to be process 1 of every
// sandbox. One that was built with cgo starts, but can't give up its rights on all
// of its threads, so that no run would ever begin.
func CheckInit(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o555 != 0o555 || info.Mode().Perm()&0o022 != 0 {
		// A Monty payload runs it as another user.
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

// checkInit checks the program of init, and again whenever it is another file than
// it was: a node that is upgraded beneath its gate starts nothing with a wrong one.
func (e *Executor) checkInit() error {
	info, err := os.Stat(e.cfg.InitPath)
	if err != nil {
		return executors.WithMend(fmt.Errorf("%w: %w", ErrConfig, err), initMend)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.init != nil && os.SameFile(e.init, info) && e.init.Size() == info.Size() && e.init.Mode() == info.Mode() && e.init.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if err := CheckInit(e.cfg.InitPath); err != nil {
		return executors.WithMend(fmt.Errorf("%w: %w", ErrConfig, err), initMend)
	}
	e.init = info
	return nil
}
