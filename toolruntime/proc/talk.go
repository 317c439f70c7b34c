package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Talk runs a command whose stdin and stdout talk has, until it returns. After an error of talk's, and when ctx is
// over, the command's process group is killed. The output has no Stdout. An error is talk's, ctx's end, or means that
// the command did not start.
func Talk(ctx context.Context, c Command, talk func(in io.Writer, out io.Reader) error) (Output, error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return Output{}, notFound(c.Argv[0], err)
	}
	running, kill := context.WithCancel(ctx)
	defer kill()
	stderr := &beginning{}
	cmd := exec.CommandContext(running, path, c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Env, stderr, drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return Output{}, err
	}
	if err := cmd.Start(); err != nil {
		return Output{}, notFound(c.Argv[0], err)
	}
	err = talk(in, out)
	in.Close()
	if err != nil {
		kill()
	}
	io.Copy(io.Discard, out) // an error is its end
	waitErr := cmd.Wait()
	if err == nil && ctx.Err() == nil {
		err = ignoreExit(waitErr)
	}
	ended := Output{Ran: true, Code: exitCode(cmd.ProcessState), Stderr: stderr.kept.String()}
	return ended, errors.Join(err, ctx.Err())
}

// beginning keeps the first MaxOutput bytes that are written to it.
type beginning struct{ kept bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), MaxOutput-b.kept.Len())])
	return len(p), nil
}
