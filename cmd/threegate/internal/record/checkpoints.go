package record

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

const (
	// checkpointDir is where checkpoints lie in a node's folder: a file each.
	checkpointDir    = "checkpoints"
	checkpointSuffix = ".json"
	maxCheckpoint    = 4 << 10
	maxKeyFile       = 64 << 10
)

func newCheckpoint(a *app) *cobra.Command {
	var keyFile, dir string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the events that no checkpoint signs yet",
		Long: `checkpoint checks the chain of the record, and signs the Merkle root of the events
after the last checkpoint: one checkpoint for each 1000 events, and one for the rest.
Each is a small file. A key signs them that is used for nothing else: an Ed25519 key in
a file without a passphrase, that only its owner can read. It may belong to somebody
who is not the node. Run it from a timer; where nothing happened it signs nothing.

To change the key, sign with the new one from now on, and give the old one's line in
the file for audit verify --trust the number of the last event that it signed, as in:

  until="4711" ssh-ed25519 AAAA... the old key`,
		Example: `  ssh-keygen -t ed25519 -N '' -C 'checkpoints of lab' -f checkpoint.key
  threegate audit checkpoint --key checkpoint.key --node /var/lib/threegate
  threegate audit verify --openwop --trust checkpoint.key.pub --node /var/lib/threegate`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keyFile == "" {
				return cli.Usagef("threegate audit checkpoint --help shows how to make one", "name a key with --key")
			}
			return a.checkpoint(cmd.Context(), keyFile, dir)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&keyFile, "key", "", "the Ed25519 key that signs: a `file`")
	cmd.Flags().StringVar(&dir, "checkpoints", "", "the `folder` of checkpoints (default: checkpoints in the node's)")
	return cmd
}

func (a *app) checkpoint(ctx context.Context, keyFile, dir string) error {
	key, fingerprint, err := readSigningKey(keyFile)
	if err != nil {
		return cli.Troublef(err, "ssh-keygen -t ed25519 -N '' -f "+keyFile+" makes one", "can't sign with %s", keyFile)
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	if dir == "" {
		dir = filepath.Join(l.Dir, checkpointDir)
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return cli.Troublef(err, "", "can't make the folder of checkpoints %s", dir)
	}
	if err := a.DropPrivileges(confine.Needs{Read: append(cli.NodeFolders(l), dir), Write: []string{dir}}); err != nil {
		return err
	}
	cps, err := readCheckpoints(dir)
	if err != nil {
		return err
	}
	var after int64
	if len(cps) > 0 {
		after = cps[len(cps)-1].AtSequence
	}
	made := []openwop.SignedCheckpoint{}
	record := filepath.Join(l.Dir, spool.DirLedger)
	err = openwop.Sign(ctx, record, after, key, fingerprint, func(cp openwop.SignedCheckpoint) error {
		data, err := json.Marshal(cp)
		if err != nil {
			return err
		}
		made = append(made, cp)
		return durable.WriteFile(dir, cp.ID+checkpointSuffix, append(data, '\n'), 0o640)
	})
	switch {
	case errors.Is(err, openwop.ErrBroken):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Cause: err,
			Message: "nothing more is signed: " + err.Error(),
			Hint:    "keep the folder " + record + " as it is, and compare it with a backup"}
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return cli.Troublef(err, "", "can't sign the record in %s", record)
	case a.JSON:
		return a.PrintJSON(made)
	}
	for _, cp := range made {
		fmt.Fprintf(a.UI.Out, "%s signs events up to %d\n", cp.ID, cp.AtSequence)
	}
	if len(made) == 0 {
		fmt.Fprintf(a.UI.Err, "nothing to sign: the last checkpoint is at event %d\n", after)
	}
	return nil
}

// readSigningKey reads a private key that nobody but its owner can.
func readSigningKey(file string) (ed25519.PrivateKey, string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, "", fmt.Errorf("its mode is %04o: others can read it", info.Mode().Perm())
	}
	raw, err := durable.ReadRegular(file, maxKeyFile)
	if err != nil {
		return nil, "", err
	}
	parsed, err := ssh.ParseRawPrivateKey(raw)
	if err != nil {
		return nil, "", err
	}
	key, ok := parsed.(*ed25519.PrivateKey)
	if plain, pkcs8 := parsed.(ed25519.PrivateKey); pkcs8 {
		key, ok = &plain, true
	}
	if !ok {
		return nil, "", errors.New("it is no Ed25519 key")
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, "", err
	}
	return *key, ssh.FingerprintSHA256(public), nil
}

// readCheckpoints reads those in a folder, in the order of their entries. A folder that does not
// exist holds none.
func readCheckpoints(dir string) ([]openwop.SignedCheckpoint, error) {
	entries, err := os.ReadDir(dir) // sorted: names have the number, with leading zeros
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Troublef(err, "", "can't read the checkpoints in %s", dir)
	}
	var cps []openwop.SignedCheckpoint
	for _, e := range entries {
		if spool.IsTemporary(e.Name()) {
			continue
		}
		file := filepath.Join(dir, e.Name())
		raw, err := durable.ReadRegular(file, maxCheckpoint)
		if err != nil {
			return nil, cli.Troublef(err, "", "can't read the checkpoint %s", file)
		}
		var cp openwop.SignedCheckpoint
		err = schemas.DecodeStrict(raw, &cp)
		if err == nil && e.Name() != cp.ID+checkpointSuffix {
			err = fmt.Errorf("it is %q", cp.ID)
		}
		if err != nil {
			return nil, &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Cause: err,
				Message: file + " is no checkpoint: " + err.Error(),
				Hint:    "compare it with a backup"}
		}
		cps = append(cps, cp)
	}
	return cps, nil
}

// signedFlags are those of audit verify --openwop.
type signedFlags struct {
	on         bool
	trust, dir string
	from, to   int64
}

func (f *signedFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "openwop", false, "check signed checkpoints, in the terms of OpenWOP's audit profile")
	fl.StringVar(&f.trust, "trust", "", "the public keys that may sign checkpoints, one a line: a `file`")
	fl.StringVar(&f.dir, "checkpoints", "", "the `folder` of checkpoints (default: checkpoints in the node's)")
	fl.Int64Var(&f.from, "from-seq", 1, "the first `event` that is told of")
	fl.Int64Var(&f.to, "to-seq", 0, "the last `event` that is told of (default: the last that there is)")
	cmd.MarkFlagsMutuallyExclusive("openwop", "anchor")
}

func (a *app) verifySigned(cmd *cobra.Command, f signedFlags) error {
	if !f.on || f.trust == "" {
		return cli.Usagef("threegate audit verify --openwop --trust FILE", "--openwop needs the keys of --trust")
	}
	if f.from < 1 || f.to != 0 && f.to < f.from {
		return cli.Usagef("", "events are numbered from 1, and --to-seq is not before --from-seq")
	}
	keys, err := readTrusted(f.trust)
	if err != nil {
		return err
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	if f.dir == "" {
		f.dir = filepath.Join(l.Dir, checkpointDir)
	}
	if err := a.DropPrivileges(confine.Needs{Read: append(cli.NodeFolders(l), f.dir)}); err != nil {
		return err
	}
	cps, err := readCheckpoints(f.dir)
	if err != nil {
		return err
	}
	record := filepath.Join(l.Dir, spool.DirLedger)
	v, err := openwop.Verify(cmd.Context(), record, cps, keys, f.from, f.to)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't read the record in %s", record)
	}
	if a.JSON {
		err = a.PrintJSON(v.AuditVerifyResult)
	} else {
		err = a.printVerified(v)
	}
	if err == nil && !v.ChainValid {
		err = &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal,
			Message: "the record is not what was signed, or its chain is broken",
			Hint:    "keep the node as it is, and compare it with a backup"}
	}
	return err
}

func (a *app) printVerified(v openwop.Verified) error {
	for _, x := range v.Anomalies {
		fmt.Fprintf(a.UI.Out, "event %d does not follow on: it holds the hash %q, not %s\n", x.AtSeq,
			term.Visible(x.ActualPrevHash), x.ExpectedPrevHash)
	}
	for _, x := range v.Faults {
		fmt.Fprintln(a.UI.Out, term.Visible(x))
	}
	_, err := fmt.Fprintf(a.UI.Out,
		"events %d-%d, %s; the last good one signs up to event %d, %d after it are not signed\n", v.FromSeq, v.ToSeq,
		term.Plural(len(v.Checkpoints), "checkpoint", "checkpoints"), v.Signed, v.Entries-v.Signed)
	return err
}

// readTrusted reads public keys of OpenSSH, one a line. The option until="N" bounds what a key
// that was changed may have signed.
func readTrusted(file string) ([]openwop.TrustedKey, error) {
	raw, err := durable.ReadRegular(file, maxKeyFile)
	if err != nil {
		return nil, cli.Troublef(err, "", "can't read the keys in %s", file)
	}
	var keys []openwop.TrustedKey
	for i, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := trusted(line)
		if err != nil {
			return nil, cli.Rejectf("", `write: ssh-ed25519 AAAA..., or until="4711" ssh-ed25519 AAAA...`,
				"%s, line %d: %v", file, i+1, err)
		}
		if slices.ContainsFunc(keys, func(k openwop.TrustedKey) bool { return k.Fingerprint == key.Fingerprint }) {
			return nil, cli.Rejectf("", "name each key once", "%s, line %d: the key is named twice", file, i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func trusted(line string) (k openwop.TrustedKey, err error) {
	public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return k, err
	}
	held, ok := public.(ssh.CryptoPublicKey)
	if !ok || public.Type() != ssh.KeyAlgoED25519 {
		return k, errors.New("it is no Ed25519 key")
	}
	k.Public, _ = held.CryptoPublicKey().(ed25519.PublicKey) // the type says so
	k.Fingerprint = ssh.FingerprintSHA256(public)
	for _, o := range options {
		number, ok := strings.CutPrefix(o, `until="`)
		number, closed := strings.CutSuffix(number, `"`)
		if k.Until, err = strconv.ParseInt(number, 10, 64); !ok || !closed || err != nil || k.Until < 1 {
			return k, fmt.Errorf("the option %q is not until=\"NUMBER\"", o)
		}
	}
	return k, nil
}
