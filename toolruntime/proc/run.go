package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
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

// Run runs a command in a process group of its own, and kills all of the group when the
// command has ended or ctx is over. An error means that it did not start, or ctx's end.
func Run(ctx context.Context, c Command) (Output, error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return Output{}, notFound(c.Argv[0], err)
	}
	cmd := &exec.Cmd{Path: path, Args: c.Argv, Dir: c.Dir, Env: c.Env, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if c.Stdin != nil {
		f, err := inputFile(*c.Stdin)
		if err != nil {
			return Output{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	var streams [2]capture
	for i, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		streams[i].most = cmp.Or(c.MaxOutput, MaxOutput)
		w, err := streams[i].open()
		if err != nil {
			return Output{}, err
		}
		defer w.Close()
		defer streams[i].from.Close()
		*to = w
	}
	if err := cmd.Start(); err != nil {
		return Output{}, notFound(c.Argv[0], err)
	}
	var readers sync.WaitGroup
	for i, to := range []io.Writer{cmd.Stdout, cmd.Stderr} {
		to.(*os.File).Close()
		readers.Go(streams[i].read)
	}
	group := -cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { unix.Kill(group, unix.SIGKILL) })
	// The process stays a zombie until Wait, so the group's number can't be another's here.
	waitErr := waitEnd(cmd.Process.Pid)
	unix.Kill(group, unix.SIGKILL)
	stop()
	waitErr = errors.Join(waitErr, ignoreExit(cmd.Wait()))
	for i := range streams {
		streams[i].from.SetReadDeadline(time.Now().Add(drain))
	}
	readers.Wait()
	out := Output{Ran: true, Code: exitCode(cmd.ProcessState), Stdout: streams[0].kept.String(),
		Stderr: streams[1].kept.String(), Truncated: streams[0].truncated || streams[1].truncated}
	return out, errors.Join(waitErr, ctx.Err())
}

// exitCode is that of a shell: 128 and the signal's number, where one ended the process.
func exitCode(ended *os.ProcessState) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
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

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// inputFile is a file without a name.
func inputFile(content string) (*os.File, error) {
	f, err := os.CreateTemp("", "stdin-")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(content)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// capture keeps the beginning of a stream, and reads the rest away.
type capture struct {
	from      *os.File
	kept      bytes.Buffer
	most      int64
	truncated bool
}

func (c *capture) open() (w *os.File, err error) {
	c.from, w, err = os.Pipe()
	return w, err
}

func (c *capture) read() {
	// An error is the end: of the stream, or of the time that is left for it.
	io.Copy(&c.kept, io.LimitReader(c.from, c.most))
	n, _ := io.Copy(io.Discard, c.from)
	c.truncated = n > 0
}
