package fsck

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/spool"
)

// maxName bounds a path that is shown as it is.
const maxName = 200

const hintSeal = "restore it from a backup, and find out who may write there; " + seal.File + " has the digests"

// sealed wants the folder of a job whose end is on record to be as it was sealed then, and to lie where
// it went. What another check named already is not named again.
func (n *node) sealed(j *job, dir string) {
	at := spool.State(j.kind())
	switch {
	case !j.announced.Ended():
		if !at.Ended() {
			return
		} // else the list is all there is: its end is not on record, or it was just released
	case j.seal != "":
	case j.early:
		n.report.Unsealed++
		return
	default:
		n.found(CheckSeal, j.id, dir, "keep the node as it is and report it: this must not happen",
			"its end was recorded without a seal")
		return
	}
	// A person may have removed the note of the folder of CORE's: see ledger.FileStagedIn.
	broken, err := seal.Check(dir, j.seal, ledger.FileStagedIn)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // it moved on
			n.unreadable(j.id, dir, err)
		}
		return
	}
	n.broken(j, dir, broken)
	if month := j.ended.UTC().Format("2006/01"); at == spool.StateDelivered && j.announced == at &&
		filepath.Dir(dir) != n.path(spool.DirArchive, filepath.FromSlash(month)) {
		n.found(CheckPlace, j.id, dir, "move it back there", "it ended in %s, and lies in another month", month)
	}
	if !at.Ended() {
		n.warn(CheckPlace, j.id, dir, "start the node: it moves the job there. If it was stopped "+
			"in order, find out who moved the job", "its end is on record, and it is not in %s yet", j.announced)
	}
}

// broken names what is not as it was sealed.
func (n *node) broken(j *job, dir string, broken []seal.Break) {
	named := 0
	for _, b := range broken {
		where := whereOf(dir, b.Path)
		is := func(f Finding) bool { return f.Job == j.id && f.Where == where }
		switch {
		case b.Unread:
			top, _, _ := strings.Cut(b.Path, "/")
			if where = whereOf(dir, top); !slices.Contains(n.report.Unseen, where) {
				n.report.Unseen = append(n.report.Unseen, where)
			}
			continue
		case slices.ContainsFunc(n.report.Found, is): // by another check
		case named == maxNamed:
			n.found(CheckSeal, j.id, dir, hintSeal, "more is not as it was sealed: only %d are named", named)
			return
		case b.Shared:
			n.warn(CheckSeal, j.id, where, "nothing: the file is kept as it came, and nothing of it was used",
				"%s; when it was quarantined, whoever put it into the inbox could still write to it", b.What)
		default:
			hint := hintSeal
			if b.Extra {
				hint = hintStray
			}
			n.found(CheckSeal, j.id, where, hint, "%s", b.What)
		}
		named++
	}
}

// whereOf is the path of something in a folder. Its name may be anybody's.
func whereOf(dir, rel string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(rel) > maxName || !utf8.ValidString(rel) || strings.ContainsFunc(rel, hidden) {
		rel = spool.Quote(rel)
	}
	return filepath.Join(dir, rel)
}
