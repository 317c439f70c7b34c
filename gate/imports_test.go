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

// mayImport says which packages of ours a package may import, layer by layer, from the bottom. A name that ends in /...
// stands for all packages below it, and not for itself; the longest name that fits a package is the one that counts.
// So nothing below gate imports gate itself, the engine. That packages of one layer go one way among themselves the
// compiler sees to.
var mayImport = map[string][]string{
	"schemas":         {},
	"schemas/...":     {},
	"spool":           {"schemas", "spool/..."},
	"spool/...":       {"spool"},
	"spool/durable":   {}, // for every layer: the writer of what must last, and the opener of regular files
	"quarantine":      {"schemas"},
	"validate":        {"schemas", "validate/..."},
	"validate/...":    {"schemas", "validate/..."},
	"toolruntime":     {"toolruntime/..."}, // for others to embed
	"toolruntime/...": {"toolruntime/..."},
	"executors":       {"schemas"},
	"executors/...":   {"executors", "executors/...", "schemas", "spool/durable", "toolruntime/contract"},
	"gate":            gateMay,
	"gate/...":        gateMay,
	"cmd/...":         slices.Concat(gateMay, []string{"gate", "executors/...", "cmd/internal/...", "cmd/threegate/internal/..."}),

	// What runs in sandboxes is small, and what others are to copy stands alone.
	"cmd/threegate-init":    {"executors/job"},
	"cmd/threegate-payload": {"executors/job", "executors/monty", "executors/posture"},
	"cmd/threegate-tools": {"cmd/internal/mcpstdio", "spool/durable", "executors/monty", "toolruntime", "toolruntime/...",
		"validate/secrets"},
	"deploy/...": {},
	"docs/...":   {},
}

// gateMay leaves out who makes sandboxes: gate declares what it needs of an executor.
var gateMay = []string{"schemas", "schemas/...", "spool", "spool/...", "quarantine", "validate", "validate/...",
	"toolruntime", "toolruntime/...", "executors", "executors/egress", "executors/image", "executors/intree", "gate/..."}

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
