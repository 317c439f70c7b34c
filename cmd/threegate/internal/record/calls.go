package record

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// callsOf sums up tool calls in words; "" if a run told of none.
func callsOf(c *schemas.ToolCalls) string {
	if c == nil {
		return ""
	}
	parts := []string{fmt.Sprint(c.Calls)}
	for _, code := range slices.Sorted(maps.Keys(c.Codes)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Codes[code], code))
	}
	if c.Fault != "" {
		parts = append(parts, "then the timeline is "+string(c.Fault))
	}
	return strings.Join(parts, ", ")
}

// readCalls reads the timeline of a run that told of its tool calls, up to what is wrong in it.
func readCalls(l *config.Node, r *view.RequestStatus) ([]contract.Entry, error) {
	if r.Tools == nil {
		return nil, nil
	}
	dir, err := view.JobDir(l, r.Job)
	if err != nil {
		return nil, err
	}
	raw, err := durable.ReadRegular(filepath.Join(dir, ledger.FileTimeline), contract.MaxTimeline)
	if err != nil {
		return nil, err
	}
	calls, err := contract.ParseTimeline(raw)
	if r.Tools.Fault != "" {
		err = nil
	}
	return calls, err
}

func (a *app) listCalls(r *view.RequestStatus, calls []contract.Entry) error {
	if len(calls) == 0 {
		return nil
	}
	if r.Backend == schemas.BackendMonty {
		fmt.Fprintln(a.UI.Out, "\nA program made these calls. No plan has their arguments, so nobody can compute "+
			"their digests anew.")
	}
	fmt.Fprintln(a.UI.Out)
	var rows [][]string
	for _, c := range calls {
		start := time.UnixMilli(int64(c.StartTS * 1000)).UTC()
		took := fmt.Sprintf("%.0f ms", (c.EndTS-c.StartTS)*1000)
		rows = append(rows, []string{start.Format("15:04:05.000"), took, c.Code, term.Bytes(c.Bytes),
			c.ArgsHash[:12] + "…", c.Tool})
	}
	head := []string{"UTC", "TOOK", "CODE", "BYTES", "ARGUMENTS", "TOOL"}
	return term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, head, rows)
}
