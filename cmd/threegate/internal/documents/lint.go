package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/diag"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate"
)

type lintFlags struct {
	format string
	kind   string
	asOf   string
	config string
	flips  bool
}

func newLint(a *app) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check requests and results, and show each fault at its line",
		Long: `lint judges documents exactly as the gate does and prints every finding with its
place, the line, and how to mend it.

A path is a file, a folder, or "-" for standard input. In a folder, lint judges TR-*.md,
TS-*.md and every other *.md whose front matter says that it is a request or a result.
It skips hidden entries, links, and folders of inputs and artifacts. A file that you name
is judged whatever it is called.

Inputs, signatures and a signed plan are read where they lie next to a request. Without
--config the verdict is that of a node with default settings that has every language and
network, and no profile of tools. lint also lists what it could not look at: below the
summary, and as not_looked_at with --format jsonl.

A request that a node keeps, request.md in a folder of its archive or quarantine, is
judged as of the node's verdict, by the time of then and with what persons had released.
What only the node saw, its inbox and its record, stands. --flips prints those alone
whose verdict is not that on record, and ends with 1 if there are any: what would another
configuration, or this version's rules, have decided?`,
		Example: `  threegate lint TR-20260209-160501Z-python-stats.md
  threegate lint inbox/ --format sarif > lint.sarif
  threegate lint --as-of 2026-02-10T00:00:00Z --format jsonl requests/ | jq .verdict
  threegate lint --flips --config new/threegate.yaml /var/lib/threegate/archive/*/*/*/request.md`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.JSON && !cmd.Flags().Changed("format") {
				f.format = "jsonl"
			}
			return a.lint(cmd.Context(), args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "text", "output: text, jsonl, or sarif, which GitHub and editors read")
	fl.StringVar(&f.kind, "kind", "", "judge every file as a request or as a result (default: tell from the content)")
	fl.StringVar(&f.asOf, "as-of", "", "judge the age of approvals at this `time` (RFC 3339; default: now)")
	fl.StringVar(&f.config, "config", "", "judge by the policy of this threegate.yaml `file`")
	fl.BoolVar(&f.flips, "flips", false, "print only requests of a node whose verdict is not that on record")
	cli.Complete(cmd, "format", "text", "jsonl", "sarif")
	cli.Complete(cmd, "kind", "request", "result")
	return cmd
}

func (a *app) lint(ctx context.Context, paths []string, f lintFlags) error {
	w, err := a.lintWriter(f.format)
	if err != nil {
		return err
	}
	kind := schemas.Kind(f.kind)
	if kind != "" && kind != schemas.KindRequest && kind != schemas.KindResult {
		return cli.Usagef("", "--kind is request or result, not %q", f.kind)
	}
	now := a.Now()
	if f.asOf != "" {
		if now, err = time.Parse(time.RFC3339, f.asOf); err != nil {
			return cli.Usagef("write it like 2026-02-09T16:05:01Z", "--as-of %q is not an RFC 3339 time", f.asOf)
		}
	}
	node, policy, err := cli.ConfigOf(f.config, now)
	if err != nil {
		return err
	}
	l := linter{kind: kind, policy: policy, node: node, folders: folders{}}
	var n confine.Needs
	for _, p := range paths {
		if p == bundle.Stdin {
			continue
		}
		n.Read = append(n.Read, p)
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			n.Read = append(n.Read, l.folders.files(p, bundle.Dir(p))...)
		}
	}
	if err := a.DropPrivileges(n); err != nil {
		return err
	}
	var sum diag.Summary
	var stopped error
	err = bundle.Walk(ctx, paths, func(it bundle.Item) bool {
		r, err := l.one(ctx, a, it)
		if err == nil && f.flips && r.OnRecord == "" {
			if !it.Follow {
				return true // nobody named it
			}
			err = errNoRecord
		}
		stopped = a.lintReport(w, &sum, it.Path, r, err, f.flips)
		return stopped == nil
	})
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	if sum.Files+sum.Troubled == 0 {
		return cli.Usagef("in folders, lint judges TR-*.md, TS-*.md, and *.md with request_type or result_type",
			"no request and no result in %s", strings.Join(paths, ", "))
	}
	if err := w.Close(sum); err != nil {
		return cli.Troublef(err, "", "can't write the output")
	}
	return a.lintVerdict(sum, f)
}

// lintVerdict is the exit code.
func (a *app) lintVerdict(sum diag.Summary, f lintFlags) error {
	bad := sum.Rejected
	if f.flips {
		bad = sum.Flipped
	}
	switch {
	case sum.Troubled > 0:
		return cli.Verdict(cli.ExitTrouble)
	case bad == 0:
		return nil
	case f.format == "text" && a.UI.ErrTTY:
		a.UI.Hint("`threegate explain RULE` says more about a rule")
	}
	return cli.Verdict(cli.ExitReject)
}

// lintReport writes the report of a file, or the error that kept it from being judged.
func (a *app) lintReport(w diag.Writer, sum *diag.Summary, path string, r diag.Report, err error, flips bool) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err == nil:
		if sum.Add(r); !flips || r.Flipped() {
			err = w.Report(r)
		}
	default:
		sum.Troubled++
		t := cli.Troublef(err, lintHint(err), "%s is not judged", path)
		a.Report(t)
		err = w.Trouble(path, t.Message)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't write the output")
	}
	return nil
}

// errNoRecord says that --flips has nothing to compare a document with.
var errNoRecord = errors.New("no node keeps it with a verdict")

func lintHint(err error) string {
	switch {
	case errors.Is(err, errNoRecord):
		return "name request.md in folders of a node's archive or quarantine/requests"
	case errors.Is(err, durable.ErrNotRegular):
		return "the gate takes regular files only; to judge a stream, use: threegate lint - < FILE"
	case errors.Is(err, fs.ErrNotExist):
		return "check the spelling of the path"
	case errors.Is(err, fs.ErrPermission):
		return "run as a user who may read it"
	}
	return ""
}

// linter judges documents of one kind, or of any, by a policy. The node may be nil.
type linter struct {
	kind    schemas.Kind
	policy  validate.Policy
	node    *config.Node
	folders folders
}

// one reads and judges one document. If a rule panics, the other documents are still
// judged.
func (l *linter) one(ctx context.Context, a *app, it bundle.Item) (r diag.Report, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a rule failed on it, which is a fault of threegate's: %v", v)
		}
	}()
	if it.Err != nil {
		return r, it.Err
	}
	limit := max(l.policy.MaxRequestBytes, l.policy.MaxResultBytes)
	var raw []byte
	if it.Path == bundle.Stdin {
		raw, err = bundle.ReadStream(ctx, a.In, limit)
	} else {
		raw, err = bundle.ReadDocument(it.Path, it.Follow, limit)
	}
	if err != nil {
		return r, err
	}
	kind := cmp.Or(l.kind, bundle.KindOf(it.Path, raw))
	// A file without the name of a document gets one when it is promoted.
	name := ""
	if bundle.NameKind(it.Path) != "" {
		name = it.Path
	}
	if kind == schemas.KindResult {
		_, found := validate.Result(name, raw, l.policy)
		return diag.New(it.Path, kind, raw, found), nil
	}
	c := admission.Case{Raw: raw, Policy: l.policy, Config: l.node, Unsigned: true}
	if it.Path != bundle.Stdin {
		inputs := bundle.Dir(it.Path)
		if c, _, err = l.folders.caseOf(ctx, it.Path, inputs, raw, l.policy, l.node); err != nil {
			return r, err
		}
		if _, err := os.Lstat(inputs); err != nil && bundle.JobOf(it.Path) == "" && declaresInputs(raw) {
			c.Files = nil // they are elsewhere
		}
	}
	c.Name = name
	if c.Past, err = past(it.Path, raw); err != nil {
		return r, err
	}
	v, err := admission.Judge(ctx, c)
	r = diag.New(it.Path, kind, raw, v.Findings)
	if r.NotLookedAt = v.NotLookedAt; c.Past != nil {
		r.OnRecord = c.Past.Verdict()
	}
	a.foresee(c, v)
	return r, err
}

// past is the verdict of the node that keeps a request; nil if none does, or if these are not the bytes that it judged.
func past(file string, raw []byte) (*admission.Past, error) {
	job := bundle.JobOf(file)
	if job == "" {
		return nil, nil
	}
	p, err := admission.ReadPast(job)
	if errors.Is(err, fs.ErrNotExist) || err == nil && p.Claim.SHA256 != schemas.SHA256(raw) {
		return nil, nil
	}
	return p, err
}

// declaresInputs says whether a request has inputs, as far as it can be read.
func declaresInputs(raw []byte) bool {
	doc, err := frontmatter.Parse(raw)
	return err != nil || len(doc.Inputs) > 0
}

func (a *app) lintWriter(format string) (diag.Writer, error) {
	var out io.Writer = a.UI.Out
	switch format {
	case "text":
		return &diag.Text{W: out, Style: a.UI.OutStyle, Columns: a.UI.Columns, Wrap: a.UI.OutTTY}, nil
	case "jsonl":
		return &diag.JSONL{W: out}, nil
	case "sarif":
		return diag.NewSARIF(out, cli.Version, schemas.Rules()), nil
	}
	return nil, cli.Usagef("", "--format is text, jsonl or sarif, not %q", format)
}
