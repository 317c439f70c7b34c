package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
)

// FuzzParse: whatever a configuration holds is read or refused, and what was
// read is read again from what is shown of it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "version: 1\n", "node:\n  concurrency: 2\nlimits:\n  max_cpu: \"2\"\n",
		"validators:\n- {rule: sec.markdown, enforcement: blocking}\n", "a: &a [*a]\n", "shell_allow: ['^python ']\n",
		"? - x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, config.FileName), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(dir)
		if (l == nil) != (err != nil) {
			t.Fatalf("both or none: %v, %v", l, err)
		}
		if l == nil {
			return
		}
		again, err := l.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, config.FileName), again, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(dir); err != nil {
			t.Fatalf("was taken, and what is shown of it is refused: %v\n%s", err, again)
		}
	})
}
