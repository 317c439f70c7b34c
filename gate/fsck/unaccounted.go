package fsck

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

const hintStray = "find out who put it there, and move it out of the node: no record of the job tells of it"

// unaccounted names what lies in the folder of a job that has ended, and is on no
// record. Folders carry nothing by themselves.
func (n *node) unaccounted(j *job, dir string, c *spool.Claim, end *result.Outcome) {
	known, skip := onRecord(j, c, end)
	named := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it moved on
		case err != nil:
			n.unreadable(j.id, path, err)
			return nil
		case relErr != nil || n.ctx.Err() != nil:
			return fs.SkipAll
		case e.IsDir() && skip[rel]:
			return fs.SkipDir
		case e.IsDir() != known[rel], filepath.Dir(path) == dir && spool.IsTemporary(e.Name()): // found elsewhere
			return nil
		case path == filepath.Join(dir, seal.File):
			return nil
		case named == maxNamed:
			n.found(CheckStray, j.id, dir, hintStray, "more lies here that is on no record: only %d are named", named)
			return fs.SkipAll
		}
		named++
		kind := map[fs.FileMode]string{0: "a file", fs.ModeDir: "a folder"}[e.Type()]
		n.found(CheckStray, j.id, whereOf(dir, rel), hintStray, "%s that is on no record",
			cmp.Or(kind, "neither a file nor a folder"))
		return nil
	})
	if err != nil {
		n.unreadable(j.id, dir, err)
	}
}

// sometimes are files that the folder of a job that came to a result may hold.
var sometimes = []string{oldDelivery, ledger.FileStagedIn, ledger.FileSpans, ledger.FileWithheld, ledger.FileFilters,
	ledger.FileTimeline, ledger.FileStdoutShown, ledger.FileStderrShown}

// onRecord is what the folder of a job may hold by its records, and the folders
// that are not looked into. A verdict that a crash took back has left its reasons,
// or the admission. A run that was lost may have been cut short while its outputs
// were copied, and then its outcome tells of none.
func onRecord(j *job, c *spool.Claim, end *result.Outcome) (known, skip map[string]bool) {
	known = map[string]bool{spool.FileClaim: true, ledger.FileAdmission: true, quarantine.FileJSON: true,
		quarantine.FileMarkdown: true, filepath.Join(ledger.DirGiven, patchpolicy.RegistryFile): true,
		spool.FileRequest: c.HasRequest, spool.FileSignature: c.HasSignature}
	skip = map[string]bool{spool.DirRaw: true, ledger.DirRecheck: true}
	for _, in := range c.InputFiles {
		known[filepath.Join(spool.DirInputs, strings.TrimPrefix(in.Path, "/in/"))] = true
	}
	if j.end == nil && j.kind() == spool.DirQuarantineRequests {
		return known, skip
	}
	for _, name := range slices.Concat(ranFiles, sometimes) {
		known[name] = true
	}
	if end == nil || end.Outcome.Cause == schemas.CauseInterrupted && len(end.Collected.Files) == 0 {
		skip[ledger.DirOut] = true
		return known, skip
	}
	for i, f := range end.Collected.Files {
		known[ledger.ShownOutput(i)] = true
		known[filepath.Join(ledger.DirOut, filepath.FromSlash(f.Path))] = true
	}
	return known, skip
}
