package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

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
