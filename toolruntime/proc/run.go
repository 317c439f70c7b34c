package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxOutput bounds what is kept of each stream, in bytes.
	MaxOutput = 5 << 20
	// drain is how long streams are read on that a process outside of the group holds open.
	drain = 5 * time.Second
)

// Command is a program to run, with the words and variables that it gets.
type Command struct {
	Argv  []string
	Dir   string
	Env   []string
	Stdin *string
	// MaxOutput is kept of each stream, in bytes, if it is not 0: else the constant of that name.
	MaxOutput int64
}

// Output is what came of a command. The streams are bytes as they came.
type Output struct {
	Code           int
	Stdout, Stderr string
	Truncated      bool
	// Ran says that it was started.
	Ran bool
}

// Installed says whether there is such a program to run.
func Installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// prepare finds the program of a command. It will have a process group of its own, which the end of ctx kills.
func (c Command) prepare(ctx context.Context) (*exec.Cmd, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, notFound(c.Argv[0], err)
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Env, cmd.WaitDelay = c.Argv, c.Dir, c.Env, drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	return cmd, nil
}

// Run runs a command in a process group of its own, and kills all of the group when the
// command has ended or ctx is over. An error means that it did not start, or ctx's end.
func Run(ctx context.Context, c Command) (Output, error) {
	cmd, err := c.prepare(ctx)
	if err != nil {
		return Output{}, err
	}
	most := int(cmp.Or(c.MaxOutput, MaxOutput))
	stdout, stderr := &beginning{most: most}, &beginning{most: most}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.Stdin != nil {
		cmd.Stdin = strings.NewReader(*c.Stdin)
	}
	if err := cmd.Start(); err != nil {
		return Output{}, notFound(c.Argv[0], err)
	}
	// The process stays a zombie until Wait, so the group's number can't be another's here.
	err = waitEnd(cmd.Process.Pid)
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	cmd.Wait() // its error is an exit code, ctx's end, or a stream that somebody holds open
	return Output{Ran: true, Code: exitCode(cmd), Stdout: stdout.kept.String(), Stderr: stderr.kept.String(),
		Truncated: stdout.truncated || stderr.truncated}, errors.Join(err, ctx.Err())
}

// Running is a command that was started, whose stdin and stdout the caller has. The end of its context kills its
// process group.
type Running struct {
	In     io.WriteCloser
	Out    io.Reader
	cmd    *exec.Cmd
	stderr beginning
}

// Start starts a command. The caller has to call Wait.
func Start(ctx context.Context, c Command) (*Running, error) {
	cmd, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	p := &Running{cmd: cmd, stderr: beginning{most: MaxOutput}}
	cmd.Stderr = &p.stderr
	var inErr, outErr error
	p.In, inErr = cmd.StdinPipe()
	p.Out, outErr = cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, notFound(c.Argv[0], err)
	}
	return p, nil
}

// Kill kills the process group.
func (p *Running) Kill() {
	if p.cmd.ProcessState == nil { // else the group's number may be another's
		unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	}
}

// Wait reads away what is left of stdout, and returns what came of the command, without its Stdout. It can be called
// again.
func (p *Running) Wait() Output {
	p.In.Close()
	io.Copy(io.Discard, p.Out) // an error is its end
	p.cmd.Wait()               // its error is an exit code, the context's end, or a stream that somebody holds open
	return Output{Ran: true, Code: exitCode(p.cmd), Stderr: p.stderr.kept.String()}
}

// exitCode is that of a shell: 128 and the signal's number, where one ended the process.
func exitCode(ended *exec.Cmd) int {
	if status, ok := ended.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ProcessState.ExitCode()
}

// waitEnd waits until a child has ended, and leaves it to be reaped.
func waitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, &unix.Siginfo{}, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	kept      bytes.Buffer
	most      int
	truncated bool
}

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), b.most-b.kept.Len())
	b.kept.Write(p[:n])
	b.truncated = b.truncated || n < len(p)
	return len(p), nil
}
