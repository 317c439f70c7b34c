// Package filter asks content filters of the operator's what a result may not hold, as mail
// servers ask theirs. docs/extending.md describes the protocol.
package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/confine"
)

// Filter is a program that judges text, behind a socket or started for each question.
type Filter struct {
	Name string
	// Socket is the path of a Unix socket; Command is a program by its absolute path, and its
	// arguments. One of the two is set.
	Socket  string
	Command []string
	// Timeout bounds one question.
	Timeout time.Duration
}

// Ask asks about a text and returns what the filter finds there. Any answer that does not
// keep to the protocol is an error, as is none within the timeout.
func (f Filter) Ask(ctx context.Context, q Question) ([]Finding, error) {
	found, err := f.ask(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("filter %s: %w", f.Name, err)
	}
	return found, nil
}

func (f Filter) ask(ctx context.Context, q Question) ([]Finding, error) {
	line, sum, err := q.encode()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	exchange := f.overSocket
	if len(f.Command) > 0 {
		exchange = f.byCommand
	}
	answer, err := exchange(within, line)
	switch {
	case within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("no answer within %s", f.Timeout)
	case err != nil:
		return nil, err
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	}
	return parseAnswer(answer, sum, len(q.Text))
}

// overSocket sends a question over a connection of its own and reads up to its end.
func (f Filter) overSocket(ctx context.Context, line []byte) ([]byte, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", f.Socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := c.Write(line); err != nil {
		return nil, err
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(c, maxAnswer+1))
}

// A command runs as a user that nobody else is, so that no other process of this host can reach it, or be counted or
// reached as one of its own: sandboxes have lower ids, see executors/sandbox.
const (
	firstUser = 2_010_000_000
	users     = 1 << 16
)

// asked counts questions, from anywhere: another process of this program asks, too.
var asked atomic.Uint32

func init() { asked.Store(rand.Uint32()) }

// unprivileged is a command that starts another one as that user, who can gain no rights, and with bounds. The shell
// waits for a line before it does. It stays as the first process, so that the signal that the node's death sends it
// (setpriv keeps that) ends all, also what took the signal from itself.
func unprivileged(user uint32) []string {
	return []string{"/usr/bin/setpriv", fmt.Sprintf("--reuid=%d", user), fmt.Sprintf("--regid=%d", user),
		"--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--pdeathsig=keep", "--",
		"/usr/bin/prlimit", "--fsize=0", "--core=0", "--nofile=256", "--nproc=64", "--as=4294967296", "--",
		"/bin/sh", "-c", `read -r _ && "$@"; exit $?`, "sh"}
}

// byCommand starts the filter's program, gives it the question and reads its answer. It has no file to write to and
// no socket. Namespaces of its own leave it no network, and end all that it started with it.
func (f Filter) byCommand(ctx context.Context, line []byte) ([]byte, error) {
	args := append(unprivileged(firstUser+asked.Add(1)%users), f.Command...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = []string{"LC_ALL=C.UTF-8"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	cmd.WaitDelay = time.Second
	out, errs := &bounded{most: maxAnswer + 1}, &bounded{most: maxStderr}
	cmd.Stdout, cmd.Stderr = out, errs
	in, err := cmd.StdinPipe()
	if err == nil {
		err = confine.Readers(func() error {
			if err := cmd.Start(); err != nil {
				return err
			}
			go feed(cmd.Process.Pid, in, line) // on a thread that may write
			return cmd.Wait()
		})
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w (only root can confine a filter)", err)
	case errors.Is(err, confine.ErrNoLandlock):
		return nil, executors.WithHint(err, "start the kernel with landlock in its list of security modules "+
			"(lsm=landlock,...), or let the filter listen on a socket")
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", f.Command[0], err, says(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// feed lets a command begin, and gives it the question. When memory is short it is the first to go, not the last as
// its parent is; a kernel that refuses that keeps nothing from being judged.
func feed(pid int, in io.WriteCloser, line []byte) {
	defer in.Close()
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
	_, _ = in.Write(append([]byte("\n"), line...)) // it need not read all
}

// maxStderr is how many bytes of what a command says about its failure are shown.
const maxStderr = 300

// says is the first line of a command's errors, for people.
func says(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(stderr)), "\n")
	if line == "" {
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, line)
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}
