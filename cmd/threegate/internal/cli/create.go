package cli

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
	"github.com/threegate/tool-exec/spool/durable"
)

// montyImage is the name that the Monty image has in a layout; every other
// image there is an ERA language.
const montyImage = "monty"

// NewNode says how a node is made.
type NewNode struct {
	Name string
	// Images is a layout: every image found there is pinned (none if the folder is empty or absent).
	Images string
	// Service: the node uses the services that the package brings, threegate-containerd and
	// threegate-sandboxes.
	Service bool
}

// CreateNode makes a node in dir: its folders, and a configuration. A node that is there
// already is an error that matches fs.ErrExist; but if nobody has changed its first
// configuration, and images have come since, they are pinned now.
func CreateNode(dir string, n NewNode) ([]image.Entry, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if n.Images, err = filepath.Abs(n.Images); err != nil {
		return nil, err
	}
	entries, err := image.List(n.Images)
	if err != nil && !errors.Is(err, image.ErrNotFound) {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e image.Entry) bool { return e.Replaced })
	file := filepath.Join(abs, config.FileName)
	switch old, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("make a node: %w", err)
	case string(old) != firstConfig(n, nil) || len(entries) == 0:
		return nil, fmt.Errorf("make a node: %s: %w", file, fs.ErrExist)
	default:
		if err := os.Remove(file); err != nil { // the next try makes it anew
			return nil, fmt.Errorf("make a node: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	if err := spool.Init(abs); err != nil {
		return nil, err
	}
	if err := durable.WriteFile(abs, config.FileName, []byte(firstConfig(n, entries)), 0o640); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	return entries, nil
}

// firstConfig is the configuration of a new node, for people to go on from.
func firstConfig(n NewNode, entries []image.Entry) string {
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
`, n.Name, n.Images)
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
	if n.Service {
		b.WriteString(serviceConfig)
	}
	return b.String()
}

// serviceConfig are the places that the package's services have.
const serviceConfig = `
containerd:
  # threegate-containerd.service and threegate-sandboxes.service.
  address: /run/threegate-containerd/containerd.sock
  cgroup: /system.slice/threegate-sandboxes.service/sandboxes
`
