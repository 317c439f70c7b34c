package posture

import (
	"os"
	"path/filepath"
	"testing"
)

// What leads to /dev/null is no way anywhere; what is called so, or is another device, may be.
func TestSameAsNull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "null")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{os.DevNull: true, "/dev/zero": false, file: false, t.TempDir(): false} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := sameAsNull(f); got != want {
			t.Errorf("%s: %v", path, got)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
