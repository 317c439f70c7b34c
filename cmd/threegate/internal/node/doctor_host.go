package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/gate/config"
)

// hostChecks look for settings of this host that are in the way of sandboxes. Others are no fault, whatever they
// are: the gate is root, also as a service (CAP_SYS_ADMIN), so knobs that bind other users don't matter.
func hostChecks(cs *checks, l *config.Node, unified bool) {
	if unified {
		controllersCheck(cs, cgroup.Root, l.Containerd.Cgroup)
	}
	namespacesCheck(cs, "/", l.Containerd.UserNamespace == config.UserNamespaceOptional)
	modulesCheck(cs, "/", filepath.Base(cmp.Or(l.Containerd.RuntimeBinary, "runc")))
	state := l.ContainerdState()
	if l.Containerd.Address != "" {
		state = filepath.Dir(l.Containerd.Address)
	}
	for _, f := range []struct{ name, dir string }{{"run folder", l.RunDir()}, {"containerd state", state}} {
		if r, err := roomOf(f.dir); err != nil {
			cs.add(f.name, err, "", "see the message")
		} else {
			r.check(cs, f.name)
		}
	}
}

// controllersCheck says which controllers of cgroup v2 the group that is to hold parent lacks.
func controllersCheck(cs *checks, root, parent string) {
	above := filepath.Dir(parent)
	const name = "cgroup controllers"
	missing, err := cgroup.Missing(root, above)
	if err != nil {
		cs.add(name, err, "", "systemctl start threegate-sandboxes, or leave containerd.cgroup out of threegate.yaml")
		return
	}
	for _, c := range missing {
		cs.add(name, fmt.Errorf("%s is not delegated to the cgroup %s", c, above), "", delegate(root, above, c))
	}
	if len(missing) == 0 {
		cs.add(name, nil, "cpu, memory and pids are delegated to the cgroup "+above, "")
	}
	_, err = os.Stat(filepath.Join(root, above, "cgroup.kill"))
	if above != "/" && errors.Is(err, fs.ErrNotExist) { // the root has none
		cs.add("cgroup.kill", errors.New("this kernel can't end all of a control group at once"), "",
			"boot Linux 5.14 or later")
	}
}

// delegate is the command that hands a controller on to the group at path.
func delegate(root, path, controller string) string {
	has := func(group string) bool {
		missing, err := cgroup.Missing(root, group)
		return err == nil && !slices.Contains(missing, controller)
	}
	if !has("/") {
		return "take cgroup_disable=" + controller + " off the kernel's command line (or add cgroup_enable=" +
			controller + ") in /etc/default/grub, then update-grub and reboot; in a container, let the host hand it on"
	}
	if unit := filepath.Base(path); strings.HasSuffix(unit, ".service") {
		dir := "/etc/systemd/system/" + unit + ".d"
		return fmt.Sprintf(`mkdir -p %s && printf '[Service]\nDelegate=yes\n' >%s/delegate.conf && `+
			`systemctl daemon-reload && systemctl restart %s`, dir, dir, unit)
	}
	above := filepath.Dir(path)
	for ; !has(above); above = filepath.Dir(above) {
	}
	return fmt.Sprintf("echo +%s >%s", controller, filepath.Join(root, above, "cgroup.subtree_control"))
}

// namespaces are those of a sandbox, as the kernel names their limits.
var namespaces = []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}

// namespacesCheck says which namespaces are turned off. That binds root, too.
func namespacesCheck(cs *checks, root string, withoutUser bool) {
	for _, n := range namespaces {
		key := "user.max_" + n + "_namespaces"
		if setting(root, key) != "0" || n == "user" && withoutUser {
			continue
		}
		cs.add("namespaces", fmt.Errorf("%s is 0: sandboxes can't be made", key), "",
			fmt.Sprintf("sysctl -w %s=65536, and remove it from /etc/sysctl.conf and /etc/sysctl.d", key))
	}
}

// setting is the value of a sysctl, or "" if this kernel has none of that name.
func setting(root, key string) string {
	return readWord(filepath.Join(root, "proc/sys", strings.ReplaceAll(key, ".", "/")))
}

func readWord(file string) string {
	text, _ := os.ReadFile(file) // one that is not there is not set
	return strings.TrimSpace(string(text))
}

// modulesCheck says whether a security module confines one of the programs that make sandboxes.
func modulesCheck(cs *checks, root, runtime string) {
	const name = "security modules"
	var on []string
	if readWord(filepath.Join(root, "sys/module/apparmor/parameters/enabled")) == "Y" {
		on = append(on, "AppArmor confines no program that makes sandboxes")
		text, err := os.ReadFile(filepath.Join(root, "sys/kernel/security/apparmor/profiles"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			cs.add(name, err, "", "mount -t securityfs securityfs /sys/kernel/security")
			return
		}
		if profile := confined(string(text), runtime); profile != "" {
			cs.warn(name, "AppArmor confines "+profile+": runs fail if that profile denies namespaces or mounts",
				"aa-complain "+profile+", if threegate posture fails")
			return
		}
	}
	// These bind processes without rights, or those that attach to others: the gate has the rights and does not attach.
	for _, key := range []string{"kernel.yama.ptrace_scope", "kernel.apparmor_restrict_unprivileged_userns",
		"kernel.unprivileged_userns_clone"} {
		if v := setting(root, key); v != "" {
			on = append(on, key+"="+v+" does not matter to root")
		}
	}
	if len(on) > 0 {
		cs.add(name, nil, strings.Join(on, "; "), "")
	}
}

// runtimeRefused says why a runtime that says version of itself can't make sandboxes on a host with this root of
// control groups.
func runtimeRefused(root, path, version string) error {
	crun := filepath.Base(path) == "crun" || strings.HasPrefix(version, ", crun ")
	if _, err := os.Stat(filepath.Join(root, "unified/cgroup.procs")); !crun || err != nil {
		return nil
	}
	return fmt.Errorf("%s%s: crun makes no sandbox on a host that mounts both versions of control groups: "+
		"version 2 is at %s/unified", path, version, root)
}

// confined is the first profile of AppArmor that is enforced on a program that makes sandboxes.
func confined(profiles, runtime string) string {
	makers := []string{"threegate", "threegate-init", "containerd", "containerd-shim-runc-v2", runtime}
	for line := range strings.Lines(profiles) {
		profile, mode, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.Contains(makers, filepath.Base(profile)) && mode != "(unconfined)" && mode != "(complain)" {
			return profile
		}
	}
	return ""
}

// What the run folder and the state of containerd must have free: a sandbox takes some hundred
// KiB in some dozens of files. What it writes lies in file systems of its own.
const (
	minRunBytes = 16 << 20
	minRunFiles = 1024
)

// room is what a file system has left.
type room struct {
	mount        string // where it is mounted
	memory       bool   // it is a tmpfs
	bytes, files uint64
}

// roomOf looks at the file system of dir, or of the folder that will hold it.
func roomOf(dir string) (room, error) {
	var fsys unix.Statfs_t
	err := unix.Statfs(dir, &fsys)
	for ; errors.Is(err, fs.ErrNotExist) && dir != "/"; err = unix.Statfs(dir, &fsys) {
		dir = filepath.Dir(dir)
	}
	if err != nil {
		return room{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	r := room{mount: dir, memory: fsys.Type == unix.TMPFS_MAGIC, bytes: fsys.Bavail * uint64(fsys.Bsize),
		files: fsys.Ffree}
	if fsys.Files == 0 { // one that does not count them
		r.files = minRunFiles
	}
	for device(filepath.Dir(r.mount)) == device(r.mount) && r.mount != "/" {
		r.mount = filepath.Dir(r.mount)
	}
	return r, nil
}

func device(dir string) uint64 {
	var st unix.Stat_t
	_ = unix.Stat(dir, &st) // then none
	return st.Dev
}

// check says whether there is room for what is kept of each sandbox there.
func (r room) check(cs *checks, name string) {
	var err error
	hint := "make room on the disk of " + r.mount
	switch {
	case r.bytes < minRunBytes:
		err = fmt.Errorf("%d MiB are free in %s, %d are needed", r.bytes>>20, r.mount, minRunBytes>>20)
		if r.memory {
			hint = "mount -o remount,size=256M " + r.mount
		}
		if r.memory && r.mount == "/run" {
			hint += ", and for good RUNSIZE=256M in /etc/initramfs-tools/initramfs.conf, then update-initramfs -u"
		}
	case r.files < minRunFiles:
		err = fmt.Errorf("%d more files fit into %s, %d are needed", r.files, r.mount, minRunFiles)
		if r.memory {
			hint = "mount -o remount,nr_inodes=100k " + r.mount
		}
	}
	cs.add(name, err, fmt.Sprintf("%d MiB are free in %s", r.bytes>>20, r.mount), hint)
}
