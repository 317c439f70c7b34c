package record

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
)

// changeJSON is one thing that is not as it was when an item was refused.
type changeJSON struct {
	Path string `json:"path"`
	What string `json:"what"`
	// Unread means that nobody can tell: the caller may not read it.
	Unread bool `json:"unread,omitempty"`
}

// changed compares a quarantined item with its seal, which the ledger of the node in dir has.
func changed(dir string, it quarantine.Item) []changeJSON {
	record, err := view.Item(dir, it.ID)
	place := filepath.Join(dir, string(record.Place), it.ID)
	switch {
	case err == nil && !record.State.Ended():
		return []changeJSON{{Path: ".", What: "the ledger knows no such item"}}
	case err != nil:
		return []changeJSON{{Path: ".", What: "it can't be compared with the ledger: " + err.Error()}}
	case place != it.Dir:
		return []changeJSON{{Path: ".", What: "by the ledger it lies in " + filepath.Base(filepath.Dir(place))}}
	case record.Seal == "":
		return []changeJSON{{Path: ".", What: "nobody can tell: it was refused before items were sealed"}}
	}
	broken, err := seal.Check(it.Dir, record.Seal, ledger.FileStagedIn)
	if err != nil {
		return []changeJSON{{Path: ".", What: "it can't be read: " + err.Error()}}
	}
	var list []changeJSON
	for _, b := range broken {
		list = append(list, changeJSON{b.Path, b.What, b.Unread})
	}
	return list
}

// tellChanged says loudly what is not as it was refused.
func (a *app) tellChanged(list []changeJSON) {
	style := a.UI.OutStyle
	unread := func(c changeJSON) bool { return c.Unread }
	if n := len(list); n > 0 && slices.ContainsFunc(list, unread) {
		list = slices.DeleteFunc(slices.Clone(list), unread)
		fmt.Fprintf(a.UI.Out, "%s %s you may not read: nobody told whether that is as it was refused.\n\n",
			style.Yellow("not looked at:"), term.Plural(n-len(list), "file that", "files that"))
	}
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(a.UI.Out, style.Red("This item is not as it was when it was refused. Do not trust what is shown:"))
	for _, c := range list[:min(len(list), maxChanges)] {
		fmt.Fprintf(a.UI.Out, "  %s: %s\n", style.Red(term.Visible(c.Path)), term.Visible(c.What))
	}
	if more := len(list) - maxChanges; more > 0 {
		fmt.Fprintf(a.UI.Out, "  and %d more\n", more)
	}
	fmt.Fprintln(a.UI.Out)
}

// maxChanges bounds how many are named.
const maxChanges = 20

// approver is whom the reasons of an item name. It is not said of reasons that were changed.
func approver(r *quarantine.Reasons, list []changeJSON) string {
	if slices.ContainsFunc(list, func(c changeJSON) bool { return c.Path == quarantine.FileJSON || c.Path == "." }) {
		return "not known: see above"
	}
	return r.ApprovedBy
}
