package fsck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
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
			n.foreign(path)
		case strings.HasSuffix(name, spool.ArtifactsSuffix):
			n.artifacts(strings.TrimSuffix(name, spool.ArtifactsSuffix), path)
		case strings.HasSuffix(name, spool.ResultSuffix):
			n.visible(strings.TrimSuffix(name, spool.ResultSuffix), path)
		default:
			n.found(CheckResult, "", path, "move it away, so that CORE does not take it for a result",
				"it is named like a result of this node, and is none")
		}
	}
}

// arrived says whether CORE has a reissue.
func (r *given) arrived(n *node) bool {
	_, err := os.Lstat(n.path(spool.DirReissues, r.folder))
	return err == nil
}

// foreign notes what is not the node's in a folder of CORE's: CORE, or its folder's file system, may
// have put it there, and CORE reads only what is named as the node's is.
func (n *node) foreign(path string) {
	if name := filepath.Base(path); name == "lost+found" {
		return
	}
	if n.strangers++; n.strangers <= maxNamed {
		n.warn(CheckStray, "", whereOf(filepath.Split(path)),
			"nothing if it is CORE's; else find out who may write there", "the node did not put it there")
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
	r := n.results[id]
	if r != nil && r.folder != "" && !r.arrived(n) {
		n.report.Pending = append(n.report.Pending, path)
		return
	}
	if r != nil && r.job.announced == spool.StateDelivered && strings.HasSuffix(path, spool.StagedSuffix) {
		n.found(CheckResult, r.job.id, path,
			"rename it to "+id+spool.ResultSuffix+" if its sha256 is the one that the ledger has for the result",
			"the ledger says that the result was delivered, and it never appeared")
		return
	}
	n.leftover("", path, "no job that is to be delivered owns it")
}

// visible looks at one result that CORE can see.
func (n *node) visible(id, path string) {
	const hint = "tell CORE not to use it; archive/ holds what was delivered"
	raw, err := durable.ReadRegular(path, maxResultBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return // CORE took it meanwhile
	}
	if err != nil {
		n.found(CheckResult, "", path, hint, "the result can't be read: %v", err)
		return
	}
	n.report.Visible++
	of := n.results[id]
	switch {
	case of == nil && n.blind:
		n.unjudged("", path, "the ledger knows of no delivery of this result")
		of = &given{job: &job{}}
	case of == nil || of.job.announced != spool.StateDelivered:
		n.found(CheckResult, "", path, hint, "the ledger knows of no delivery of this result")
		return
	default:
		n.delivered(of, path, raw, hint)
	}
	j := of.job
	p := validate.DefaultPolicy(n.now)
	p.Released = slices.Concat(j.released, of.released)
	r, findings := validate.Result(id+spool.ResultSuffix, raw, p)
	if r == nil || blocking(findings) {
		n.found(CheckResult, j.id, path, hint, "the result is not valid: %s", firstBlocking(findings))
		return
	}
	folder := strings.TrimSuffix(path, spool.ResultSuffix) + spool.ArtifactsSuffix
	n.extra(j, folder, r.Artifacts)
	for _, a := range r.Artifacts {
		file := filepath.Join(folder, filepath.FromSlash(a.Path))
		switch got, err := durable.Digest(file); {
		case errors.Is(err, fs.ErrNotExist):
			if _, gone := os.Lstat(path); gone == nil {
				n.found(CheckResult, j.id, file, hint, "an artifact of the result is missing")
			}
		case err != nil:
			n.found(CheckResult, j.id, file, hint, "an artifact of the result can't be read: %v", err)
		case got != a.SHA256:
			n.found(CheckResult, j.id, file, hint, "the artifact's sha256 is %s; the result says %s", got, a.SHA256)
		}
	}
}

// delivered compares a visible result with the record of its delivery.
func (n *node) delivered(of *given, path string, raw []byte, hint string) {
	j := of.job
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != of.sha {
		n.found(CheckDigest, j.id, path, hint, "its sha256 is not the one that the ledger has for the result")
	}
	switch j.kind() {
	case spool.DirArchive, string(spool.StateFinished), "": // of a job in no folder, CheckLost tells
	default:
		n.found(CheckResult, j.id, path, hint, "its job is neither in the archive nor on its way there but in %s",
			orNone(j.kind()))
	}
}

// artifacts looks at a folder of artifacts. While its result is there, visible does that.
func (n *node) artifacts(id, path string) {
	of := n.results[id]
	switch {
	case of == nil && n.inFinished(id):
	case of == nil && n.blind:
		n.unjudged("", path, "artifacts of a result that the ledger does not know")
	case of == nil:
		n.found(CheckResult, "", path, "it belongs to no result of this node; remove it if CORE does not need it",
			"artifacts of a result that the ledger does not know")
	case len(of.job.places) > 0 && of.job.announced == spool.StateDelivered:
		if _, err := os.Lstat(strings.TrimSuffix(path, spool.ArtifactsSuffix) + spool.ResultSuffix); err == nil {
			return
		}
		dir := of.job.places[0].dir
		if of.folder != "" {
			dir = n.path(spool.DirReissues, of.folder)
		}
		raw, err := durable.ReadRegular(filepath.Join(dir, ledger.FileResult), maxResultBytes)
		if err != nil {
			return // named already, or on its way
		}
		p := validate.DefaultPolicy(n.now)
		p.Released = slices.Concat(of.job.released, of.released)
		if r, _ := validate.Result(id+spool.ResultSuffix, raw, p); r != nil {
			n.extra(of.job, path, r.Artifacts)
		}
	}
}

// extra names what lies in a folder of artifacts and is none of its result's.
func (n *node) extra(j *job, folder string, known []schemas.Artifact) {
	named := 0
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(folder, path)
		is := func(a schemas.Artifact) bool { return a.Path == filepath.ToSlash(rel) }
		if err != nil || relErr != nil || e.IsDir() || slices.ContainsFunc(known, is) {
			return nil // what can't be read and belongs to the result, visible finds
		}
		if named++; named > maxNamed {
			return fs.SkipAll
		}
		n.found(CheckResult, j.id, whereOf(folder, rel),
			"remove it: CORE must not take it for an artifact of the result", "no artifact of the result is named so")
		return nil
	})
}
