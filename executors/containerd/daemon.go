package containerd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// Private says where a containerd of the node's own lives.
type Private struct {
	// Root holds images and metadata; it persists.
	Root string
	// State holds the socket and what is running; it need not survive a reboot.
	// Its path must be short: UNIX socket names end at 107 bytes.
	State string
	// Binary is containerd's program; empty means "containerd" in PATH.
	Binary string
}

const (
	socketName = "containerd.sock"
	pidName    = "containerd.pid"
	lockName   = "lock"
	configName = "config.toml"
	logName    = "containerd.log"

	// maxSocketPath is what fits a sockaddr_un, for the longest of our sockets.
	maxSocketPath = 107 - len(".ttrpc")
	maxLogBytes   = 8 << 20
	stopTime      = 10 * time.Second
	pingTime      = 5 * time.Second
	restartPause  = 500 * time.Millisecond
	strayTime     = 10 * time.Second
)

// daemon is the private containerd. It is a session of its own, so that a
// signal to the gate, or its death, does not end it.
type daemon struct {
	cfg     Private
	address string
	binary  string

	ctx      context.Context // ends when the daemon is let go of
	cancel   context.CancelFunc
	watching sync.WaitGroup

	strays *time.Timer // looks for stray shims once more

	mu   sync.Mutex // guards proc while watch runs
	proc *process
}

// startDaemon makes sure that the private containerd runs.
func startDaemon(ctx context.Context, cfg Private) (*daemon, error) {
	if !filepath.IsAbs(cfg.Root) || !filepath.IsAbs(cfg.State) {
		return nil, fmt.Errorf("private containerd: root %q and state %q must be absolute paths", cfg.Root, cfg.State)
	}
	d := &daemon{cfg: cfg, address: filepath.Join(cfg.State, socketName)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if len(d.address) > maxSocketPath {
		return nil, fmt.Errorf("private containerd: the socket path %s is longer than %d bytes; choose a shorter "+
			"state folder, below /run for instance", d.address, maxSocketPath)
	}
	name := cfg.Binary
	if name == "" {
		name = "containerd"
	}
	binary, err := executors.FindProgram(name)
	if err != nil {
		return nil, fmt.Errorf("private containerd: %w; install containerd or configure its path", err)
	}
	d.binary = binary
	for _, dir := range []string{cfg.Root, cfg.State} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return nil, fmt.Errorf("private containerd: %w", err)
		}
	}
	d.strays = time.AfterFunc(strayTime, d.killStrayShims)
	if err := d.ensure(ctx); err != nil {
		d.strays.Stop()
		return nil, err
	}
	d.killStrayShims()
	d.watching.Add(1)
	go d.watch()
	return d, nil
}

// ensure finds the daemon alive or starts it. Two gates that do so at once are
// kept apart by a lock, and then use the same one.
func (d *daemon) ensure(ctx context.Context) error {
	lock, err := os.OpenFile(filepath.Join(d.cfg.State, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("private containerd: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("private containerd: lock its state: %w", err)
	}
	// What was being made when a client or the daemon died may come up yet.
	defer d.strays.Reset(strayTime)
	for {
		proc, ok := d.find()
		if !ok {
			if proc, ok = d.strayDaemon(); !ok {
				return d.start(ctx)
			}
			if err := d.note(proc); err != nil {
				proc.close()
				return fmt.Errorf("private containerd: %w", err)
			}
		}
		pctx, cancel := context.WithTimeout(ctx, pingTime)
		err := d.ping(pctx)
		cancel()
		if err == nil {
			d.adopt(proc)
			return nil
		}
		if ctx.Err() != nil {
			proc.close()
			return fmt.Errorf("private containerd: %w", ctx.Err())
		}
		// Alive but dumb: its containers do not depend on it.
		_ = proc.signal(unix.SIGKILL)
		err = proc.wait(stopTime)
		proc.close()
		if err != nil {
			return fmt.Errorf("private containerd: process %d does not answer and can't be ended: %w", proc.pid, err)
		}
	}
}

// note writes down which process the daemon is.
func (d *daemon) note(p *process) error {
	birth, err := birthOf(p.pid)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.cfg.State, pidName), fmt.Appendf(nil, "%d %s\n", p.pid, birth), 0o600)
}

// find returns a handle of the daemon that the pid file names, if it still runs.
func (d *daemon) find() (*process, bool) {
	data, err := os.ReadFile(filepath.Join(d.cfg.State, pidName))
	if err != nil {
		return nil, false
	}
	pidText, birth, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	pid, err := strconv.Atoi(pidText)
	if err != nil || pid <= 1 {
		return nil, false
	}
	p, err := openProcess(pid)
	if err != nil {
		return nil, false
	}
	// The handle is held: what the pid means can't change any more.
	if now, err := birthOf(pid); err != nil || now != birth || p.ended() {
		p.close()
		return nil, false
	}
	return p, true
}

func (d *daemon) adopt(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc != nil {
		d.proc.close()
	}
	d.proc = p
}

// ping succeeds once the daemon answers.
func (d *daemon) ping(ctx context.Context) error {
	cl, _, err := dial(ctx, d.address, DefaultNamespace, true)
	if err != nil {
		return err
	}
	return cl.Close()
}

func (d *daemon) start(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(d.cfg.State, configName), []byte(d.config()), 0o600); err != nil {
		return fmt.Errorf("private containerd: %w", err)
	}
	_ = os.Remove(d.address)
	log, err := openLog(filepath.Join(d.cfg.Root, logName))
	if err != nil {
		return fmt.Errorf("private containerd: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(d.binary, "--config", filepath.Join(d.cfg.State, configName))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("private containerd: %w", err)
	}
	proc, err := openProcess(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("private containerd: %w", err)
	}
	_ = cmd.Process.Release() // the handle above is what is kept
	if err = d.note(proc); err == nil {
		pctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		err = d.ping(pctx)
	}
	if err != nil {
		_ = proc.signal(unix.SIGKILL)
		_ = proc.wait(stopTime)
		proc.close()
		return fmt.Errorf("private containerd did not come up, see %s: %w", log.Name(), err)
	}
	d.adopt(proc)
	return nil
}

// openLog appends to the daemon's log, and begins anew when it has grown large.
func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if st, err := os.Stat(path); err == nil && st.Size() > maxLogBytes {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}

// watch starts the daemon again when it ends although nobody asked for that.
// Running containers are not touched by it: they belong to their shims.
func (d *daemon) watch() {
	defer d.watching.Done()
	for {
		d.mu.Lock()
		proc := d.proc
		d.mu.Unlock()
		// The order matters: whoever cancels does so before interrupting the wait.
		if d.ctx.Err() != nil || proc.wait(0) != nil {
			return
		}
		for d.ensure(d.ctx) != nil {
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(restartPause):
			}
		}
	}
}

// unwatch ends watch, and is not called twice.
func (d *daemon) unwatch() {
	d.cancel()
	d.strays.Stop()
	d.mu.Lock()
	d.proc.interrupt()
	d.mu.Unlock()
	d.watching.Wait()
}

// release lets go of the daemon, which goes on running.
func (d *daemon) release() {
	d.unwatch()
	d.proc.close()
}

// stop ends the daemon.
func (d *daemon) stop(ctx context.Context) error {
	d.killStrayShims()
	d.unwatch()
	defer d.proc.close()
	limit := stopTime
	if t, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(t))
	}
	if err := d.proc.signal(unix.SIGTERM); err != nil {
		return fmt.Errorf("stop private containerd: %w", err)
	}
	if d.proc.wait(limit) != nil {
		_ = d.proc.signal(unix.SIGKILL)
		if err := d.proc.wait(stopTime); err != nil {
			return fmt.Errorf("stop private containerd: %w", err)
		}
	}
	_ = os.Remove(filepath.Join(d.cfg.State, pidName))
	d.killStrayShims()
	return nil
}
