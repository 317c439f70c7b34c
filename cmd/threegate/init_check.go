package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"
)

// initCheck says what is wrong with the program that is to be process 1 of every
// sandbox. One that was built with cgo starts, but can't give up its rights on all
// of its threads, so that every run would be interrupted before it begins.
func initCheck(file string) error {
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
