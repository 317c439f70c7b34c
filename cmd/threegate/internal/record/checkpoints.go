package record

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// maxKeyFile bounds a file of keys, of signers or of an anchor.
const maxKeyFile = 1 << 20

func newCheckpoint(a *app) *cobra.Command {
	var keyFile, dir string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the events that no checkpoint signs yet",
		Long: `checkpoint checks the chain of the record and that it still holds what the last
checkpoints signed, and signs what came since. It signs nothing that it is handed: all
is read in the record. Where nothing happened it signs nothing. Run it from a timer, as
a user who is not the node's, so that no key lies with the node.

It writes files in checkpoints of the node or --checkpoints: cp-NUMBER.note, which signs
the whole record as a log whose entries are its lines (C2SP tlog-checkpoint; its origin
is node.origin), and cp-NUMBER.json for OpenWOP's audit profile.

The key is an Ed25519 key in a file without a passphrase, that only its owner can read,
and is used for nothing else; or the file is a public key, which an ssh-agent holds at
SSH_AUTH_SOCK. Keys on FIDO tokens can't be used: they sign other bytes.

To change the key, sign with the new one from now on, and give the old one's line in
the file for audit verify --trust the number of the last event that it signed, as in:

  until="4711" ssh-ed25519 AAAA... the old key`,
		Example: `  ssh-keygen -t ed25519 -N '' -C 'checkpoints of lab' -f checkpoint.key
  threegate audit checkpoint --key checkpoint.key --node /var/lib/threegate
  threegate audit verify --trust checkpoint.key.pub --node /var/lib/threegate`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keyFile == "" {
				return cli.Usagef("threegate audit checkpoint --help shows how to make one", "name a key with --key")
			}
			return a.checkpoint(cmd.Context(), keyFile, dir)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&keyFile, "key", "", "the Ed25519 key that signs: a `file`, or the public one of an ssh-agent's")
	cmd.Flags().StringVar(&dir, "checkpoints", "", "the `folder` of checkpoints (default: checkpoints in the node's)")
	return cmd
}

func (a *app) checkpoint(ctx context.Context, keyFile, dir string) error {
	key, err := signingKey(keyFile)
	if err != nil {
		return cli.Troublef(err, "ssh-keygen -t ed25519 -N '' -f "+keyFile+" makes one", "can't sign with %s", keyFile)
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	if dir == "" {
		dir = filepath.Join(l.Dir, audit.DirCheckpoints)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return cli.Troublef(err, "", "can't make the folder of checkpoints %s", dir)
	}
	if err := a.DropPrivileges(confine.Needs{Read: append(cli.NodeFolders(l), dir), Write: []string{dir}}); err != nil {
		return err
	}
	last, before, err := audit.Sign(ctx, l, dir, key)
	record := filepath.Join(l.Dir, spool.DirLedger)
	switch {
	case errors.Is(err, audit.ErrUnstated):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Cause: err,
			Message: fmt.Sprintf("signed up to event %d, but %v", last, err),
			Hint:    "keep the jobs as they are; threegate fsck says what is wrong with them"}
	case errors.Is(err, openwop.ErrBroken):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Cause: err,
			Message: "nothing more is signed: " + err.Error(),
			Hint:    "keep the folder " + record + " as it is, and compare it with a backup"}
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return cli.Troublef(err, "", "can't sign the record in %s", record)
	case a.JSON:
		return a.PrintJSON(struct {
			Signed int64 `json:"signed_up_to"`
			Before int64 `json:"signed_before"`
		}{last, before})
	case last == before:
		fmt.Fprintf(a.UI.Err, "nothing to sign: the last checkpoint is at event %d\n", last)
	default:
		fmt.Fprintf(a.UI.Out, "signed up to event %d, with %s\n", last, key.Fingerprint)
	}
	return nil
}

// signingKey is an Ed25519 key: a private one in a file that nobody but its owner can read, or with a public one an
// ssh-agent's, which signs the same bytes.
func signingKey(file string) (s openwop.Signer, err error) {
	raw, err := durable.ReadRegular(file, maxKeyFile)
	if err != nil {
		return s, err
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(raw); err == nil {
		return agentKey(public)
	}
	info, err := os.Lstat(file)
	if err != nil {
		return s, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return s, fmt.Errorf("its mode is %04o: others can read it", info.Mode().Perm())
	}
	parsed, err := ssh.ParseRawPrivateKey(raw)
	if err != nil {
		return s, err
	}
	key, ok := parsed.(*ed25519.PrivateKey)
	if plain, pkcs8 := parsed.(ed25519.PrivateKey); pkcs8 {
		key, ok = &plain, true
	}
	if !ok {
		return s, errors.New("it is no Ed25519 key")
	}
	s.Public, _ = key.Public().(ed25519.PublicKey)
	public, err := ssh.NewPublicKey(s.Public)
	if err != nil {
		return s, err
	}
	s.Fingerprint = ssh.FingerprintSHA256(public)
	s.Sign = func(message []byte) ([]byte, error) { return ed25519.Sign(*key, message), nil }
	return s, nil
}

// agentKey is a key that an ssh-agent holds.
func agentKey(public ssh.PublicKey) (s openwop.Signer, err error) {
	held, ok := public.(ssh.CryptoPublicKey)
	if !ok || public.Type() != ssh.KeyAlgoED25519 {
		return s, errors.New("it is no Ed25519 key: one on a FIDO token signs other bytes than those of a checkpoint")
	}
	conn, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return s, fmt.Errorf("it is a public key, and no ssh-agent answers at SSH_AUTH_SOCK: %w", err)
	}
	keys := agent.NewClient(conn)
	s.Public, _ = held.CryptoPublicKey().(ed25519.PublicKey) // the type says so
	s.Fingerprint = ssh.FingerprintSHA256(public)
	s.Sign = func(message []byte) ([]byte, error) {
		sig, err := keys.Sign(public, message)
		if err != nil {
			return nil, err
		}
		if !ed25519.Verify(s.Public, message, sig.Blob) {
			return nil, errors.New("the ssh-agent made no Ed25519 signature of this key")
		}
		return sig.Blob, nil
	}
	return s, nil
}
