package documents

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// maxNoteBytes bounds a note on its way to the other process.
const maxNoteBytes = 1 << 20

// refusalReporter is another process of this program. It keeps the right to the node's folder of orders, which this one never
// has: it leaves notes of refusals there, and can give no other order.
type refusalReporter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	err bytes.Buffer
}

// startNoter starts the process, with the key that signs what a person says, or "". It is nil where nobody may leave a
// note. It must be closed.
func startReporter(ctx context.Context, node *config.Node, key string) *refusalReporter {
	if node == nil || unix.Access(filepath.Join(node.Dir, spool.DirOrders), unix.W_OK) != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	n := &refusalReporter{cmd: exec.CommandContext(ctx, self, "note", "--", node.Dir, key)}
	n.cmd.Args[0] = os.Args[0]
	n.cmd.Stderr = &n.err
	if n.in, err = n.cmd.StdinPipe(); err != nil || n.cmd.Start() != nil {
		return nil
	}
	return n
}

// close ends the process: without a note it leaves none. An error says what the node's record lacks.
func (n *refusalReporter) close() error {
	if n == nil || n.cmd == nil {
		return nil
	}
	err := errors.Join(n.in.Close(), n.cmd.Wait())
	n.cmd = nil
	if err != nil {
		return errors.New("the node's record has no note of the refusal: " + string(bytes.TrimSpace(n.err.Bytes())))
	}
	return nil
}

// refused leaves a note that a person refused the request raw for a reason, or that rules did.
func (n *refusalReporter) refused(id string, raw []byte, by, reason string, found []schemas.Finding) {
	if n == nil || n.cmd == nil || spool.RequestStem(id+".md") == "" {
		return
	}
	sum := sha256.Sum256(raw)
	o := orders.Order{Subject: id, By: by, Reason: reason, RequestSHA256: hex.EncodeToString(sum[:])}
	for _, f := range found {
		if f.Severity == schemas.SeverityBlocking {
			o.Rules = append(o.Rules, f.Rule)
		}
	}
	slices.Sort(o.Rules)
	o.Rules = slices.Compact(o.Rules)
	_ = json.NewEncoder(n.in).Encode(o) // close says what went wrong
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
	id := strings.TrimSuffix(filepath.Base(file), ".md")
	if doc, err := frontmatter.Parse(raw); err == nil && doc.Values["request_id"] != "" {
		id = doc.Values["request_id"]
	}
	n.refused(id, raw, "", "", refused.found)
}

// stopNoter ends n and warns if a note could not be left.
func (a *app) stopReporter(n *refusalReporter) {
	if err := n.close(); err != nil {
		a.UI.Warn(err.Error(), "")
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
			s, err := startSigner(ctx, key, orders.Namespace)
			if err != nil {
				return nil, err
			}
			return s.sign(raw)
		}
	}
	if _, err := orders.Give(node, o, a.Now(), sign); err != nil {
		return cli.Troublef(err, "", "can't leave a note")
	}
	return nil
}
