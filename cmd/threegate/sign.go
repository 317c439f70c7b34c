package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/schemas"
)

// signatureNamespace keeps a signature of a request from passing for one of
// anything else.
const signatureNamespace = "threegate-request"

// sign returns the armoured OpenSSH signature of message. ssh-keygen asks for a
// passphrase on the terminal by itself, and knows agents and hardware keys.
func sign(ctx context.Context, key string, message []byte) ([]byte, error) {
	var out, diagnostics bytes.Buffer
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", signatureNamespace, "-f", key)
	cmd.Stdin = bytes.NewReader(message)
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, troublef(err, "install OpenSSH: apt-get install openssh-client", "can't sign")
	case err != nil:
		if _, statErr := os.Stat(key); statErr != nil {
			return nil, troublef(statErr, "name an OpenSSH key with --sign", "can't sign with %s", key)
		}
		return nil, &fault{exit: exitTrouble, code: schemas.CodeInternal, cause: err,
			message: "can't sign: " + strings.TrimSpace(diagnostics.String()),
			hint:    "is " + key + " an OpenSSH key, and its passphrase right?"}
	}
	return out.Bytes(), nil
}

// maxSignedBytes is more than any request has.
const maxSignedBytes = 64 << 20

// signer is another process of this program, which keeps the right to a key while this
// one gives it up: a request is parsed and shown here, and signed there, once.
type signer struct {
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
	diagnostics bytes.Buffer
}

// startSigner starts it. It must be closed.
func startSigner(key string) (*signer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, troublef(err, "", "can't sign")
	}
	s := &signer{cmd: exec.Command(self, "sign", "--json", "--", key)}
	s.cmd.Args[0] = os.Args[0]
	s.cmd.Stderr = &s.diagnostics
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.in, err = s.cmd.StdinPipe()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, troublef(err, "", "can't sign")
	}
	s.out = bufio.NewReader(out)
	return s, nil
}

// sign has a message signed. It can be called once.
func (s *signer) sign(ctx context.Context, message []byte) ([]byte, error) {
	type answer struct {
		sig []byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		_, err := s.in.Write(append(binary.BigEndian.AppendUint64(nil, uint64(len(message))), message...))
		sig, rerr := io.ReadAll(io.LimitReader(s.out, maxSignatureBytes))
		done <- answer{sig, errors.Join(err, rerr, s.cmd.Wait())}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-done:
		s.cmd = nil
		if a.err == nil && len(a.sig) > 0 {
			return a.sig, nil
		}
		return nil, s.fault(a.err)
	}
}

// fault is what the other process said before it ended.
func (s *signer) fault(err error) error {
	var said struct {
		Error struct {
			Code          schemas.Code
			Message, Hint string
		}
	}
	if json.Unmarshal(s.diagnostics.Bytes(), &said) != nil || said.Error.Message == "" {
		return troublef(err, "", "can't sign")
	}
	exit := exitTrouble
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() > 0 {
		exit = e.ExitCode()
	}
	return &fault{exit: exit, code: said.Error.Code, message: said.Error.Message, hint: said.Error.Hint, cause: err}
}

// close ends the other process: it ends when nothing can come from here any more.
func (s *signer) close() {
	_ = s.in.Close()
	if s.cmd != nil {
		_ = s.cmd.Wait()
	}
}

// newSign is the other process.
func newSign(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "sign KEY",
		Short:  "Sign one message for approve, which has given up the right to the key",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var size uint64
			if err := binary.Read(a.in, binary.BigEndian, &size); err != nil {
				return nil // nothing was approved
			}
			if size > maxSignedBytes {
				return usagef("", "a message of %d bytes", size)
			}
			message := make([]byte, size)
			if _, err := io.ReadFull(a.in, message); err != nil {
				return nil
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() { // approve was stopped, while ssh-keygen asks for a passphrase
				_, _ = io.Copy(io.Discard, a.in)
				cancel()
			}()
			sig, err := sign(ctx, args[0], message)
			if err != nil {
				return err
			}
			_, err = a.ui.Out.Write(sig)
			return err
		},
	}
}
