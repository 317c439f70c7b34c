package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// runBase holds what does not survive a reboot, of all nodes of a host. It must
// be short: sockets lie below it.
const runBase = "/run/threegate"

// key tells the nodes of one host apart.
func (l *Node) key() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:6])
}

// Label is on what belongs to this node in a containerd that others use too.
func (l *Node) Label() string { return l.Node.Name + "-" + l.key() }

// RunDir is where the node's sandboxes live.
func (l *Node) RunDir() string { return filepath.Join(runBase, l.key(), "run") }

// ContainerdState is the state folder of the private containerd.
func (l *Node) ContainerdState() string {
	if l.Containerd.State != "" {
		return l.Containerd.State
	}
	return filepath.Join(runBase, l.key(), "containerd")
}
