package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/validate"
)

func load(t *testing.T, text string) (*config.Node, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(dir)
}

func TestAnEmptyNodeHasSafeDefaults(t *testing.T) {
	l, err := load(t, "version: 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Network.AllowedDomains) != 0 || l.Approvals.AllowSelfApproval || l.Node.Concurrency < 1 {
		t.Errorf("defaults are not safe: %+v", l.Config)
	}
	if l.Inboxes[0].Path != filepath.Join(l.Dir, "inbox/default") {
		t.Errorf("inbox path %s is not absolute", l.Inboxes[0].Path)
	}
	// A command that judges without a node judges as this one does.
	now := time.Unix(0, 0)
	p, want := l.Policy(now), validate.DefaultPolicy(now)
	if p.MaxRequestBytes != want.MaxRequestBytes || p.MaxMilliCPU != want.MaxMilliCPU ||
		p.MaxMemoryMB != want.MaxMemoryMB ||
		p.MaxTimeSec != want.MaxTimeSec || p.MaxInputs != want.MaxInputs || p.MaxOutputs != want.MaxOutputs ||
		p.MaxInputBytes != want.MaxInputBytes || p.MaxApprovalAge != want.MaxApprovalAge ||
		p.MaxStreamLines != want.MaxStreamLines {
		t.Errorf("a node with defaults has the limits\n%+v, a command without a node\n%+v", p, want)
	}
}

// No language may execute what it builds unless the configuration says so, and that
// is shown with its place.
func TestExecTmp(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	l, err := load(t,
		"version: 1\nbackends:\n  era:\n    languages:\n      python: {image: "+digest+"}\n      go:\n        image: "+
			digest+"\n        exec_tmp: true\n")
	if err != nil {
		t.Fatal(err)
	}
	if all := l.Backends.ERA.Languages; all["python"].ExecTmp || !all["go"].ExecTmp {
		t.Errorf("%+v", all)
	}
	shown, err := l.YAML()
	if err != nil || !strings.Contains(string(shown), "exec_tmp: true # threegate.yaml:8") ||
		!strings.Contains(string(shown), "exec_tmp: false # default") {
		t.Errorf("%v\n%s", err, shown)
	}
}

// TestBadConfigurations: each is refused, for its own reason, at its own line.
func TestBadConfigurations(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	tests := map[string]struct {
		text, want string
		line       int
	}{
		"unknown key":        {"version: 1\nnods: {}\n", "no such key", 2},
		"unknown nested key": {"version: 1\nnode:\n  conc: 3\n", "no such key", 3},
		"removed key":        {"version: 1\nslots:\n  made_by: containerd\n", "was removed: containerd makes all", 3},
		"renamed key": {"version: 1\nresults:\n  allow_artifact_types: [application/zip]\n",
			"results.artifact_types lists all", 3},
		"filter without a way": {"version: 1\nresults:\n  external: [{name: x}]\n", "either a socket or a command", 3},
		"filter of both ways": {"version: 1\nresults:\n  external: [{name: x, socket: /s, command: [/c]}]\n",
			"either a socket or a command", 3},
		"filter somewhere": {"version: 1\nresults:\n  external: [{name: x, socket: s}]\n", "not an absolute path", 3},
		"filter twice": {"version: 1\nresults:\n  external: [{name: x, socket: /s}, {name: x, socket: /t}]\n",
			"listed twice", 3},
		"filter without a name": {"version: 1\nresults:\n  external: [{socket: /s}]\n", "name of a filter", 3},
		"patient filter": {"version: 1\nresults:\n  external: [{name: x, socket: /s, timeout: 1h}]\n",
			"must be from 100ms to 5m", 3},
		"hook of both ways":   {"version: 1\nhooks: [{name: x, command: [/c], url: \"https://h/\"}]\n", "either a command or a url", 2},
		"hook somewhere":      {"version: 1\nhooks: [{name: x, command: [c]}]\n", "not an absolute path", 2},
		"hook over http":      {"version: 1\nhooks: [{name: x, url: \"http://h/\", secret_file: s}]\n", "is not https", 2},
		"hook with a user":    {"version: 1\nhooks: [{name: x, url: \"https://u:p@h/\", secret_file: s}]\n", "is not https", 2},
		"hook without secret": {"version: 1\nhooks: [{name: x, url: \"http://127.0.0.1:8/\"}]\n", "has no secret_file", 2},
		"hook up the tree":    {"version: 1\nhooks: [{name: ../x, command: [/c]}]\n", "name of a hook", 2},
		"hook twice": {"version: 1\nhooks: [{name: x, command: [/c]}, {name: x, command: [/c]}]\n", "listed twice",
			2},
		"hook of another answer": {"version: 1\nhooks: [{name: x, command: [/c], answers: [run]}]\n", "no answer \"run\"", 2},
		"one approver too many": {"version: 1\napprovals: {min_approvers: {high: 17}, require_signature: true, allowed_signers: s}\n",
			"from 1 to 16", 2},
		"two approvers unsigned":   {"version: 1\napprovals: {min_approvers: {high: 2}}\n", "needs approvals.require_signature", 2},
		"everybody forbidden":      {"version: 1\napprovals: {forbidden: [\"*\"]}\n", "forbids everybody", 2},
		"renamed pause":            {"version: 1\nnode:\n  settle: 30s\n", "is called node.wait_for_writers", 3},
		"unknown type of artifact": {"version: 1\nresults:\n  artifact_types: [text, zip]\n", "there is no type \"zip\"", 3},
		"duplicate key":            {"version: 1\nversion: 1\n", "already defined", 2},
		"wrong type":               {"version: 1\nnode:\n  concurrency: many\n", "\"many\" is not a whole number", 3},
		"no duration":              {"version: 1\nnode:\n  wait_for_writers: 3\n", "\"3\" is not a duration", 3},
		"metrics for all": {"version: 1\nmetrics:\n  listen: 0.0.0.0:9464\n", "\"0.0.0.0:9464\" is not a loopback address",
			3},
		"no truth value": {"version: 1\nposture:\n  at_start: perhaps\n", "\"perhaps\" is neither true nor false",
			3},
		"no list":        {"version: 1\nshell_allow: x\n", "a list is wanted here", 2},
		"no keys":        {"version: 1\nnode: 4\n", "keys with values are wanted here", 2},
		"a list of all":  {"[]\n", "keys with values are wanted here", 1},
		"empty":          {"", "is empty", 0},
		"only a comment": {"# nothing\n", "is empty", 0},
		"not yaml":       {"version: [1\n", "", 0},
		"a tab":          {"version: 1\nnode:\n\tname: x\n", "", 3},
		"other version":  {"version: 2\n", "reads version 1", 1},
		"no concurrency": {"version: 1\nnode:\n  concurrency: 0\n", "from 1 to 256", 3},
		"no inbox":       {"version: 1\ninboxes: []\n", "there is none", 2},
		"inbox twice":    {"version: 1\ninboxes: [{name: a, path: x}, {name: a, path: y}]\n", "listed twice", 2},
		"hidden inbox":   {"version: 1\ninboxes: [{name: .a, path: x}]\n", "name of an inbox", 2},
		"unpinned image": {"version: 1\nbackends:\n  era:\n    languages:\n      python: {image: latest}\n",
			"not a digest", 5},
		"neither": {"version: 1\nbackends:\n  era:\n    languages:\n      go: {image: " + digest +
			", exec_tmp: perhaps}\n", "neither true nor false", 5},
		"shell as language": {"version: 1\nbackends:\n  era:\n    languages:\n      bash: {image: " + digest + "}\n",
			"is a shell", 5},
		"long name of a language": {"version: 1\nbackends:\n  era:\n    languages:\n      " + strings.Repeat("x", 65) +
			": {image: " + digest + "}\n", "above 64", 4},
		"unknown rule": {"version: 1\nvalidators: [{rule: no.such, enforcement: blocking}]\n",
			"there is no rule", 2},
		"unknown enforcement": {"version: 1\nvalidators: [{rule: secrets.scan, enforcement: loud}]\n",
			"not one of blocking", 2},
		"lowered rule": {"version: 1\nvalidators: [{rule: secrets.scan, enforcement: warning}]\n",
			"can't be lowered", 2},
		"nonsense domain": {"version: 1\nnetwork:\n  allowed_domains: [\"*.com\"]\n", "network.allowed_domains", 3},
		"public suffix": {"version: 1\nnetwork:\n  allowed_domains: [\"*.workers.dev\"]\n",
			"network.allowed_domains", 3},
		"milder judgement": {"version: 1\nresults:\n  judgement: note\n", "neither default nor strict", 3},
		"nonsense cpu":     {"version: 1\nlimits:\n  cpu: fast\n", "limits.cpu", 3},
		"no signers":       {"version: 1\napprovals:\n  require_signature: true\n", "is empty although", 0},
		"time without end": {"version: 1\nlimits:\n  time_sec: 0\n", "from 1 to", 3},
		"too many outputs": {"version: 1\nlimits:\n  out_files: 8193\n", "from 1 to 8192", 3},
		"too long request": {"version: 1\nlimits:\n  request_kb: 4097\n", "from 1 to 4096", 3},
		"no input at all":  {"version: 1\nlimits:\n  input_files: 0\n", "from 1 to", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.text)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("says %q, want %q in it", err, tt.want)
			}
			var e *config.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T is no *Error", err)
			}
			if e.Hint == "" {
				t.Errorf("gives no hint: %v", err)
			}
			if strings.Contains(e.Hint, "config show") {
				t.Errorf("hints at what refuses the file, too: %s", e.Hint)
			}
			if tt.line != 0 && e.Line != tt.line {
				t.Errorf("names line %d, want %d: %v", e.Line, tt.line, err)
			}
		})
	}
}

// TestAllMistakesAtOnce: whatever else is wrong, each mistake is told, once.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(t, `version: 1
nods: {}
node: {concurrency: many, conc: 4, wait_for_writers: 90h}
node: {concurrency: 999, drain: 0s, drain: 1s}
inboxes: [{name: a, name: b, path: x}]
slots: {made_by: me, memory_mb: x}
approvals: {require_signature: true, allowed_signers: none}
`)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		":2: nods: there is no such key", ":3: conc: there is no such key", `"many" is not a whole number`,
		"node.wait_for_writers: is 90h0m0s",
		":4: node: is already defined at line 3", "node.concurrency: is 999",
		":4: node.drain: is already defined at line 4",
		":5: inboxes.name: is already defined at line 5", ":6: made_by: was removed: containerd makes all sandboxes",
		`"x" is not a whole number`, "allowed_signers: can't be read",
	} {
		if n := strings.Count(err.Error(), want); n != 1 {
			t.Errorf("%q is told %d times in:\n%v", want, n, err)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 11 {
		t.Errorf("%d mistakes are told:\n%v", lines, err)
	}
}

func TestHugeConfigurationIsNotRead(t *testing.T) {
	if _, err := load(t, "# "+strings.Repeat("x", 1<<20)); err == nil {
		t.Fatal("accepted")
	}
}

func TestShowSaysWhereEachValueCameFrom(t *testing.T) {
	l, err := load(t, "version: 1\nnode:\n  concurrency: 7\nlimits: {time_sec: 30}\n")
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.YAML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{"concurrency: 7 # threegate.yaml:3", "time_sec: 30 # threegate.yaml:4",
		"memory_mb: 2048 # default"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	// What is shown can be used as it is.
	again, err := load(t, string(b))
	if err != nil {
		t.Fatal(err)
	}
	if again.Node != l.Node || again.Limits != l.Limits {
		t.Error("reading it back gives something else")
	}
}
