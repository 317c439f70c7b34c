package containerd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/anypb"
)

// TestStrayDaemon: a gate died between starting its daemon and writing its pid
// down, or while writing. The next one takes that daemon, or, if it is out of
// reach, ends it: it holds the lock of the metadata.
func TestStrayDaemon(t *testing.T) {
	for _, tt := range []struct {
		name  string
		taken bool
		lose  func(t *testing.T, p Private)
	}{
		{"no pid file", true, func(t *testing.T, p Private) { must(t, os.Remove(filepath.Join(p.State, pidName))) }},
		{"half a pid file", true, func(t *testing.T, p Private) {
			must(t,
				os.Truncate(filepath.Join(p.State, pidName), 2))
		}},
		{"no socket either", false, func(t *testing.T, p Private) {
			must(t, os.Remove(filepath.Join(p.State, pidName)))
			must(t, os.Remove(filepath.Join(p.State, socketName)))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := private(t)
			a := mustOpen(t, cfg)
			pid := a.private.proc.pid
			must(t, a.Close())
			tt.lose(t, cfg.Private)
			b := mustOpen(t, cfg)
			defer b.Close()
			if got := b.private.proc.pid; (got == pid) != tt.taken {
				t.Errorf("the daemon was %d and is %d", pid, got)
			}
			if left := len(ours(func(args []byte) bool { return isDaemonOf(cfg.Private, args) })); left != 1 {
				t.Errorf("%d daemons run", left)
			}
		})
	}
}

// TestStrayShims: a shim whose bundle is gone is ended, and one whose container
// the daemon does not know; another one is not.
func TestStrayShims(t *testing.T) {
	cfg := private(t)
	a := mustOpen(t, cfg)
	shim := func(id string) (bundle string, shims func() int) {
		bundle = filepath.Join(t.TempDir(), id)
		must(t, os.Mkdir(bundle, 0o700))
		must(t, os.WriteFile(filepath.Join(bundle, "config.json"), []byte("{}"), 0o600))
		must(t, unix.Mkfifo(filepath.Join(bundle, "log"), 0o600))
		log, err := os.OpenFile(filepath.Join(bundle, "log"), os.O_RDWR, 0)
		must(t, err)
		t.Cleanup(func() { log.Close() })
		cmd := exec.Command("containerd-shim-runc-v2", "-namespace", DefaultNamespace, "-id", id, "-address",
			a.private.address, "start")
		cmd.Dir = bundle
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ofID := func(args []byte) bool { return hasArgs(args, "-id", id) }
		t.Cleanup(func() {
			for _, p := range ours(ofID) {
				must(t, p.signal(unix.SIGKILL))
				p.close()
			}
		})
		return bundle, func() int {
			found := ours(ofID)
			for _, p := range found {
				p.close()
			}
			return len(found)
		}
	}
	gone, strays := shim(fmt.Sprintf("stray%d", os.Getpid()))
	_, unknown := shim(fmt.Sprintf("unknown%d", os.Getpid()))
	other := fmt.Sprintf("other%d", os.Getpid())
	_, others := shim(other)
	_, err := a.ContainerService().Create(namespaces.WithNamespace(t.Context(), DefaultNamespace),
		containers.Container{ID: other, Runtime: containers.RuntimeInfo{Name: "io.containerd.runc.v2"},
			Spec: &anypb.Any{}})
	must(t, err)
	must(t, os.RemoveAll(gone))
	if strays() != 1 || unknown() != 1 || others() != 1 {
		t.Fatalf("%d, %d and %d shims run", strays(), unknown(), others())
	}
	must(t, a.Close())
	b := mustOpen(t, cfg)
	defer b.Close()
	for end := time.Now().Add(2 * time.Minute); strays()+unknown() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the stray still runs")
		}
	}
	if others() != 1 {
		t.Error("a shim with a bundle and a container was ended")
	}
}
