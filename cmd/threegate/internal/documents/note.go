package documents

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// maxNoteBytes bounds a note on its way to the other process.
const maxNoteBytes = 1 << 20

// refusalReporter keeps the right to the node's folder of orders, which this process never has: it leaves notes of
// refusals there, and can give no other order.
type refusalReporter struct{ *cli.Child }

// startReporter starts it, with the key that signs what a person says, or "". It is nil where nobody may leave a
// note. It must be stopped.
func startReporter(ctx context.Context, node *config.Node, key string) *refusalReporter {
	if node == nil || unix.Access(filepath.Join(node.Dir, spool.DirOrders), unix.W_OK) != nil {
		return nil
	}
	c, err := cli.StartChild(ctx, "note", "--", node.Dir, key)
	if err != nil {
		return nil
	}
	return &refusalReporter{c}
}

// refused leaves a note that a person refused the request raw for a reason, or that rules did.
func (n *refusalReporter) refused(id string, raw []byte, by, reason string, found []schemas.Finding) {
	if n == nil || spool.RequestStem(id+".md") == "" {
		return
	}
	o := orders.Order{Subject: id, By: by, Reason: reason, RequestSHA256: schemas.SHA256(raw)}
	for _, f := range found {
		if f.Severity == schemas.SeverityBlocking {
			o.Rules = append(o.Rules, f.Rule)
		}
	}
	slices.Sort(o.Rules)
	o.Rules = slices.Compact(o.Rules)
	_ = json.NewEncoder(n.In).Encode(o) // close says what went wrong
}

// byRules is the cause of a fault: blocking findings.
type byRules struct{ found []schemas.Finding }

func (byRules) Error() string { return "rules refuse it" }

// refusedByRules leaves a note if err says that rules refused the request of a file.
func (n *refusalReporter) refusedByRules(file string, raw []byte, err error) {
	refused, ok := errors.AsType[byRules](err)
	if !ok {
		return
	}
	id := validate.RequestID(raw, validate.DefaultPolicy(time.Time{}))
	n.refused(cmp.Or(id, strings.TrimSuffix(filepath.Base(file), ".md")), raw, "", "", refused.found)
}

// stopReporter ends n and warns if a note could not be left.
func (a *app) stopReporter(n *refusalReporter) {
	if n == nil {
		return
	}
	if err := n.Close(); err != nil {
		a.UI.Warn("the node's record has no note of the refusal: "+err.Error(), "")
	}
}

// newNote is the other process.
func newNote(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "note NODE KEY",
		Short:  "Leave a note of a refusal for a node, for a command that has given up the right to",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			notes := bufio.NewScanner(a.In)
			notes.Buffer(nil, maxNoteBytes)
			for notes.Scan() {
				var o orders.Order
				if err := schemas.DecodeStrict(notes.Bytes(), &o); err != nil {
					return cli.Troublef(err, "", "can't read a note")
				}
				if err := a.leaveNote(cmd.Context(), args[0], args[1], o); err != nil {
					return err
				}
			}
			if err := notes.Err(); err != nil {
				return cli.Troublef(err, "", "can't read a note")
			}
			return nil // nothing more was refused
		},
	}
}

// leaveNote gives the order that is a note.
func (a *app) leaveNote(ctx context.Context, node, key string, o orders.Order) error {
	o.Kind = orders.Refused
	var sign func([]byte) ([]byte, error)
	if key != "" && o.ByPerson() {
		sign = func(raw []byte) ([]byte, error) {
			s, err := cli.StartSigner(ctx, key, orders.Namespace, 1)
			if err != nil {
				return nil, err
			}
			return s.Sign(raw)
		}
	}
	if _, err := orders.Give(node, o, a.Now(), sign); err != nil {
		return cli.Troublef(err, "", "can't leave a note")
	}
	return nil
}
