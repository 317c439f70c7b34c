package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
)

func newExport(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the record as a log that other programs check",
		Long: `export writes the record, up to its last checkpoint, into DIR as a log of files
(C2SP tlog-tiles), which any monitor of such logs reads, from a web server or from the
folder. What lies there of an earlier export is kept. An entry is a line of the record,
with the names of persons in it.`,
		Example: `  threegate audit export /srv/log
  threegate audit vkey auditors.pub >vkey
  fsck --storage_url file:///srv/log/ --public_key vkey --ui=false`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if err := os.MkdirAll(to, 0o755); err != nil {
				return cli.Troublef(err, "", "can't make the folder %s", to)
			}
			l, from, err := a.signed(dir, to)
			if err != nil {
				return err
			}
			n, err := audit.Export(cmd.Context(), l, from, to)
			if err != nil {
				return unsigned(err, l)
			}
			if a.JSON {
				return a.PrintJSON(map[string]int64{"events": n})
			}
			_, err = fmt.Fprintf(a.UI.Out, "%d events, origin %s\n", n, l.LogOrigin())
			return err
		},
	}
	a.checkpointFlags(cmd, &dir)
	return cmd
}

func newWitness(a *app) *cobra.Command {
	var dir string
	var old int64
	cmd := &cobra.Command{
		Use:   "witness",
		Short: "Print the request that asks a witness to sign the last checkpoint",
		Long: `witness prints the body of a request "add-checkpoint" of the witness protocol (C2SP
tlog-witness): the last checkpoint, and the proof that it continues what the witness
signed before, which had --old events. A witness that knows another number answers
409 with it. What it answers to a good request are lines that belong to the end of a copy
of the checkpoint. Keep that copy elsewhere, for audit verify --anchor.`,
		Example: `  threegate audit witness --old 0 >request
  cp checkpoints/cp-000000004711.note anchor
  curl --fail --data-binary @request https://witness.example.org/add-checkpoint >>anchor
  threegate audit verify --trust trusted --anchor anchor`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, from, err := a.signed(dir)
			if err != nil {
				return err
			}
			body, err := audit.WitnessRequest(cmd.Context(), l, from, old)
			if err != nil {
				return unsigned(err, l)
			}
			_, err = a.UI.Out.Write(body)
			return err
		},
	}
	a.checkpointFlags(cmd, &dir)
	cmd.Flags().Int64Var(&old, "old", 0, "how many events the witness has seen")
	return cmd
}

func newVkey(a *app) *cobra.Command {
	var origin string
	cmd := &cobra.Command{
		Use:   "vkey FILE",
		Short: "Print public keys of checkpoints in the form that tools of logs read",
		Long: `vkey prints the Ed25519 keys of FILE, which OpenSSH wrote, as keys of signed notes:
ORIGIN+HASH+KEY. The origin is the node's (node.origin), or --origin.`,
		Example: `  threegate audit vkey checkpoint.key.pub --origin logs.example.org/threegate/lab`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := readKeys(args[0])
			if err != nil {
				return err
			}
			if origin == "" {
				l, err := a.LoadNode()
				if err != nil {
					return err
				}
				origin = l.LogOrigin()
			}
			for _, k := range keys.Signers {
				vkey, err := audit.VerifierKey(origin, k)
				if err != nil {
					return cli.Usagef("--origin is a name without spaces and plus signs", "%q is no origin", origin)
				}
				fmt.Fprintln(a.UI.Out, vkey)
			}
			return nil
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&origin, "origin", "", "the `name` of the log (default: the node's)")
	return cmd
}

func (a *app) checkpointFlags(cmd *cobra.Command, dir *string) {
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(dir, "checkpoints", "", "the `folder` of checkpoints (default: checkpoints in the node's)")
}

// signed is the node and its folder of checkpoints, for a command that reads both and writes to a folder at most.
func (a *app) signed(dir string, write ...string) (*config.Node, string, error) {
	l, err := a.LoadNode()
	if err != nil {
		return nil, "", err
	}
	if dir == "" {
		dir = filepath.Join(l.Dir, audit.DirCheckpoints)
	}
	needs := confine.Needs{Read: append(append(cli.NodeFolders(l), dir), write...), Write: write}
	return l, dir, a.DropPrivileges(needs)
}

// unsigned is the error of a record that is not signed, or not the one that was signed.
func unsigned(err error, l *config.Node) error {
	switch {
	case errors.Is(err, audit.ErrUnsigned):
		return &cli.Fault{Exit: cli.ExitTrouble, Code: schemas.CodeValidation, Message: err.Error(), Cause: err,
			Hint: "sign it first: threegate audit checkpoint --key FILE"}
	case errors.Is(err, openwop.ErrBroken):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Message: err.Error(), Cause: err,
			Hint: "keep the node as it is, and compare it with a backup"}
	}
	return auditFault(err, l)
}
