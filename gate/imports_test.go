package gate_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/threegate/tool-exec"

// allowed says which top-level folders a folder's packages may import.
var allowed = map[string][]string{
	"cmd":        {"cmd", "gate", "spool", "validate", "executors", "quarantine", "schemas"},
	"gate":       {"gate", "spool", "validate", "executors", "quarantine", "schemas"},
	"spool":      {"spool", "schemas"},
	"validate":   {"validate", "schemas"},
	"executors":  {"executors", "schemas"},
	"quarantine": {"quarantine", "schemas"},
	"schemas":    {"schemas"},
	"deploy":     {"deploy", "executors", "schemas"},
	"testdata":   {"testdata"},
}

// containerOnly are modules whose types may not appear outside executors.
var containerOnly = []string{"github.com/containerd/", "github.com/opencontainers/"}

// TestImportsGoOneWay keeps the layers apart: cmd -> gate -> {spool, validate,
// executors, quarantine} -> schemas, and containerd inside executors.
func TestImportsGoOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages++
		from := top(p.ImportPath)
		may, ok := allowed[from]
		if !ok {
			t.Errorf("%s is in no known top-level folder", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, module+"/") && !contains(may, top(i)) {
				t.Errorf("%s may not import %s", p.ImportPath, i)
			}
			for _, c := range containerOnly {
				if strings.HasPrefix(i, c) && from != "executors" && p.ImportPath != module+"/cmd/threegate-bench" { // it writes a spec for its peer, runc
					t.Errorf("%s may not import %s: containers are executors' own", p.ImportPath, i)
				}
			}
		}
	}
	if packages < 10 {
		t.Fatalf("only %d packages were looked at", packages)
	}
}

func top(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
	return first
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
