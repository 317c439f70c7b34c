package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/schemas"
)

// Child is another process of this program. It is started before this one gives up its rights, and keeps them.
type Child struct {
	In  io.WriteCloser
	Out io.ReadCloser
	cmd *exec.Cmd
	err bytes.Buffer
}

// StartChild starts this program with arguments. It must be closed.
func StartChild(ctx context.Context, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Args[0] = os.Args[0]
	c.cmd.Stderr = &c.err
	if c.In, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.Out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, c.cmd.Start()
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
	out *json.Decoder
}

// StartSigner starts a Signer for a namespace that signs at most so many messages. It must be closed.
func StartSigner(ctx context.Context, key, namespace string, most int) (*Signer, error) {
	if _, err := os.Stat(key); err != nil {
		return nil, Troublef(err, "name an OpenSSH key with --sign", "can't sign with %s", key)
	}
	_, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return nil, Troublef(err, "install OpenSSH: apt-get install openssh-client", "can't sign")
	}
	c, err := StartChild(ctx, "sign", "--", key, namespace, strconv.Itoa(most))
	if err != nil {
		return nil, Troublef(err, "", "can't sign")
	}
	return &Signer{c, key, json.NewDecoder(c.Out)}, nil
}

// Sign returns the armoured OpenSSH signature of a message.
func (s *Signer) Sign(message []byte) (signature []byte, err error) {
	if err = json.NewEncoder(s.In).Encode(message); err == nil {
		err = s.out.Decode(&signature)
	}
	if err != nil {
		if cerr := s.Close(); cerr != nil {
			err = cerr
		}
		return nil, &Fault{Exit: ExitTrouble, Code: schemas.CodeInternal, Cause: err,
			Message: "can't sign: " + err.Error(), Hint: "is " + s.key + " an OpenSSH key, and its passphrase right?"}
	}
	return signature, nil
}

// NewSign is the process behind a Signer: it has the key, and signs as many messages as it was told at its start. The
// one that asks reads what others wrote: whoever took it over gets no more signatures than the person meant to give.
// ssh-keygen asks for a passphrase on the terminal by itself, and knows agents and hardware keys.
func NewSign(a *App) *cobra.Command {
	return &cobra.Command{
		Use:    "sign KEY NAMESPACE COUNT",
		Short:  "Sign for a command that has given up the right to the key",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			most, err := strconv.Atoi(args[2])
			if err != nil {
				return err
			}
			in, out := json.NewDecoder(a.In), json.NewEncoder(a.UI.Out)
			for range most {
				var message []byte
				if err := in.Decode(&message); errors.Is(err, io.EOF) {
					return nil // there is nothing more to sign
				} else if err != nil {
					return err
				}
				sign := exec.CommandContext(cmd.Context(), "ssh-keygen", "-q", "-Y", "sign", "-n", args[1],
					"-f", args[0])
				sign.Stdin, sign.Stderr = bytes.NewReader(message), a.UI.Err
				signature, err := sign.Output()
				if err == nil {
					err = out.Encode(signature)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
