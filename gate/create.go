package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// montyImage is the name that the Monty image has in a layout; every other
// image there is an ERA language.
const montyImage = "monty"

// Create makes a node in dir: its folders, and a configuration that pins every
// image found in the layout imagesDir (none if the folder is empty or absent).
// A node that is there already is an error that matches fs.ErrExist.
func Create(dir, name, imagesDir string) ([]image.Entry, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	images, err := filepath.Abs(imagesDir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(abs, config.FileName)
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("make a node: %s: %w", file, fs.ErrExist)
	}
	entries, err := image.List(images)
	if err != nil && !errors.Is(err, image.ErrNotFound) {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e image.Entry) bool { return e.Replaced })
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	if err := spool.Init(abs); err != nil {
		return nil, err
	}
	if err := spool.WriteFile(abs, config.FileName, []byte(firstConfig(name, images, entries)), 0o640); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	return entries, nil
}

// firstConfig is the configuration of a new node, for people to go on from.
func firstConfig(name, images string, entries []image.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# ThreeGate TOOL-EXEC node. "threegate config show" prints every key with its value
# and where it came from. An unknown key is an error.
version: 1

node:
  name: %q

approvals:
  # Names that may approve; empty means anybody who is named.
  approvers: []

backends:
  # An OCI image layout with the images pinned below.
  images: %q
`, name, images)
	b.WriteString("  era:\n    languages:")
	any := false
	for _, e := range entries {
		if e.Name == montyImage {
			continue
		}
		if !any {
			b.WriteString("\n")
		}
		any = true
		fmt.Fprintf(&b, "      %s: {image: %q} # %s\n", e.Name, e.Digest, e.Version)
	}
	if !any {
		b.WriteString(" {}\n")
	}
	for _, e := range entries {
		if e.Name == montyImage {
			fmt.Fprintf(&b, "  monty: {image: %q} # %s\n", e.Digest, e.Version)
		}
	}
	return b.String()
}
