package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files below a new folder, with the content that a kernel would give them.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// want compares checks with lines "state|part of the detail|part of the mend".
func want(t *testing.T, what string, cs *checks, lines ...string) {
	t.Helper()
	if len(cs.list) != len(lines) {
		t.Errorf("%s: %+v, want %d", what, cs.list, len(lines))
		return
	}
	for i, line := range lines {
		c, part := cs.list[i], strings.Split(line, "|")
		if c.State != part[0] || !strings.Contains(c.Detail, part[1]) || !strings.Contains(c.Hint, part[2]) ||
			(c.State != checkOK && c.Hint == "") {
			t.Errorf("%s: %+v, want %s", what, c, line)
		}
	}
}

func TestControllersCheck(t *testing.T) {
	const all = "cpuset cpu io memory pids"
	const service = "system.slice/threegate-sandboxes.service"
	for name, c := range map[string]struct {
		files  map[string]string
		parent string
		want   []string
	}{
		"delegated": {map[string]string{"cgroup.controllers": all, service + "/cgroup.controllers": all,
			service + "/cgroup.kill": ""}, "/" + service + "/sandboxes",
			[]string{"ok|cpu, memory and pids are delegated to the cgroup /" + service + "|"}},
		"at the root": {map[string]string{"cgroup.controllers": all}, "/threegate", []string{"ok|cgroup /|"}},
		"a service without Delegate": {map[string]string{"cgroup.controllers": all,
			service + "/cgroup.controllers": "memory pids", service + "/cgroup.kill": ""}, "/" + service + "/sandboxes",
			[]string{"fails|cpu is not delegated to the cgroup /" + service +
				`|printf '[Service]\nDelegate=yes\n' >/etc/systemd/system/threegate-sandboxes.service.d/delegate.conf`}},
		"two of another group": {map[string]string{"cgroup.controllers": all, "a/cgroup.controllers": "cpu pids",
			"a/b/cgroup.controllers": "cpu", "a/b/cgroup.kill": ""}, "/a/b/sandboxes",
			[]string{"fails|memory is not|echo +memory >ROOT/cgroup.subtree_control",
				"fails|pids is not|echo +pids >ROOT/a/cgroup.subtree_control"}},
		"not of this kernel": {map[string]string{"cgroup.controllers": "cpu pids"}, "/threegate",
			[]string{"fails|memory is not delegated to the cgroup /|take cgroup_disable=memory off"}},
		"no service": {map[string]string{"cgroup.controllers": all}, "/" + service + "/sandboxes",
			[]string{"fails|there is no cgroup /" + service + "|systemctl start threegate-sandboxes"}},
		"an old kernel": {map[string]string{"cgroup.controllers": all, "a/cgroup.controllers": all}, "/a/sandboxes",
			[]string{"ok||", "fails|at once|Linux 5.14"}},
	} {
		root := tree(t, c.files)
		cs := &checks{root: true}
		controllersCheck(cs, root, c.parent)
		for i := range c.want {
			c.want[i] = strings.ReplaceAll(c.want[i], "ROOT", root)
		}
		want(t, name, cs, c.want...)
	}
}

func TestNamespacesCheck(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		without bool
		want    []string
	}{
		"on": {map[string]string{"proc/sys/user/max_user_namespaces": "7000", "proc/sys/user/max_net_namespaces": "10"},
			false, nil},
		"not of this kernel": {nil, false, nil},
		"off": {map[string]string{"proc/sys/user/max_user_namespaces": "0", "proc/sys/user/max_net_namespaces": "0"}, false,
			[]string{"fails|user.max_net_namespaces is 0|sysctl -w user.max_net_namespaces=",
				"fails|user.max_user_namespaces is 0|sysctl -w user.max_user_namespaces="}},
		"off, and done without": {map[string]string{"proc/sys/user/max_user_namespaces": "0"}, true, nil},
		// These two bind other users than root.
		"Debian's and Ubuntu's knobs": {map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0",
			"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, false, nil},
	} {
		cs := &checks{root: true}
		namespacesCheck(cs, tree(t, c.files), c.without)
		want(t, name, cs, c.want...)
	}
}

func TestModulesCheck(t *testing.T) {
	const enabled, profiles = "sys/module/apparmor/parameters/enabled", "sys/kernel/security/apparmor/profiles"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none": {nil, nil},
		"off":  {map[string]string{enabled: "N", profiles: "/usr/sbin/runc (enforce)"}, nil},
		"Debian": {map[string]string{enabled: "Y", profiles: "/usr/bin/man (enforce)\nman_filter (enforce)",
			"proc/sys/kernel/unprivileged_userns_clone": "0", "proc/sys/kernel/yama/ptrace_scope": "3"},
			[]string{"ok|AppArmor confines no program that makes sandboxes; kernel.yama.ptrace_scope=3 does not matter to " +
				"root; kernel.unprivileged_userns_clone=0 does not|"}},
		"Ubuntu": {map[string]string{enabled: "Y", profiles: "runc (unconfined)\ncrun (unconfined)",
			"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
			[]string{"ok|kernel.apparmor_restrict_unprivileged_userns=1 does not|"}},
		"runc is confined": {map[string]string{enabled: "Y", profiles: "lsb_release (enforce)\n/usr/sbin/runc (enforce)"},
			[]string{"warning|AppArmor confines /usr/sbin/runc|aa-complain /usr/sbin/runc"}},
		"only looked at": {map[string]string{enabled: "Y", profiles: "/usr/sbin/runc (complain)"},
			[]string{"ok|AppArmor confines no program|"}},
		"Yama alone": {map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1"}, []string{"ok|ptrace_scope=1|"}},
	} {
		cs := &checks{root: true}
		modulesCheck(cs, tree(t, c.files), "runc")
		want(t, name, cs, c.want...)
	}
}

func TestRoomCheck(t *testing.T) {
	for name, c := range map[string]struct {
		room room
		want string
	}{
		"enough": {room{"/run", true, 200 << 20, 5000}, "ok|200 MiB are free in /run|"},
		"a small /run": {room{"/run", true, 1 << 20, 5000},
			"fails|1 MiB are free in /run|size=256M /run, and for good RUNSIZE="},
		"few files":   {room{"/run/x", true, 200 << 20, 3}, "fails|3 more files fit into /run/x|nr_inodes=100k /run/x"},
		"a full disk": {room{"/", false, 0, 5000}, "fails|0 MiB are free in /|make room on the disk of /"},
	} {
		cs := &checks{root: true}
		c.room.check(cs, name)
		want(t, name, cs, c.want)
	}
	dir := t.TempDir()
	there, err := roomOf(dir)
	later, lerr := roomOf(filepath.Join(dir, "a/b/c"))
	if err != nil || lerr != nil || there.mount != later.mount || !strings.HasPrefix(dir, there.mount) {
		t.Errorf("%+v, %v; %+v, %v", there, err, later, lerr)
	}
}

func TestRuntimeRefused(t *testing.T) {
	pure, hybrid := t.TempDir(), t.TempDir()
	file := filepath.Join(hybrid, "unified", "cgroup.procs")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, path, version string
		refused             bool
	}{
		{hybrid, "/usr/bin/crun", ", crun version 1.21", true},
		{hybrid, "/usr/bin/crun", "", true}, // it does not say
		{hybrid, "/usr/local/bin/fast", ", crun version 1.8", true},
		{hybrid, "/opt/crunch/bin/runc", ", runc version 1.1.5+ds1", false},
		{hybrid, "/usr/bin/runsc", ", runsc version 2024", false},
		{pure, "/usr/bin/crun", ", crun version 1.21", false},
	} {
		if err := runtimeRefused(c.root, c.path, c.version); (err != nil) != c.refused {
			t.Errorf("%s%s: %v", c.path, c.version, err)
		}
	}
}
