package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/threegate/tool-exec/spool/durable"
)

// RemoveFolder removes a folder with all that it holds, durably. It follows no link, and can be called
// again after a crash.
func RemoveFolder(path string, seam Seam) error {
	d := durable.Disk{Seam: seam}
	if err := d.RemoveTree("folder", path); err != nil {
		return err
	}
	return d.SyncDir("folder", filepath.Dir(path))
}

// modeHint lets the node's group read hints.
const modeHint fs.FileMode = 0o640

// WriteHint writes a file in the node's folder that nothing depends on: whoever
// reads it sees it whole, but it may be lost in a crash.
func (s *Spool) WriteHint(name string, data []byte) error {
	if err := plainName(name); err != nil {
		return err
	}
	tmp := s.path(durable.Temporary(name))
	if err := os.WriteFile(tmp, data, modeHint); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(s.dir, name))
}

// KeepSigners writes a text of allowed signers into DirSigners, durably, and gives its name there: its sha256. One that
// is there is written again: whoever wrote it may have died before it was durable.
func (s *Spool) KeepSigners(text []byte) (name string, err error) {
	sum := sha256.Sum256(text)
	name = hex.EncodeToString(sum[:])
	return name, s.disk.WriteFile("signers", s.path(DirSigners), name, text, modeGroupFile, true)
}

// IsTemporary reports whether a name may be that of a file or folder of the node
// that is still being written.
func IsTemporary(name string) bool { return durable.IsTemporary(name) }
