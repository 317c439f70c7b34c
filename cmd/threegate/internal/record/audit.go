package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

func newAudit(a *app) *cobra.Command {
	var anchor string
	var signed signedFlags
	verify := &cobra.Command{
		Use:   "verify",
		Short: "Check that no event is missing or changed, and that the node fits the record",
		Long: `verify reads the whole record offline and checks that each event follows the one
before it. Then, as fsck does, it checks that the jobs lie where the record says, and
that requests, and results in CORE's folder, are those that were recorded. It hashes the
arguments of each tool call anew from the plan, and compares them with the timeline and
the record. A job that was moved elsewhere is no fault.

It prints the head: the number and hash of the last event. Whoever keeps a head
elsewhere can prove later, with --anchor, that nothing before it was cut off or changed;
verify --json | jq -r .head prints it. Without --anchor nobody can tell whether the last
events were cut off together with their jobs.

--openwop checks signed checkpoints instead (threegate audit checkpoint), in the terms
of OpenWOP's audit profile: that each event holds the hash of the one before it, and
that each checkpoint is of a key in the file of --trust, and signs these events. With
--json it prints the profile's AuditVerifyResult. Only a copy of the checkpoints kept
elsewhere shows that the last events were cut off together with their checkpoints.`,
		Example: `  threegate audit verify --node /var/lib/threegate
  threegate audit verify --anchor "$(cat last-head)"
  threegate audit verify --openwop --trust auditors.pub --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if signed.on || cmd.Flags().Changed("trust") {
				return a.verifySigned(cmd, signed)
			}
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			return a.verify(cmd.Context(), l, anchor)
		},
	}
	a.NodeFlag(verify)
	verify.Flags().StringVar(&anchor, "anchor", "",
		"an earlier head, as `NUMBER:HASH`, that must still be part of the record")
	signed.add(verify)
	return cli.Group("audit", "Prove that the record is whole", verify, newCheckpoint(a))
}

// auditReport is what verify found out.
type auditReport struct {
	Events   int64  `json:"events"`
	Head     string `json:"head"`
	Anchored bool   `json:"anchored"`
	// Findings are where the node does not fit the record.
	Findings []fsck.Finding `json:"findings"`
}

// recordChecks are the checks of fsck that compare the node with the record.
var recordChecks = []fsck.Check{fsck.CheckLedger, fsck.CheckRecord, fsck.CheckDigest, fsck.CheckTimeline,
	fsck.CheckSeal, fsck.CheckResult}

func (a *app) verify(ctx context.Context, l *config.Node, anchor string) error {
	anchorSeq, anchorHash, err := parseAnchor(anchor)
	if err != nil {
		return err
	}
	r, err := readRecord(ctx, filepath.Join(l.Dir, spool.DirLedger), anchorSeq, anchorHash)
	if err != nil {
		return err
	}
	node, err := fsck.Run(ctx, l, fsck.Options{Now: a.Now})
	if err != nil {
		return checkFault(err, l.Dir)
	}
	r.Findings = slices.DeleteFunc(node.Found, func(f fsck.Finding) bool {
		return !slices.Contains(recordChecks, f.Check)
	})
	if a.JSON {
		err = a.PrintJSON(r)
	} else {
		err = a.printAudit(r, anchor)
	}
	switch {
	case err != nil:
		return err
	case anchor != "" && !r.Anchored:
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal,
			Message: "the record does not hold the anchor " + anchor,
			Hint:    "events were cut off or the record was written anew since that head was noted"}
	case len(r.Findings) > 0:
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal,
			Message: "the node does not fit its record: " + term.Plural(len(r.Findings), "finding", "findings"),
			Hint:    "keep the node as it is, and compare it with a backup; threegate fsck says more"}
	}
	return nil
}

// readRecord checks the chain of events, and looks for the anchor in it.
func readRecord(ctx context.Context, dir string, anchorSeq int64, anchorHash string) (*auditReport, error) {
	r := &auditReport{}
	seq, head, err := ledger.Read(dir, func(e ledger.Event) error {
		r.Anchored = r.Anchored || e.Seq == anchorSeq+1 && e.Prev == anchorHash
		return ctx.Err()
	})
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, cli.Troublef(err, "", "can't read the record in %s", dir)
	case err != nil:
		return nil, &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeInternal, Cause: err,
			Message: "the record is not whole: " + err.Error(),
			Hint:    "keep the folder " + dir + " as it is, and compare it with a backup"}
	}
	r.Events, r.Head = seq, fmt.Sprintf("%d:%s", seq, head)
	r.Anchored = r.Anchored || seq == anchorSeq && head == anchorHash
	return r, nil
}

func (a *app) printAudit(r *auditReport, anchor string) error {
	a.printFindings(r.Findings, a.UI.OutStyle.Red)
	_, err := fmt.Fprintf(a.UI.Out, "%s, each follows the one before it\nhead %s\n",
		term.Plural(int(r.Events), "event", "events"), r.Head)
	if anchor == "" && err == nil {
		_, err = fmt.Fprintln(a.UI.Out,
			"the end is not anchored: keep this head elsewhere, and give it to --anchor next time")
	}
	return err
}

func parseAnchor(anchor string) (int64, string, error) {
	if anchor == "" {
		return -1, "", nil
	}
	number, hash, ok := strings.Cut(anchor, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	if raw, hexErr := hex.DecodeString(hash); !ok || err != nil || seq < 0 || hexErr != nil || len(raw) != sha256.Size {
		return 0, "", cli.Usagef("copy the head that audit verify printed, NUMBER:HASH", "--anchor %q is no head",
			anchor)
	}
	return seq, hash, nil
}
