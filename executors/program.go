package executors

import (
	"os/exec"
	"path/filepath"
)

// FindProgram finds a program of the host where root would find it, too: in $PATH, then in the folders of the system's
// own programs. A name with a slash is a path.
func FindProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || filepath.Base(name) != name {
		return path, err
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, serr := exec.LookPath(filepath.Join(dir, name)); serr == nil {
			return path, nil
		}
	}
	return "", err
}
