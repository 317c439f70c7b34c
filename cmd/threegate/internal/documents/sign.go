package documents

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

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/schemas"
	approvals "github.com/threegate/tool-exec/validate/approval"
)

// signatureNamespace keeps a signature of a request from passing for one of
// anything else.
const signatureNamespace = approvals.Namespace

// maxSignedBytes is more than any request has.
const maxSignedBytes = 64 << 20

// signer is another process of this program. It keeps the right to the key, which this one
// gives up before it reads the request.
type signer struct {
	cmd      *exec.Cmd
	key      string
	in       io.WriteCloser
	out, err bytes.Buffer
}

// startSigners starts what signs an approval, and its plan if there is to be one. What it returns ends both.
func (p *approval) startSigners(ctx context.Context, f approveFlags) (stop func(), err error) {
	stop = func() {}
	if f.sign == "" {
		return stop, nil
	}
	if p.signer, err = startSigner(ctx, f.sign, signatureNamespace); err != nil {
		return stop, err
	}
	stop = func() { _ = p.signer.close() }
	if !f.plan && (!p.policy.RequirePlan || f.also) {
		return stop, nil
	}
	if p.planSigner, err = startSigner(ctx, f.sign, approvals.PlanNamespace); err != nil {
		stop()
		return stop, err
	}
	return func() { _ = p.signer.close(); _ = p.planSigner.close() }, nil
}

// startSigner starts the process. It must be closed.
func startSigner(ctx context.Context, key, namespace string) (*signer, error) {
	if _, err := os.Stat(key); err != nil {
		return nil, cli.Troublef(err, "name an OpenSSH key with --sign", "can't sign with %s", key)
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return nil, cli.Troublef(err, "install OpenSSH: apt-get install openssh-client", "can't sign")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, cli.Troublef(err, "", "can't sign")
	}
	s := &signer{cmd: exec.CommandContext(ctx, self, "sign", "--", key, namespace), key: key}
	s.cmd.Args[0] = os.Args[0]
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	if s.in, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, cli.Troublef(err, "", "can't sign")
	}
	return s, nil
}

// sign returns the armoured OpenSSH signature of message. It can be called once.
func (s *signer) sign(message []byte) ([]byte, error) {
	_, err := s.in.Write(message)
	if err = errors.Join(err, s.close()); err != nil {
		return nil, &cli.Fault{Exit: cli.ExitTrouble, Code: schemas.CodeInternal, Cause: err,
			Message: "can't sign: " + strings.TrimSpace(s.err.String()),
			Hint:    "is " + s.key + " an OpenSSH key, and its passphrase right?"}
	}
	return s.out.Bytes(), nil
}

// close ends the process: without a message it signs nothing.
func (s *signer) close() error {
	if s.cmd == nil {
		return nil
	}
	err := errors.Join(s.in.Close(), s.cmd.Wait())
	s.cmd = nil
	return err
}

// newSign is the other process. It reads the message and then becomes ssh-keygen, which asks
// for a passphrase on the terminal by itself, and knows agents and hardware keys.
func newSign(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "sign KEY NAMESPACE",
		Short:  "Sign standard input for approve, which has given up the right to the key",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			message, err := io.ReadAll(io.LimitReader(a.In, maxSignedBytes))
			if err != nil || len(message) == 0 {
				return err // nothing was approved
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
