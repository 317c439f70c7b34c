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
		"version: 1\nx: " + strings.Repeat("a", MaxSize):                                                                     "bytes",
	} {
		if r, err := Parse([]byte(bad)); r != nil && err == nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", bad, err, want)
		}
	}
}
