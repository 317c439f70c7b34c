package gate_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/threegate/tool-exec/"

// mayImport says which packages of ours a package may import. A name that ends in /... stands
// for all packages below it; a package with a rule of its own is not held by that of its folder.
// Layers, from the top: cmd -> gate -> {spool, validate, executors, quarantine} -> schemas.
var mayImport = map[string][]string{
	"schemas":         {},
	"schemas/openwop": {},

	"spool":              {"schemas", "spool/internal/..."},
	"spool/internal/...": {},
	"spool/spooltest":    {"spool"},

	"quarantine": {"schemas"},

	// Text and its encodings know nothing of documents; the judges of one kind of content know
	// those and each other in one direction; validate alone knows them all.
	"validate": {"schemas", "validate/..."},
	"validate/...": {"schemas", "validate/text", "validate/encoded", "validate/document",
		"validate/internal/..."},
	"validate/text":         {},
	"validate/encoded":      {"validate/text"},
	"validate/document":     {"schemas", "validate/text"},
	"validate/internal/...": {"schemas", "validate/text"},
	"validate/content": {"schemas", "validate/text", "validate/encoded", "validate/internal/...",
		"validate/content/..."},
	"validate/content/...": {"schemas", "validate/text", "validate/encoded", "validate/internal/...",
		"validate/content/..."},
	"validate/artifact": {"schemas", "validate/text", "validate/encoded", "validate/document", "validate/filetype",
		"validate/archive"},
	"validate/channel": {"schemas", "validate/content", "validate/text"},
	"validate/code":    {"schemas", "validate/text", "validate/document", "validate/packages", "validate/paths"},
	"validate/command": {"schemas", "validate/text", "validate/document", "validate/packages", "validate/paths",
		"validate/code"},

	"executors":            {"schemas"},
	"executors/...":        {"executors", "schemas"},
	"executors/image":      {},
	"executors/intree":     {},
	"executors/cgroup":     {},
	"executors/sandbox":    {"executors", "executors/cgroup", "executors/job"},
	"executors/monty":      {"schemas", "executors/monty/..."},
	"executors/monty/...":  {"schemas", "executors/monty/..."},
	"executors/containerd": {"executors", "executors/image"},
	"executors/container":  {"executors", "executors/...", "schemas", "toolruntime/timeline"},

	"gate/filter":          {"schemas"},
	"deploy/filters/words": {},
	"deploy/hooks":         {}, // tests only
	"deploy/mcp":           {}, // tests only
	"docs/core":            {}, // to be copied by others
	"deploy/package/sbom":  {},
	"gate/admission": {"gate/config", "gate/ledger", "gate/patchpolicy", "executors", "executors/intree", "validate",
		"validate/approval", "schemas"},
	"gate": {"gate/access", "gate/admission", "gate/patchpolicy", "gate/config", "gate/ending", "gate/fate", "gate/hold", "gate/filter", "gate/ledger", "gate/orders", "gate/recheck", "gate/seal",
		"gate/trouble", "spool", "validate", "validate/approval", "validate/channel", "validate/content",
		"executors", "executors/intree", "quarantine",
		"schemas"},
	"gate/access": {"gate/config", "executors", "spool"},
	"gate/patchpolicy": {"executors/intree", "spool", "toolruntime/envelope", "toolruntime/judge", "toolruntime/registry",
		"toolruntime/timeline", "validate", "validate/content", "schemas"},
	"gate/recheck": {"executors", "gate/patchpolicy", "toolruntime/judge", "toolruntime/registry", "schemas"},
	"gate/create":  {"gate/config", "executors/image", "spool"},
	"gate/config":  {"executors", "executors/egress", "executors/image", "toolruntime/registry", "validate", "validate/approval", "schemas"},
	"gate/ending":  {"gate/ledger", "executors", "schemas"},
	"gate/ledger":  {"spool", "schemas"}, // for the seam
	"gate/openwop": {"gate/config", "gate/ledger", "spool", "schemas", "schemas/openwop"},
	"gate/fsck": {"gate", "gate/patchpolicy", "toolruntime/timeline", "toolruntime/envelope", "gate/config", "gate/ledger", "gate/orders", "gate/seal", "spool", "validate", "executors", "executors/intree", "quarantine",
		"schemas"},

	"gate/metrics": {"gate/config", "gate/hold", "gate/ledger", "gate/trouble", "gate/view", "spool"},
	"gate/prune":   {"gate/config", "gate/fsck", "gate/ledger", "spool"},
	"gate/fate":    {"gate/config", "gate/ledger", "spool", "schemas"},
	"gate/seal":    {"spool", "schemas"},
	"gate/hooks":   {"gate/config", "gate/ledger", "spool"},
	"gate/hold":    {"gate/config", "spool", "schemas"},
	"gate/trouble": {"executors", "spool", "schemas"},
	"gate/orders":  {"spool", "validate", "validate/approval", "schemas"},
	"gate/view":    {"gate/config", "gate/hold", "gate/ledger", "gate/trouble", "spool", "schemas"},

	"gate/e2e": {}, // tests only

	"cmd/threegate":                      {"cmd/threegate/internal/..."},
	"cmd/threegate/internal/bundle":      {"cmd/threegate/internal/source"},
	"cmd/threegate/internal/confine":     {},
	"cmd/threegate/internal/diag":        {"cmd/threegate/internal/term", "schemas"},
	"cmd/threegate/internal/frontmatter": {"validate/document"},
	"cmd/threegate/internal/loopback":    {},
	"cmd/threegate/internal/source":      {"schemas"},
	"cmd/threegate/internal/term":        {"validate/text"},
	"cmd/threegate/internal/cli": {"cmd/threegate/internal/confine", "cmd/threegate/internal/term", "gate/config",
		"gate/ledger", "spool", "validate", "schemas"},
	"cmd/threegate/internal/backend": {"cmd/threegate/internal/cli", "gate", "gate/config", "executors",
		"executors/container", "executors/containerd"},
	"cmd/threegate/internal/reference": {"cmd/threegate/internal/cli", "cmd/threegate/internal/confine",
		"cmd/threegate/internal/term", "schemas"},
	"cmd/threegate/internal/draft": {"cmd/threegate/internal/bundle", "cmd/threegate/internal/frontmatter",
		"schemas", "toolruntime", "toolruntime/envelope", "toolruntime/host", "toolruntime/registry",
		"toolruntime/timeline"},
	"cmd/internal/mcpstdio": {},
	"cmd/threegate/internal/mcpserver": {"cmd/internal/mcpstdio", "cmd/threegate/internal/...", "gate/patchpolicy", "gate/config", "spool", "validate",
		"validate/text", "schemas"},
	"cmd/threegate/internal/documents": {"cmd/threegate/internal/...", "executors/intree", "gate", "gate/patchpolicy", "gate/config", "gate/fate", "gate/orders", "spool", "validate",
		"validate/approval", "schemas", "toolruntime/registry"},
	"cmd/threegate/internal/openwop": {"cmd/threegate/internal/...", "gate/config", "gate/ledger", "gate/openwop",
		"spool", "schemas", "schemas/openwop"},
	"cmd/threegate/internal/record": {"cmd/threegate/internal/...", "gate", "gate/config", "gate/fate", "gate/fsck", "gate/ledger", "gate/orders",
		"gate/openwop", "gate/prune", "gate/seal", "gate/view", "quarantine", "spool", "validate", "schemas",
		"toolruntime/timeline"},
	"cmd/threegate/internal/node": {"cmd/threegate/internal/...", "gate", "gate/access", "gate/config", "gate/create", "gate/fate", "gate/hold", "gate/hooks", "gate/metrics",
		"spool", "executors", "executors/...", "quarantine", "toolruntime/registry", "schemas"},
	// For others to embed: nothing of the gate but pure packages.
	"toolruntime":         {"toolruntime/..."},
	"toolruntime/...":     {"toolruntime/...", "validate/secrets"},
	"cmd/threegate-tools": {"cmd/internal/mcpstdio", "executors/monty/driver", "toolruntime", "toolruntime/..."},

	"cmd/threegate-init":    {"executors/job"},
	"cmd/threegate-payload": {"executors/job", "executors/monty/driver", "executors/posture"},
	"cmd/threegate-bench":   {"executors/image", "gate/config", "spool"},
}

// containerOnly are modules whose types may not appear outside executors.
var containerOnly = []string{"github.com/containerd/", "github.com/opencontainers/"}

// TestImportsGoOneWay holds every package to mayImport, and containerd inside executors.
func TestImportsGoOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages++
		name := strings.TrimPrefix(p.ImportPath, module)
		rule := mostExact(slices.Collect(maps.Keys(mayImport)), name)
		if rule == "" {
			t.Errorf("no rule says what %s may import", name)
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && mostExact(mayImport[rule], ours) == "" {
				t.Errorf("%s may not import %s", name, ours)
			}
			for _, c := range containerOnly {
				if strings.HasPrefix(i, c) && !strings.HasPrefix(name, "executors/") {
					t.Errorf("%s may not import %s: containers are executors' own", name, i)
				}
			}
		}
	}
	if packages < 10 {
		t.Fatalf("only %d packages were checked", packages)
	}
}

// mostExact is the longest of the names that name pkg or all below a folder of it, or "".
func mostExact(names []string, pkg string) (found string) {
	for _, n := range names {
		folder, all := strings.CutSuffix(n, "...")
		if n == pkg {
			return n
		}
		if all && strings.HasPrefix(pkg, folder) && len(n) > len(found) {
			found = n
		}
	}
	return found
}
