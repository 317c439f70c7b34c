package registry

import (
	"strings"
	"testing"
)

// example is section 4, as the specification prints it: with escapes that YAML does not know.
const example = `version: 1

network:
  allowed_domains: ["doc.rust-lang.org", "crates.io"]

shell_allow:
  - "^cargo(\s|$)"
  - "^npm(\s|$)"
  - "^rg(\s|$)"

git:
  allow_push: true
  require_clean_tree_for_commit: true

ast:
  language: rust
  format_on_save: true
  validate_on_edit: true

validators:
  - rule: sec.network.allowlist
    enforcement: blocking
  - rule: build.must.pass
    enforcement: blocking
`

func TestSpecificationExample(t *testing.T) {
	r, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]bool{"cargo": true, "cargo test -q": true, "cargo\ttest": true, "cargox": false,
		" cargo": false, "rg --pre x": true, "": false, "x\ncargo": false} {
		if r.AllowsCommand(cmd) != want {
			t.Errorf("%q: %v", cmd, !want)
		}
	}
	for host, want := range map[string]bool{"crates.io": true, "CRATES.IO": true, "x.crates.io": false, "crates.io.": false,
		"xcrates.io": false, "": false} {
		if r.AllowsHost(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestDefaultAllowsNothing(t *testing.T) {
	if r := Default(); r.AllowsCommand("ls") || r.AllowsHost("crates.io") {
		t.Error("it allows something")
	}
}

func TestParseIsStrict(t *testing.T) {
	for bad, want := range map[string]string{
		"":                       "registry:",
		"version: 2":             "version must be 1",
		"version: x":             "registry:",
		"versions: 1":            "versions",
		"version: 1\nversion: 1": "version",
		"version: 1\nnetwork: {allowed_domain: []}":                                                                          "allowed_domain",
		"version: 1\nnetwork: {allowed_domains: ['*.io']}":                                                                   "no domain name",
		"version: 1\nnetwork: {allowed_domains: ['https://crates.io']}":                                                      "no domain name",
		"version: 1\nshell_allow: ['(']":                                                                                     "shell_allow",
		"version: 1\nshell_allow:\n  - \"^a\\b\"":                                                                            "single quotes",
		"version: 1\nvalidators: [{rule: none, enforcement: blocking}]":                                                      "no rule",
		"version: 1\nvalidators: [{rule: code.no.unwrap, enforcement: error}]":                                               "enforcement is",
		"version: 1\nvalidators: [{rule: secrets.scan, enforcement: blocking, run: [make]}]":                                 "runs no command",
		"version: 1\nvalidators: [{rule: sec.paths.sandbox, enforcement: warning}]":                                          "always blocking",
		"version: 1\nvalidators: [{rule: secrets.scan, enforcement: blocking}, {rule: secrets.scan, enforcement: blocking}]": "twice",
		"version: 1\ngit: {protected_branches: []}":                                                                          "leave code.todo.blockers out",
		"version: 1\ngit: {protected_branches: ['release/[']}":                                                               "not a pattern",
		"version: 1\nvalidators: [{rule: lint.must.pass, enforcement: blocking}]":                                            "can never pass: it names no command",
		"version: 1\nast: {language: python}\nvalidators: [{rule: fmt.must.pass, enforcement: warning}]":                     "can never pass: it names no command",
		"version: 1\nvalidators: [{rule: build.must.pass, enforcement: blocking, run: ['make && make test']}]":               "can never pass: run:",
		"version: 1\nvalidators: [{rule: build.must.pass, enforcement: blocking, run: ['']}]":                                "can never pass: run:",
		"version: 1\nvalidators: [{rule: build.must.pass, enforcement: blocking, run: [./build.sh]}]":                        "can never pass: run:",
		"version: 1\nvalidators: [{rule: test.must.pass, enforcement: blocking, run: [make test]}]":                          "nothing counts the tests",
		"version: 1\nx: " + strings.Repeat("a", MaxSize):                                                                     "bytes",
	} {
		if r, err := Parse([]byte(bad)); r != nil && err == nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", bad, err, want)
		}
	}
}

// TestRaise: a rule pack adds rules and raises levels, and lowers none.
func TestRaise(t *testing.T) {
	const base = "version: 1\nast: {language: go}\nvalidators: [{rule: secrets.scan, enforcement: warning}, " +
		"{rule: build.must.pass, enforcement: blocking, run: [go version]}]\n"
	// The example of section 7.
	const pack = `validators:
  - rule: sec.network.allowlist
    enforcement: blocking
  - rule: sec.shell.allowlist
    enforcement: blocking
  - rule: sec.paths.sandbox
    enforcement: blocking
  - rule: sec.git.clean_tree
    enforcement: blocking
  - rule: code.ast.parsed
    enforcement: blocking
  - rule: build.must.pass
    enforcement: blocking
  - rule: lint.must.pass
    enforcement: blocking
  - rule: fmt.must.pass
    enforcement: blocking
  - rule: secrets.scan
    enforcement: blocking
`
	r, err := Parse([]byte(base))
	if err == nil {
		err = r.Raise([]byte(pack))
	}
	if err != nil || r.Level("secrets.scan") != Blocking || r.Level("lint.must.pass") != Blocking || r.Commands("build.must.pass")[0] != "go version" {
		t.Errorf("%v, %+v", err, r)
	}
	if err := r.Raise([]byte("validators: [{rule: secrets.scan, enforcement: suggestion}]")); err != nil || r.Level("secrets.scan") != Blocking {
		t.Errorf("it was lowered: %v", err)
	}
	for bad, want := range map[string]string{
		"version: 1": "version", "validators: [{rule: none, enforcement: blocking}]": "no rule",
		"validators: [{rule: build.must.pass, enforcement: blocking, run: [make]}]": "run belongs to the registry",
		"validators: [{rule: sec.paths.sandbox, enforcement: warning}]":             "always blocking",
	} {
		if err := r.Raise([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := Default().Raise([]byte(pack)); err == nil || !strings.Contains(err.Error(), "can never pass") {
		t.Errorf("rules without commands: %v", err)
	}
}

// TestProtects: without the key every branch is protected.
func TestProtects(t *testing.T) {
	r, err := Parse([]byte("version: 1\ngit: {protected_branches: [main, release/*]}\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for branch, want := range map[string]Level{"main": Blocking, "release/1": Blocking, "": Blocking, "feat/main": "", "mainly": ""} {
		if got := r.On(branch).Level(TodoRule); got != want {
			t.Errorf("%q: %q", branch, got)
		}
	}
	if !Default().Git.Protects("feat/x") {
		t.Error("a branch is not protected, and nothing says so")
	}
}
