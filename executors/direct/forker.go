package direct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// forker is threegate-init as a helper: it starts process 1 of sandboxes, as children
// of this process. A fork of this process itself would copy its page tables, and have
// it fault for each page that it writes to afterwards.
type forker struct {
	pid     int
	program identity
	socket  *os.File
	ended   chan struct{}
}

// startForker starts the program of init. It ends when the socket is closed, and so
// whenever this process ends.
func startForker(program string) (*forker, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	f := &forker{socket: os.NewFile(uintptr(pair[0]), "forker"), ended: make(chan struct{})}
	theirs := os.NewFile(uintptr(pair[1]), "forker")
	defer theirs.Close()
	cmd := exec.Command(program, job.ForkerMode)
	cmd.Env, cmd.Dir = []string{"GOTRACEBACK=none"}, "/"
	cmd.ExtraFiles = []*os.File{theirs} // job.ForkerFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the forker: %w", err), f.socket.Close())
	}
	f.pid = cmd.Process.Pid
	go func() {
		defer close(f.ended)
		_ = cmd.Wait() // how it ended does not matter: another one is started
	}()
	return f, nil
}

func (f *forker) alive() bool {
	select {
	case <-f.ended:
		return false
	default:
		return true
	}
}

// close has it end.
func (f *forker) close() error {
	err := f.socket.Close()
	<-f.ended
	return err
}

// send asks for a process; the descriptors are in the order of package job.
func (f *forker) send(b job.Birth, files ...*os.File) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if len(data) > job.MaxBirthBytes {
		return fmt.Errorf("%d bytes for the forker", len(data))
	}
	var fds []int
	for _, x := range files {
		fds = append(fds, int(x.Fd()))
	}
	return os.NewSyscallError("sendmsg", unix.Sendmsg(int(f.socket.Fd()), data, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL))
}

// fork has init started in namespaces of its own and gives its pid, which is that of
// a child of this process.
func (m *Maker) fork(ctx context.Context, p sandbox.Policy, spec *specs.Spec, tell, answers *os.File) (int, error) {
	filter, err := m.filterOf(spec.Linux.Seccomp)
	if err != nil {
		return 0, err
	}
	reply, replies, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	if err := deadline(ctx, reply); err != nil {
		return 0, errors.Join(err, replies.Close(), reply.Close())
	}
	b := job.Birth{
		Group: p.CgroupsPath, UIDs: ids(spec.Linux.UIDMappings), GIDs: ids(spec.Linux.GIDMappings), Env: spec.Process.Env,
		Hostname: spec.Hostname, Filter: filter,
	}
	for _, r := range spec.Process.Rlimits {
		b.Limits = append(b.Limits, job.Limit{Name: r.Type, Soft: r.Soft, Hard: r.Hard})
	}
	err = m.ask(p, b, replies, tell, answers)
	if err = errors.Join(err, replies.Close()); err != nil {
		return 0, errors.Join(err, reply.Close())
	}
	pid, err := newborn(reply)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		go endLate(reply)
		return 0, err
	}
	_ = reply.Close() // nothing was written
	return pid, err
}

// newborn reads the answer of the forker. On an error no child is left of which that tells.
func newborn(reply *os.File) (int, error) {
	// One packet; others of the forker's threads may hold the end of the pipe for a while.
	data := make([]byte, job.MaxBornBytes)
	var born job.Born
	n, err := reply.Read(data)
	if err == nil {
		err = json.Unmarshal(data[:n], &born)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("the forker does not answer: %w", err)
	case born.Error != "" || born.Pid <= 1:
		if born.Pid > 1 {
			end(born.Pid)
		}
		return 0, fmt.Errorf("start init: %s", born.Error)
	}
	return born.Pid, nil
}

// endLate ends the child that may be born when nobody waits for it any more. It takes as
// long as the forker does, or lives.
func endLate(reply *os.File) {
	defer reply.Close()
	if err := reply.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	if pid, err := newborn(reply); err == nil {
		end(pid)
	}
}

// ask sends a Birth with the mould of the policy's image.
func (m *Maker) ask(p sandbox.Policy, b job.Birth, replies, tell, answers *os.File) error {
	m.mu.Lock() // a mould in use is not dropped
	defer m.mu.Unlock()
	init, err := identify(p.Init)
	if err != nil {
		return err
	}
	mould, err := m.mould(p, init)
	if err != nil {
		return err
	}
	unified, err := cgroup.OpenUnified(cgroup.Root, p.CgroupsPath)
	if err != nil {
		return err
	}
	files := []*os.File{job.BirthReply: replies, job.BirthMounts: mould, job.BirthOrders: tell, job.BirthReady: answers}
	if unified != nil {
		defer unified.Close()
		b.Unified, files = true, append(files, unified)
	}
	if m.forker != nil && (!m.forker.alive() || m.forker.program != init) {
		_ = m.forker.close() // nothing was written
		m.forker = nil
	}
	if m.forker == nil {
		if m.forker, err = startForker(p.Init); err != nil {
			return err
		}
		m.forker.program = init
	}
	return m.forker.send(b, files...)
}

// forkerPid is 0 if there is none.
func (m *Maker) forkerPid() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forker == nil {
		return 0
	}
	return m.forker.pid
}

func ids(ms []specs.LinuxIDMapping) []job.IDs {
	var out []job.IDs
	for _, x := range ms {
		out = append(out, job.IDs{Inside: int(x.ContainerID), Host: int(x.HostID), Size: int(x.Size)})
	}
	return out
}
