package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// ErrNoUserNamespace: this host gives sandboxes no user namespace.
var ErrNoUserNamespace = errors.New("this host gives sandboxes no user namespace")

const (
	trialTime     = 10 * time.Second
	maxTrialWords = 512
)

// TryUserNamespace finds out by doing it whether sandboxes can have a user
// namespace: it starts program (threegate-init, which then mounts a /proc and
// becomes the payload's user) in all the namespaces of a sandbox, its ids mapped as
// those of a sandbox are. That a kernel has the feature says little: limits,
// security modules and an outer container can all refuse it.
func TryUserNamespace(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	// Through a descriptor: the mapped user need not have a way to the program.
	f, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoUserNamespace, err)
	}
	defer f.Close()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), job.TrialMode)
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, "/", &output
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: trialMappings(job.PayloadUID), GidMappings: trialMappings(job.PayloadGID),
		GidMappingsEnableSetgroups: true,
		Credential:                 &syscall.Credential{},
	}
	if err := cmd.Run(); err != nil {
		words := cmp.Or(strings.TrimSpace(strings.ToValidUTF8(output.String(), "?")), err.Error())
		return fmt.Errorf("%w: %s%s", ErrNoUserNamespace, words[:min(len(words), maxTrialWords)], namespaceLimit())
	}
	return nil
}

// trialMappings are idMappings of ids that no run gets: a device number is never 0.
func trialMappings(payload uint32) []syscall.SysProcIDMap {
	var out []syscall.SysProcIDMap
	for _, m := range idMappings(FirstHostID, payload) {
		out = append(out, syscall.SysProcIDMap{ContainerID: int(m.ContainerID), HostID: int(m.HostID),
			Size: int(m.Size)})
	}
	return out
}

// namespaceLimit names the setting that is the reason more often than not.
func namespaceLimit() string {
	const file = "/proc/sys/user/max_user_namespaces"
	most, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return " (the kernel was built without)"
	case err == nil && strings.TrimSpace(string(most)) == "0":
		return " (" + file + " is 0: sysctl -w user.max_user_namespaces=65536)"
	}
	return ""
}
