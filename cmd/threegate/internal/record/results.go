package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/validate"
)

func newResults(a *app) *cobra.Command {
	var since cli.Since
	list := &cobra.Command{
		Use:   "list",
		Short: "List what CORE got, and what it may still get",
		Long: `list names every request that was admitted, oldest first, with what came of it:

  waiting, admitted, running, finished   its result is still to come
  delivered                              its result lies in CORE's folder
  taken                                  it was delivered, and CORE took it away
  recalled                               it was delivered, and a person took it back
  quarantined                            it was refused after all; CORE was told so by a notice
  result-quarantined                     its result was refused; CORE was told so by a notice

END is the cause that ended the run, or else the exit code. Requests that were refused are
in quarantine list.`,
		Example: `  threegate results list
  threegate results list --since 24h
  threegate results list --json | jq -r '.[] | select(.state=="delivered").path'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			from, err := since.Time(a.Now())
			if err != nil {
				return err
			}
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			return a.listResults(l, from)
		},
	}
	a.NodeFlag(list)
	since.Flag(list, "those of which something happened")
	var calls bool
	show := &cobra.Command{
		Use:   "show REQUEST",
		Short: "Show what CORE got for a request: times, cause, artifacts with their digests",
		Long: `show prints what came of one request, named by its id or by the id of its result. The
result itself is the file named as result; quarantine list --withheld shows what the gate
left out of it.

If the run called tools, it counts the calls by their code. --calls lists each, with the
hash of its arguments: threegate fsck compares these with the plan that was approved.`,
		Example: `  threegate results show TR-20260209-160501Z-python-stats
  threegate results show TR-20260209-160501Z-python-stats --json | jq .artifact_list
  threegate results show TR-20260209-173000Z-rename-a-function --calls`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			id := requestID(args[0])
			if at := strings.Index(id, "-TR-"); at > 0 { // that of a result holds the request's
				id = id[at+1:]
			}
			r, err := a.find(l, id)
			if err != nil {
				return err
			}
			if r.AdmittedUTC != nil {
				return a.showResult(l, r, calls)
			}
			id = r.RequestID
			return cli.NotFoundf("threegate results list"+a.NodeArg()+" lists those that were admitted; "+
				"threegate status "+id+" says whether it waits or was refused", "no request %s was admitted", id)
		},
	}
	a.NodeFlag(show)
	show.Flags().BoolVar(&calls, "calls", false, "list each tool call of the run")
	return cli.Group("results", "List the results that CORE got, and show one", list, show)
}

// resultJSON is a request as programs get it: what status prints of it, and two keys that have other names there.
type resultJSON struct {
	*view.RequestStatus
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

func toJSON(r *view.RequestStatus) resultJSON { return resultJSON{r, r.ResultPath, r.ResultSHA256} }

// listResults lists those of which something happened from then on.
func (a *app) listResults(l *config.Node, from time.Time) error {
	var rows [][]string
	show := func(r *view.RequestStatus) error {
		rows = append(rows, []string{r.Last().UTC().Format("2006-01-02 15:04"), string(r.State), endOf(r),
			fmt.Sprint(r.Artifacts), r.RequestID})
		return nil
	}
	list := a.NewJSONList()
	if a.JSON {
		show = func(r *view.RequestStatus) error { return list.Add(toJSON(r)) }
	}
	err := view.Results(l, func(r *view.RequestStatus) error {
		if r.Last().Before(from) {
			return nil
		}
		return show(r)
	})
	switch {
	case err != nil:
		return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't list the results")
	case a.JSON:
		return list.End()
	case len(rows) == 0:
		a.UI.Say("no request was admitted")
		return nil
	}
	return term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, []string{"UTC", "STATE", "END", "FILES", "REQUEST"}, rows)
}

// endOf says how a run ended, in one word.
func endOf(r *view.RequestStatus) string {
	switch {
	case r.ExitCode == nil:
		return "-"
	case r.Cause == schemas.CauseNone, r.Cause == schemas.CauseExit:
		return fmt.Sprintf("exit %d", *r.ExitCode)
	}
	return string(r.Cause)
}

// artifact is a file that was delivered, as the result names it.
type artifact struct {
	schemas.Artifact
	Bytes int64 `json:"bytes"`
}

func (a *app) showResult(l *config.Node, r *view.RequestStatus, withCalls bool) error {
	files, err := artifactsOf(l, r)
	if err != nil {
		return cli.Troublef(err, "", "can't read the result of %s", r.RequestID)
	}
	var calls []contract.Entry
	if withCalls {
		if calls, err = readCalls(l, r); err != nil {
			return cli.Troublef(err, "threegate fsck says more", "can't list the tool calls of %s", r.RequestID)
		}
	}
	var missing []withheldJSON
	if r.Withheld > 0 {
		if missing, err = withheldOf(l, r); err != nil {
			return cli.Troublef(err, "threegate fsck says more", "can't list what the result of %s does not hold",
				r.RequestID)
		}
	}
	tellReason(l, r)
	if a.JSON {
		return a.PrintJSON(struct {
			resultJSON
			Files   []artifact       `json:"artifact_list"`
			Missing []withheldJSON   `json:"withheld_list,omitempty"`
			Calls   []contract.Entry `json:"tool_calls,omitempty"`
		}{toJSON(r), files, missing, calls})
	}
	if err := term.Fields(a.UI.Out, a.UI.OutStyle, requestFields(r, "")); err != nil {
		return err
	}
	if err := errors.Join(a.listMissing(missing), a.listCalls(r, calls)); err != nil || len(files) == 0 {
		return err
	}
	fmt.Fprintln(a.UI.Out)
	var rows [][]string
	for _, f := range files {
		rows = append(rows, []string{term.Bytes(f.Bytes), f.SHA256[:min(12, len(f.SHA256))] + "…", f.Path})
	}
	return term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, []string{"SIZE", "SHA256", "ARTIFACT"}, rows)
}

// maxShownResult bounds the result that is read for its list of artifacts.
const maxShownResult = 64 << 20

// artifactsOf lists the artifacts that a delivered result names. The job's folder has a copy of it, so
// that it is known also when CORE took it away; a node whose folder is gone knows no more.
func artifactsOf(l *config.Node, r *view.RequestStatus) ([]artifact, error) {
	list := []artifact{}
	if r.DeliveredUTC == nil {
		return list, nil
	}
	dir, err := view.ResultDir(l, r.Job, r.ResultID)
	var raw []byte
	if err == nil {
		raw, err = durable.ReadRegular(filepath.Join(dir, ledger.FileResult), maxShownResult)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		raw, err = durable.ReadRegular(r.ResultPath, maxShownResult)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // it is CORE's and the auditors' to read
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	p := validate.DefaultPolicy(r.Last())
	p.Released = r.Released
	res, _ := validate.Result(r.ResultID+spool.ResultSuffix, raw, p)
	if res == nil {
		return nil, fmt.Errorf("the file is not a result: threegate fsck says more")
	}
	for _, f := range res.Artifacts {
		x := artifact{Artifact: f, Bytes: -1}
		for _, path := range []string{
			filepath.Join(strings.TrimSuffix(r.ResultPath, spool.ResultSuffix)+spool.ArtifactsSuffix, f.Path),
			filepath.Join(dir, ledger.DirOut, f.Path), filepath.Join(dir, strings.TrimPrefix(f.Path, r.ResultID+"."))} {
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && x.Bytes < 0 {
				x.Bytes = fi.Size()
			}
		}
		list = append(list, x)
	}
	return list, nil
}
