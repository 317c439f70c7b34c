package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// withheldJSON is a place or file that a result does not hold, as programs get it.
type withheldJSON struct {
	Item     string `json:"item"`
	ResultID string `json:"result_id"`
	Dir      string `json:"dir"`
	result.Withheld
	// Text is the beginning of it; invalid bytes are U+FFFD.
	Text string `json:"text,omitempty"`
}

const (
	maxWithheldRecord = 64 << 20
	maxWithheldText   = 4 << 10
	shownWithheldText = 60 // characters in a table
)

// listWithheld shows what results do not hold, oldest first.
func (a *app) listWithheld() error {
	l, err := a.ReadNode()
	if err != nil {
		return err
	}
	list := []withheldJSON{}
	_, _, err = ledger.Read(filepath.Join(l.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.Withheld == 0 {
			return nil
		}
		found, err := withheldOf(l.Dir, e)
		list = append(list, found...)
		return err
	})
	if err != nil {
		return cli.Troublef(err, "", "can't list what was withheld")
	}
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
		rows = append(rows, []string{w.Item, w.ResultID, w.Channel, w.lines(), w.Rule,
			string(text[:min(len(text), shownWithheldText)])})
	}
	head := []string{"ITEM", "RESULT", "WHERE", "LINES", "RULE", "TEXT"}
	return term.ListBelow(a.UI.Out, a.UI.OutStyle, a.UI.Wide(), 5, head, rows)
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
		rows = append(rows, []string{w.Channel, w.lines(), w.Rule, w.Why})
	}
	err := term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, []string{"WITHHELD", "LINES", "RULE", "WHY"}, rows)
	if dir := list[0].Dir; err == nil {
		fmt.Fprintf(a.UI.Out, "It is kept in %s. `threegate explain RULE` says how to mend it.\n", dir)
	}
	return err
}

// withheldOf reads the record of a job, with the beginning of each text.
func withheldOf(node string, e ledger.Event) ([]withheldJSON, error) {
	dirs, err := spool.Archived(node, e.RunID)
	if err != nil {
		return nil, err
	}
	for _, dir := range append(dirs, filepath.Join(node, spool.DirQuarantineResults, e.RunID)) {
		b, err := durable.ReadRegular(filepath.Join(dir, ledger.FileWithheld), maxWithheldRecord)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r result.WithheldRecord
		if err == nil {
			err = schemas.DecodeStrict(b, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("job %s: %s: %w", e.RunID, ledger.FileWithheld, err)
		}
		var list []withheldJSON
		for _, w := range r.Withheld {
			list = append(list, withheldJSON{e.RunID, e.ResultID, dir, w, textOf(dir, w)})
		}
		return list, nil
	}
	return nil, nil // removed by whoever keeps the archive small, or on its way there
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
