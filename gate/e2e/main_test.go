// Package e2e tests a whole node as its users have it: the real programs, real
// containerd, real images, real signals. Nothing here can be skipped.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// imagesEnv names the folder of the images when it is not build/images.
const imagesEnv = "THREEGATE_IMAGES"

// Set by TestMain.
var (
	repo      string // the repository's folder
	images    string // the OCI image layout
	threegate string // the program under test, those of its sandboxes in the same folder
	scratch   string // what tests share; it goes with the last of them
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(webNodeEnv) != "" {
		if err := webGate(); err != nil {
			fmt.Fprintln(os.Stderr, "gate:", err)
			return 1
		}
		return 0
	}
	code, err := setUp(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
		return 1
	}
	return code
}

func setUp(m *testing.M) (int, error) {
	var err error
	if repo, err = filepath.Abs("../.."); err != nil {
		return 0, err
	}
	images = os.Getenv(imagesEnv)
	if images == "" {
		images = filepath.Join(repo, "build", "images")
	}
	if _, err := os.Stat(filepath.Join(images, "index.json")); err != nil {
		return 0, fmt.Errorf("no images in %s: run `make images`, or name their folder in %s", images, imagesEnv)
	}
	if os.Getuid() != 0 {
		return 0, fmt.Errorf("they make containers: run them as root")
	}
	if scratch, err = os.MkdirTemp("", "threegate-e2e-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o755); err != nil {
		return 0, err
	}
	if out, err := exec.Command("make", "-C", repo, "build").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("make build: %w\n%s", err, out)
	}
	// Where other users may run it, too.
	bin := filepath.Join(scratch, "bin")
	if err := os.CopyFS(bin, os.DirFS(filepath.Join(repo, "bin"))); err != nil {
		return 0, err
	}
	threegate = filepath.Join(bin, "threegate")
	return m.Run(), nil
}
