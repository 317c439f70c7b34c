package record

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// Bounds of what is offered to a shell: a person waits for it at each press of a key.
const (
	maxOffered   = 100
	offeredBytes = 512 << 10 // of the record
)

// completeRequests offers ids of requests to shells, the newest first: those that wait, and the last ones on record.
// It says nothing where it can't.
func (a *app) completeRequests(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const rest = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	l, err := a.LoadNode()
	if err != nil || len(args) > 0 {
		return nil, rest
	}
	var ids []string
	seen := map[string]bool{}
	add := func(id, what string) {
		if spool.RequestStem(id+".md") != "" && !seen[id] && len(ids) < maxOffered {
			seen[id] = true
			ids = append(ids, id+"\t"+what)
		}
	}
	for _, in := range l.Inboxes {
		for _, name := range someNames(in.Path) {
			if stem := spool.RequestStem(name); stem != "" {
				add(stem, "in inbox "+in.Name)
			}
		}
	}
	for _, e := range slices.Backward(lastEvents(l)) {
		add(e.RequestID, string(e.Type))
	}
	return ids, rest
}

// completeItems offers ids of quarantined items to shells, the newest first.
func (a *app) completeItems(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const rest = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	l, err := a.LoadNode()
	if err != nil || len(args) > 0 {
		return nil, rest
	}
	requests := map[string]string{}
	for _, e := range lastEvents(l) {
		requests[e.RunID] = e.RequestID
	}
	var ids []string
	for _, dir := range []string{spool.DirQuarantineRequests, spool.DirQuarantineResults} {
		ids = append(ids, someNames(filepath.Join(l.Dir, dir))...)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !spool.ValidID(id) })
	slices.Sort(ids) // they begin with the time
	slices.Reverse(ids)
	ids = ids[:min(len(ids), maxOffered)]
	for i, id := range ids {
		if requests[id] != "" {
			ids[i] = id + "\t" + requests[id]
		}
	}
	return ids, rest
}

func lastEvents(l *config.Node) []ledger.Event {
	return ledger.Tail(filepath.Join(l.Dir, spool.DirLedger), offeredBytes)
}

// someNames lists a folder, as far as that is quick.
func someNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(10000)
	slices.Sort(names)
	return names
}
