package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// systemd shares the host's mounts. What is mounted for sandboxes is shared with none of them.
func TestRunFolderIsPrivate(t *testing.T) {
	shared := t.TempDir()
	must(t, "chmod", os.Chmod(filepath.Dir(shared), 0o711))
	must(t, "bind", unix.Mount(shared, shared, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, "unmount", unix.Unmount(shared, unix.MNT_DETACH)) })
	must(t, "share", unix.Mount("", shared, "", unix.MS_SHARED, ""))
	dir := filepath.Join(shared, "run")
	for range 2 { // the second time it is there already
		must(t, "prepare", prepareRunDir(dir))
	}
	root := filepath.Join(dir, rootsDir)
	must(t, "mount", unix.Mount("threegate", root, "tmpfs", 0, ""))
	found, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	must(t, "mounts", err)
	if len(found) != 2 {
		t.Errorf("%d mounts, want 2", len(found))
	}
	for _, m := range found {
		if m.Optional != "" {
			t.Errorf("%s is shared with others: %s", m.Mountpoint, m.Optional)
		}
	}
}
