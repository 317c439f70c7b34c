package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// withheldJSON is a place or file that a result does not hold, as programs get it.
type withheldJSON struct {
	RequestID string `json:"request_id"`
	Item      string `json:"item"`
	ResultID  string `json:"result_id"`
	// Place is its number in the result, from 1: threegate reissue takes it.
	Place int    `json:"place"`
	Dir   string `json:"dir"`
	result.Withheld
	// Text is the beginning of it; invalid bytes are U+FFFD.
	Text string `json:"text,omitempty"`
}

const (
	maxWithheldRecord = 64 << 20
	maxWithheldText   = 4 << 10
	shownWithheldText = 60 // characters in a table
)

// listWithheld shows what the results that are in force do not hold, oldest first.
func (a *app) listWithheld(f listFlags) error {
	l, err := a.ReadNode()
	if err != nil {
		return err
	}
	list := []withheldJSON{}
	err = view.Results(l, func(r *view.RequestStatus) error {
		if r.Withheld == 0 || r.Recalled != nil || r.Last().Before(f.from) {
			return nil
		}
		found, err := withheldOf(l, r)
		for _, w := range found {
			if f.rule == "" || below(w.Rule, f.rule) {
				list = append(list, w)
			}
		}
		return err
	})
	if err != nil {
		return cli.Troublef(err, "", "can't list what was withheld")
	}
	list, rest := paged(f, list)
	if a.JSON {
		return a.PrintJSON(list)
	}
	if len(list) == 0 {
		a.UI.Say("nothing was withheld")
		return nil
	}
	var rows [][]string
	for _, w := range list {
		text := []rune(strings.Join(strings.Fields(w.Text), " "))
		rows = append(rows, []string{w.RequestID, fmt.Sprint(w.Place), w.Channel, w.lines(), w.Rule, w.may(),
			string(text[:min(len(text), shownWithheldText)])})
	}
	head := []string{"REQUEST", "PLACE", "WHERE", "LINES", "RULE", "RELEASE", "TEXT"}
	err = term.ListBelow(a.UI.Out, a.UI.OutStyle, a.UI.Wide(), 6, head, rows)
	if rest != "" {
		a.UI.Say("%s", rest)
	}
	return err
}

// may says whether a person may release it.
func (w *withheldJSON) may() string {
	if len(w.Releases) > 0 {
		return "yes"
	}
	return "no"
}

// lines are those of the place in its file.
func (w *withheldJSON) lines() string {
	if w.First > 0 {
		return fmt.Sprintf("%d-%d", w.First, w.Last)
	}
	return "all"
}

func withheldCount(n int) string { return term.Plural(n, "place or file", "places and files") }

// listMissing says of each place and file that a result does not hold by which rule, and why.
func (a *app) listMissing(list []withheldJSON) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.UI.Out)
	var rows [][]string
	for _, w := range list {
		rows = append(rows, []string{fmt.Sprint(w.Place), w.Channel, w.lines(), w.Rule, w.Why})
	}
	err := term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, []string{"PLACE", "WITHHELD", "LINES",
		"RULE", "WHY"}, rows)
	if dir := list[0].Dir; err == nil {
		fmt.Fprintf(a.UI.Out, "It is kept in %s. `threegate explain RULE` says how to mend it.\n", dir)
		if slices.ContainsFunc(list, func(w withheldJSON) bool { return len(w.Releases) > 0 }) {
			fmt.Fprintf(a.UI.Out, "What can be released, `threegate reissue %s --place N` delivers after all.\n",
				list[0].RequestID)
		}
	}
	return err
}

// withheldOf reads what the result in force of a request does not hold, with the beginning of each text.
func withheldOf(l *config.Node, r *view.RequestStatus) ([]withheldJSON, error) {
	dir, err := view.ResultDir(l, r.Job, r.ResultID)
	if errors.Is(err, fs.ErrNotExist) { // removed by whoever keeps the archive small, or out of reach
		_, err = os.ReadDir(filepath.Join(l.Dir, spool.DirArchive))
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	job, err := view.JobDir(l, r.Job) // its files hold the texts
	if err != nil {
		return nil, err
	}
	b, err := durable.ReadRegular(filepath.Join(dir, ledger.FileWithheld), maxWithheldRecord)
	var record result.WithheldRecord
	if err == nil {
		err = schemas.DecodeStrict(b, &record)
	}
	if errors.Is(err, fs.ErrNotExist) { // on its way there
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %s: %w", r.Job, ledger.FileWithheld, err)
	}
	var list []withheldJSON
	for i, w := range record.Withheld {
		list = append(list, withheldJSON{r.RequestID, r.Job, r.ResultID, i + 1, dir, w, textOf(job, w)})
	}
	return list, nil
}

// textOf is the beginning of what was withheld, or nothing if it is there no longer.
func textOf(dir string, w result.Withheld) string {
	root, err := os.OpenRoot(dir)
	if err != nil || w.File == "" {
		return ""
	}
	defer root.Close()
	if fi, err := root.Lstat(w.File); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	f, err := root.Open(w.File)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.NewSectionReader(f, w.From, min(w.To-w.From, maxWithheldText)))
	return string(b)
}
