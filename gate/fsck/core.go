package fsck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// core looks at what CORE can see. CORE may take away or remove anything, so
// that a result is not there is no fault; one that is there must be whole.
func (n *node) core() {
	dir := n.cfg.CoreInbound.Path
	es, err := os.ReadDir(dir)
	if n.unseen(dir, err) {
		return
	}
	if err != nil {
		n.found(CheckLayout, "", dir, "make the folder again, or mount it: results wait until it is there",
			"CORE's folder can't be read: %v", err)
		return
	}
	for _, e := range es {
		if n.ctx.Err() != nil {
			return
		}
		name, path := e.Name(), filepath.Join(dir, e.Name())
		id, hidden := strings.CutPrefix(name, ".")
		switch {
		case hidden && spool.IsTemporary(name):
			n.temporary(strings.TrimPrefix(strings.TrimSuffix(id, ".tmp"), "."), path)
		case hidden && strings.HasSuffix(id, spool.StagedSuffix):
			n.temporary(id, path)
		case hidden || !strings.HasPrefix(name, spool.ResultPrefix):
		case strings.HasSuffix(name, spool.ArtifactsSuffix):
			id := strings.TrimSuffix(name, spool.ArtifactsSuffix)
			if n.results[id] == nil && !n.inFinished(id) && !n.blind {
				n.found(CheckResult, "", path,
					"it belongs to no result of this node; remove it if CORE does not need it",
					"artifacts of a result that the ledger does not know")
			}
		case strings.HasSuffix(name, spool.ResultSuffix):
			n.visible(strings.TrimSuffix(name, spool.ResultSuffix), path)
		}
	}
}

// temporary looks at something hidden in CORE's folder; name is the name that
// it was to get, with a suffix.
func (n *node) temporary(name, path string) {
	if !strings.HasPrefix(name, spool.ResultPrefix) {
		return // not the node's
	}
	id := name
	for _, s := range []string{spool.StagedSuffix, spool.ArtifactsSuffix, spool.ResultSuffix} {
		id = strings.TrimSuffix(id, s)
	}
	if n.inFinished(id) || n.blind {
		n.report.Pending = append(n.report.Pending, path)
		return
	}
	j := n.results[id]
	if j != nil && j.announced == spool.StateDelivered && strings.HasSuffix(path, spool.StagedSuffix) {
		n.found(CheckResult, j.id, path,
			"rename it to "+id+spool.ResultSuffix+" if its sha256 is the one that the ledger has for the result",
			"the ledger says that the result was delivered, and it never appeared")
		return
	}
	n.leftover("", path, "no job that is to be delivered owns it")
}

// visible looks at one result that CORE can see.
func (n *node) visible(id, path string) {
	const mend = "tell CORE not to use it; archive/ holds what was delivered"
	raw, err := spool.ReadRegular(path, maxResultBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return // CORE took it meanwhile
	}
	if err != nil {
		n.found(CheckResult, "", path, mend, "the result can't be read: %v", err)
		return
	}
	n.report.Visible++
	j := n.results[id]
	if j == nil && n.blind {
		return
	}
	if j == nil || j.announced != spool.StateDelivered {
		n.found(CheckResult, "", path, mend, "the ledger knows of no delivery of this result")
		return
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != j.resultSHA {
		n.found(CheckDigest, j.id, path, mend, "its sha256 is not the one that the ledger has for the result")
	}
	switch j.kind() {
	case spool.DirArchive, string(spool.StateFinished), "": // of a job in no folder, CheckLost tells
	default:
		n.found(CheckResult, j.id, path, mend, "its job is neither in the archive nor on its way there but in %s",
			orNone(j.kind()))
	}
	p := validate.DefaultPolicy(n.now)
	p.Released = j.released
	r, findings := validate.Result(id+spool.ResultSuffix, raw, p)
	if r == nil || blocking(findings) {
		n.found(CheckResult, j.id, path, mend, "the result is not valid: %s", firstBlocking(findings))
		return
	}
	for _, a := range r.Artifacts {
		file := filepath.Join(strings.TrimSuffix(path, spool.ResultSuffix)+spool.ArtifactsSuffix,
			filepath.FromSlash(a.Path))
		switch got, err := spool.Digest(file); {
		case errors.Is(err, fs.ErrNotExist):
			if _, gone := os.Lstat(path); gone == nil {
				n.found(CheckResult, j.id, file, mend, "an artifact of the result is missing")
			}
		case err != nil:
			n.found(CheckResult, j.id, file, mend, "an artifact of the result can't be read: %v", err)
		case got != a.SHA256:
			n.found(CheckResult, j.id, file, mend, "the artifact's sha256 is %s; the result says %s", got, a.SHA256)
		}
	}
}
