package containerd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"
)

// A process that dies at the wrong instant leaves others that nobody knows of:
// the gate a daemon whose pid it has not written down, which holds the lock of
// the metadata so that no other comes up; the daemon a shim that it has not
// written down, which waits for ever.

// strayDaemon returns a handle of a daemon of this state that no pid file names.
func (d *daemon) strayDaemon() (*process, bool) {
	found := ours(func(args []byte) bool { return isDaemonOf(d.cfg, args) })
	if len(found) == 0 {
		return nil, false
	}
	for _, p := range found[1:] { // it is found again
		p.close()
	}
	return found[0], true
}

// killStrayShims ends the shims of this daemon that serve no task: their bundle
// is gone, or the daemon has no container of that name. A container is there
// before its shim is started and until its task has been deleted.
func (d *daemon) killStrayShims() {
	shims := ours(func(args []byte) bool { return hasArgs(args, "-address", d.address) })
	known := map[string][]string{} // by namespace: the ids of containers
	for _, p := range shims {
		if d.isStray(p, known) {
			_ = p.signal(unix.SIGKILL)
		}
		p.close()
	}
}

func (d *daemon) isStray(p *process, known map[string][]string) bool {
	// A shim works in its bundle.
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid)); err != nil || strings.HasSuffix(dir, " (deleted)") {
		return err == nil
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	id, namespace := argOf(args, "-id"), argOf(args, "-namespace")
	if err != nil || id == "" || namespace == "" {
		return false
	}
	ids, ok := known[namespace]
	if !ok {
		if ids, err = d.containers(namespace); err != nil {
			return false // it is not up; the next look tells
		}
		known[namespace] = ids
	}
	return !slices.Contains(ids, id)
}

// containers are the ids that the daemon has in a namespace.
func (d *daemon) containers(namespace string) ([]string, error) {
	ctx, cancel := context.WithTimeout(d.ctx, pingTime)
	defer cancel()
	cl, _, err := dial(ctx, d.address, namespace, false)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	list, err := cl.ContainerService().List(namespaces.WithNamespace(ctx, namespace))
	ids := []string{}
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids, err
}

// argOf is the value of an option of a command line.
func argOf(args []byte, option string) string {
	_, rest, _ := strings.Cut(string(args), "\x00"+option+"\x00")
	value, _, _ := strings.Cut(rest, "\x00")
	return value
}

func isDaemonOf(p Private, args []byte) bool {
	return hasArgs(args, "--config", filepath.Join(p.State, configName))
}

// hasArgs says whether a command line has an option with a value.
func hasArgs(args []byte, option, value string) bool {
	return bytes.Contains(args, []byte("\x00"+option+"\x00"+value+"\x00"))
}

// ours returns handles of the processes of this user whose arguments, each ended
// by a zero byte, are as wanted.
func ours(wanted func(args []byte) bool) []*process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []*process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !isOurs(pid, wanted) {
			continue
		}
		p, err := openProcess(pid)
		if err != nil {
			continue
		}
		// The handle is held: what the pid means can't change any more.
		if !isOurs(pid, wanted) {
			p.close()
			continue
		}
		found = append(found, p)
	}
	return found
}

func isOurs(pid int, wanted func([]byte) bool) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	st, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if owner, ok := st.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	return err == nil && wanted(args)
}
