package container

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestProgramCheck(t *testing.T) {
	self, err := os.Executable() // a Go program, but another one
	if err != nil {
		t.Fatal(err)
	}
	programs := Programs("/anywhere/threegate-init")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(private, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{self, script, private, t.TempDir(), "/nope"} {
		for _, program := range programs {
			if program.Path = p; program.Check() == nil {
				t.Errorf("%s passes for %s", p, program.Name)
			}
		}
	}
	for i, p := range programs {
		own := "github.com/threegate/tool-exec/cmd/" + p.Name
		for cgo, ok := range map[string]bool{"0": true, "1": false} {
			b := &debug.BuildInfo{Path: own, Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: cgo}}}
			if err := p.checkBuild(b); (err == nil) != ok {
				t.Errorf("%s with CGO_ENABLED=%s: %v", p.Name, cgo, err)
			}
			if programs[1-i].checkBuild(b) == nil {
				t.Errorf("%s passes for the other program", p.Name)
			}
		}
	}
}
