package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMissed: the hint about a test that did not run fits its language.
func TestMissed(t *testing.T) {
	j := Job{Dir: t.TempDir()}
	for _, file := range []string{"in/__init__.py", "in/deep/x"} {
		name := filepath.Join(j.Dir, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const folders = "unittest looks into folders only that are packages: add "
	const end = "let it run to its end; no test may end the program"
	for file, want := range map[string]string{
		"tests/unit/test_x.py": folders + "tests/__init__.py, tests/unit/__init__.py",
		"in/deep/test_x.py":    folders + "in/deep/__init__.py",
		"in/test_x.py":         end,
		"test_x.py":            end,
		"tests/x.test.js":      end,
		"/x/test_x.py":         end,
		"x_test.go":            "let it run to its end; no TestMain or test may end the program",
	} {
		if got := j.missed(file); got != want {
			t.Errorf("%s: %q", file, got)
		}
	}
}
