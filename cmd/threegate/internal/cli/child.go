package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
)

// Child is another process of this program. It is started before this one gives up its rights, and keeps them.
type Child struct {
	In       io.WriteCloser
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// StartChild starts this program with arguments. It must be closed.
func StartChild(ctx context.Context, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Args[0] = os.Args[0]
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	if c.In, err = c.cmd.StdinPipe(); err == nil {
		err = c.cmd.Start()
	}
	return c, err
}

// Close ends the input of the process and waits for it. An error is what the process said. It can be called again.
func (c *Child) Close() error {
	if c == nil || c.cmd == nil {
		return nil
	}
	err := errors.Join(c.In.Close(), c.cmd.Wait())
	c.cmd = nil
	if err != nil {
		return errors.New(strings.TrimSpace(c.err.String()))
	}
	return nil
}

// Signer is a Child that signs with an OpenSSH key.
type Signer struct {
	*Child
	key string
}

// StartSigner starts a Signer for a namespace. It must be closed.
func StartSigner(ctx context.Context, key, namespace string) (*Signer, error) {
	if _, err := os.Stat(key); err != nil {
		return nil, Troublef(err, "name an OpenSSH key with --sign", "can't sign with %s", key)
	}
	_, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return nil, Troublef(err, "install OpenSSH: apt-get install openssh-client", "can't sign")
	}
	c, err := StartChild(ctx, "sign", "--", key, namespace)
	if err != nil {
		return nil, Troublef(err, "", "can't sign")
	}
	return &Signer{c, key}, nil
}

// Sign returns the armoured OpenSSH signature of a message. It can be called once.
func (s *Signer) Sign(message []byte) ([]byte, error) {
	_, err := s.In.Write(message)
	if cerr := s.Close(); cerr != nil {
		err = cerr
	}
	if err != nil {
		return nil, &Fault{Exit: ExitTrouble, Code: schemas.CodeInternal, Cause: err,
			Message: "can't sign: " + err.Error(), Hint: "is " + s.key + " an OpenSSH key, and its passphrase right?"}
	}
	return s.out.Bytes(), nil
}

// maxSignedBytes is more than any request has.
const maxSignedBytes = 64 << 20

// NewSign is the process behind a Signer. It reads the message and then becomes ssh-keygen, which asks
// for a passphrase on the terminal by itself, and knows agents and hardware keys.
func NewSign(a *App) *cobra.Command {
	return &cobra.Command{
		Use:    "sign KEY NAMESPACE",
		Short:  "Sign standard input for a command that has given up the right to the key",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			message, err := io.ReadAll(io.LimitReader(a.In, maxSignedBytes))
			if err != nil || len(message) == 0 {
				return err // there is nothing to sign
			}
			program, err := exec.LookPath("ssh-keygen")
			if err != nil {
				return err
			}
			fd, err := unix.MemfdCreate("request", 0)
			if err != nil {
				return err
			}
			f := os.NewFile(uintptr(fd), "request")
			_, err = f.Write(message)
			_, serr := f.Seek(0, io.SeekStart)
			if err = errors.Join(err, serr, unix.Dup3(fd, 0, 0)); err != nil {
				return err
			}
			call := []string{"ssh-keygen", "-q", "-Y", "sign", "-n", args[1], "-f", args[0]}
			return syscall.Exec(program, call, os.Environ())
		},
	}
}
