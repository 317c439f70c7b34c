package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
)

const profiled = `version: 1
backends: {era: {languages: {tools: {image: "sha256:0000000000000000000000000000000000000000000000000000000000000000", exec_tmp: true}}}}
tools:
  profiles:
    fix: {registry: fix.yaml, image: tools, limits: {tmp_mb: 512, out_files: 9, out_mb: 3, pids: 99, open_files: 88}}
`

func loadIn(t *testing.T, dir, text string) (*config.Node, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(dir)
}

// A profile is a language, with the image of another, limits of its own and a registry.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	registry := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "fix.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry("version: 1\n")
	l, err := loadIn(t, dir, profiled)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Policy(time.Time{}).Languages; !slices.Equal(got, []string{"fix", "tools"}) {
		t.Errorf("languages %v", got)
	}
	req := &schemas.Request{Backend: schemas.BackendERA, Language: "fix", MilliCPU: 1, MemoryLimitMB: 64, TimeLimitSec: 9}
	limits, plan := l.TaskLimits(req), l.PlanOf(req, "", nil, l.TaskLimits(req), nil)
	if limits.TmpBytes != 512<<20 || limits.OutFiles != 9 || limits.OutBytes != 3<<20 || limits.Pids != 99 ||
		limits.OpenFiles != 88 || limits.MemoryBytes != 64<<20 || limits.Time != 9*time.Second {
		t.Errorf("%+v", limits)
	}
	if plan.Registry != config.RegistryDigest([]byte("version: 1\n")) || plan.Language != "fix" ||
		plan.Image != l.Backends.ERA.Languages["tools"].Image || !strings.Contains(plan.Runtime, "/tmp executable") {
		t.Errorf("%+v", plan)
	}
	// What a profile does not say is the node's, or what a build needs.
	bare, err := loadIn(t, t.TempDir(), strings.NewReplacer(", limits: {tmp_mb: 512, out_files: 9, out_mb: 3, pids: 99, open_files: 88}", "",
		"fix.yaml", filepath.Join(dir, "fix.yaml")).Replace(profiled)+"limits: {pids: 9000, out_mb: 7}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := bare.TaskLimits(req); got.Pids != 9000 || got.OpenFiles != 4096 || got.TmpBytes != 512<<20 || got.OutBytes != 7<<20 {
		t.Errorf("%+v", got)
	}
	other := *req
	other.Language = "tools"
	if p := l.PlanOf(&other, "", nil, l.TaskLimits(&other), nil); p.Registry != "" || l.TaskLimits(&other).TmpBytes != 64<<20 {
		t.Errorf("without a profile: %+v", p)
	}
	other.Backend, other.Language = schemas.BackendMonty, "fix"
	if p := l.PlanOf(&other, "", nil, l.TaskLimits(&other), nil); p.Registry != plan.Registry || p.Image != plan.Image {
		t.Errorf("a Monty program with a profile: %+v", p)
	}
	for _, other.Language = range []string{"python", "monty"} {
		if p := l.PlanOf(&other, "", nil, l.TaskLimits(&other), nil); p.Registry != "" || p.Image != l.Backends.Monty.Image {
			t.Errorf("a Monty program without tools: %+v", p)
		}
	}
	before := l.Rules()
	if l, err = config.Load(dir); err != nil || l.Rules() != before {
		t.Errorf("the same rules have another digest: %v", err)
	}
	registry("version: 1\nshell_allow: [x]\n")
	if l, err = config.Load(dir); err != nil || l.Rules() == before {
		t.Errorf("another registry is not seen: %v", err)
	}
	text, err := l.YAML()
	if err != nil || !strings.Contains(string(text), "tmp_mb: 512 # threegate.yaml:5") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestProfileFaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fix.yaml", "version: 1\n")
	write("bad.yaml", "version: 1\nvalidators: [{rule: none, enforcement: blocking}]\n")
	write("large.yaml", "version: 1\n#"+strings.Repeat("x", 300<<10))
	for _, c := range []struct{ old, new, want string }{
		{"fix: {", "tools: {", "is the name of an image's language"},
		{"fix: {", "bash: {", "or of a shell"},
		{"image: tools", "image: go", `tools.profiles.fix.image: "go" is not one of`},
		{"registry: fix.yaml", "registry: ''", "tools.profiles.fix.registry: is empty"},
		{"registry: fix.yaml", "registry: absent.yaml", "no such file"},
		{"registry: fix.yaml", "registry: /dev/null", "not a regular file"},
		{"registry: fix.yaml", "registry: bad.yaml", "no rule"},
		{"registry: fix.yaml", "registry: large.yaml", "bytes"},
		{"tmp_mb: 512", "tmp_mb: 99999", "tools.profiles.fix.limits.tmp_mb: is 99999"},
		{"tmp_mb: 512", "tmp_mb: -1", "tools.profiles.fix.limits.tmp_mb: is -1"},
		{"tmp_mb: 512", "memory_mb: 512", "memory_mb"},
	} {
		_, err := loadIn(t, dir, strings.Replace(profiled, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}
