package monty

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// maxDiagnostics is how much of the interpreter's stderr is kept for messages.
	maxDiagnostics = 4 << 10
	// exitGrace is how long an interpreter may live on that closed its pipes.
	exitGrace = time.Second
	// exitAllocator is the interpreter's exit code if an allocation failed.
	exitAllocator = 65
)

// interpreter is a running `monty subprocess`.
type interpreter struct {
	cmd    *exec.Cmd
	in     io.Writer
	stdout *os.File
	out    *bufio.Reader // of stdout
	stderr tail
	// ended is closed once the process was reaped; how it ended is in cmd.ProcessState.
	ended chan struct{}
}

// start starts the interpreter with an empty environment.
func start(binary string) (*interpreter, error) {
	i := &interpreter{cmd: exec.Command(binary, "subprocess"), ended: make(chan struct{})}
	i.cmd.Env = []string{}
	i.cmd.Dir = "/"
	i.cmd.WaitDelay = exitGrace // if something else still holds its stderr
	i.cmd.Stderr = &i.stderr
	in, err := i.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: what is still in that is lost when the process ends.
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	i.cmd.Stdout = stdout
	err = i.cmd.Start()
	_ = stdout.Close() // the interpreter has its own
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	i.in, i.stdout, i.out = in, out, bufio.NewReaderSize(out, 64<<10)
	go func() {
		_ = i.cmd.Wait() // ProcessState says how it ended
		close(i.ended)
	}()
	return i, nil
}

// stop ends the interpreter, whatever it does, and reaps it.
func (i *interpreter) stop() {
	_ = i.cmd.Process.Kill()
	<-i.ended
	_ = i.stdout.Close()
}

// ending says what an interpreter died of that no longer reads or writes, and the exit code for it.
func (i *interpreter) ending() *end {
	select {
	case <-i.ended:
	case <-time.After(exitGrace):
		return endf(ExitInterpreter, "the interpreter closed its pipes and went on")
	}
	note := ""
	if s := strings.TrimSpace(string(i.stderr)); s != "" {
		note = fmt.Sprintf(" (its last message: %q)", s)
	}
	status, _ := i.cmd.ProcessState.Sys().(syscall.WaitStatus)
	signal, code := status.Signal(), status.ExitStatus()
	switch {
	case status.Signaled() && signal == syscall.SIGKILL:
		return endf(ExitMemory, "the interpreter was killed, most likely because memory ran out")
	case status.Signaled():
		return endf(ExitInterpreter, "the interpreter died of signal %d, %s%s", int(signal), signal, note)
	case code == exitAllocator:
		return endf(ExitMemory, "the interpreter could get no more memory%s", note)
	}
	return endf(ExitInterpreter, "the interpreter exited with %d in the middle of its work%s", code, note)
}

// startExit is the exit code if the interpreter did not start.
func startExit(err error) int {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, exec.ErrNotFound) {
		return ExitNotFound
	}
	return ExitNotExecutable
}

// tail keeps the last bytes that are written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p[max(0, len(p)-maxDiagnostics):]...)
	*t = (*t)[max(0, len(*t)-maxDiagnostics):]
	return len(p), nil
}
