package audit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate/approval"
)

// Names in a case file.
const (
	caseIndex      = "case.json"
	caseVerify     = "VERIFY.md"
	caseCheckpoint = "checkpoint"
	caseStatement  = "statement.sigstore.json"
	caseJob        = "job"
	caseReissues   = "reissues"
	caseEvents     = "events"
	caseOrders     = "orders"
	caseSigners    = "signers"
	caseApprovals  = "approvals"
	caseVersion    = 1
	suffixProof    = ".spicy"
)

// Case is the index of a case file.
type Case struct {
	Version   int    `json:"version"`
	Origin    string `json:"origin"`
	Job       string `json:"job"`
	RequestID string `json:"request_id"`
	// Events are the numbers of the job's events, and of those that say by which signers its approval was judged.
	Events []int64 `json:"events"`
	// Without are the paths of the job that were left out.
	Without []string `json:"without,omitempty"`
}

// ErrNoCase says that a request is not on record, or not signed yet.
var ErrNoCase = errors.New("there is nothing to prove")

//go:embed VERIFY.md
var verifyText string

// found are the lines that a case is about.
type found struct {
	Case
	lines    map[int64][]byte
	admitted *ledger.Event
	orders   []string // their digests
	signers  []string
	place    string
}

// Prove writes a case file of a request or a job: all that shows on another machine what came of it, up to the last
// checkpoint in checkpoints. What lies below the paths of without, in the job's folder, is left out.
func Prove(ctx context.Context, cfg *config.Node, checkpoints, id string, without []string, to io.Writer) (*Case,
	error) {
	c, err := newest(checkpoints)
	if err != nil {
		return nil, err
	}
	f := &found{lines: map[int64][]byte{}, Case: Case{Version: caseVersion, Origin: c.Origin, Without: without}}
	if f.Job, f.RequestID, err = jobOf(cfg, id); err != nil {
		return nil, err
	}
	var node []byte
	t, err := signedTree(ctx, cfg, c, func(n int64, line []byte) error {
		if bytes.Contains(line, []byte(`"node":{`)) {
			node = bytes.Clone(line)
		}
		if bytes.Contains(line, []byte(f.Job)) || bytes.Contains(line, []byte(ledger.RequestCancelled)) {
			return f.note(n, line, node)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.lines) == 0 {
		return nil, fmt.Errorf("%w: no checkpoint signs an event of %s yet", ErrNoCase, id)
	}
	if f.place, err = view.JobDir(cfg, f.Job); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the folder of job %s is gone: it was pruned, or moved away", ErrNoCase, f.Job)
	} else if err != nil {
		return nil, err
	}
	z := gzip.NewWriter(to)
	w := &caseWriter{tar.NewWriter(z)}
	err = f.write(w, cfg, t, c, checkpoints)
	return &f.Case, errors.Join(err, w.Close(), z.Close())
}

// jobOf is the job and the request that an id means: it is one or the other's.
func jobOf(cfg *config.Node, id string) (job, request string, err error) {
	var h ledger.History
	_, _, err = ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		h.Note(e)
		return nil
	})
	if err != nil {
		return "", "", err
	}
	if j, known := h.Job(id); known {
		return j.ID, j.RequestID, nil
	}
	r := h.Request(id)
	if r.Job == "" {
		err = fmt.Errorf("%w: the record has no request %s", ErrNoCase, spool.Quote(id))
	}
	return r.Job, r.RequestID, err
}

// note takes in an event that names the job, and the last one before that said what the node goes by.
func (f *found) note(n int64, line, node []byte) error {
	e, err := ledger.Parse(line)
	cancels := e.Type == ledger.RequestCancelled && f.RequestID != "" && strings.EqualFold(e.RequestID, f.RequestID)
	if err != nil || !cancels && e.RunID != f.Job && !slices.Contains(e.Jobs, f.Job) {
		return err
	}
	f.keep(n+1, line)
	admits := e.Type == ledger.DeliveryAttempted && e.Outcome == ledger.OutcomeAdmitted
	if admits {
		f.admitted = &e
	}
	if e.Order != "" {
		f.orders = append(f.orders, e.Order)
	}
	if !admits && e.Order == "" {
		return nil
	}
	if started, err := ledger.Parse(node); err == nil && started.Node != nil { // an older record has none
		f.keep(started.Seq, node)
		f.signers = append(f.signers, started.Node.Signers...)
	}
	return nil
}

func (f *found) keep(seq int64, line []byte) {
	if f.lines[seq] == nil {
		f.Events = append(f.Events, seq)
	}
	f.lines[seq] = bytes.Clone(line)
}

// write packs the case.
func (f *found) write(w *caseWriter, cfg *config.Node, t *tree, c Checkpoint, checkpoints string) error {
	slices.Sort(f.Events)
	index, err := json.MarshalIndent(f.Case, "", "  ")
	if err != nil {
		return err
	}
	err = errors.Join(w.add(caseVerify, []byte(f.instructions())), w.add(caseIndex, append(index, '\n')),
		w.add(caseCheckpoint, c.Note))
	for _, seq := range f.Events {
		proof, perr := proofOf(t, seq-1, c)
		name := path.Join(caseEvents, fmt.Sprintf("%d.json", seq))
		err = errors.Join(err, perr, w.add(name, f.lines[seq]), w.add(name+suffixProof, proof))
	}
	slices.Sort(f.signers)
	for _, name := range slices.Compact(f.signers) {
		err = errors.Join(err, w.file(path.Join(caseSigners, name), filepath.Join(cfg.Dir, spool.DirSigners, name)))
	}
	if err = errors.Join(err, f.writeOrders(w, cfg), f.writeApprovals(w), f.writeJob(w, cfg.Dir)); err != nil {
		return err
	}
	err = w.file(caseStatement, statementFile(checkpoints, f.Job))
	if errors.Is(err, fs.ErrNotExist) { // it was not delivered
		return nil
	}
	return err
}

// proofOf shows that an entry is part of the log that a checkpoint signs, in the form of torchwood's spicy.
func proofOf(t *tree, index int64, c Checkpoint) ([]byte, error) {
	proof, err := tlog.ProveRecord(c.N, index, t)
	text := fmt.Appendf(nil, "index %d\n", index)
	for _, h := range proof {
		text = fmt.Appendf(text, "%s\n", base64.StdEncoding.EncodeToString(h[:]))
	}
	return append(append(text, '\n'), c.Note...), err
}

// writeOrders packs the orders that the job's events name.
func (f *found) writeOrders(w *caseWriter, cfg *config.Node) (err error) {
	for _, sum := range f.orders {
		for _, kind := range []string{".json", ".sig"} {
			one := w.file(path.Join(caseOrders, sum+kind), filepath.Join(cfg.Dir, spool.DirOrdersDone, sum+kind))
			if !errors.Is(one, fs.ErrNotExist) { // it has no signature, or was pruned
				err = errors.Join(err, one)
			}
		}
	}
	return err
}

// writeApprovals packs the parts of the signature file one by one, for ssh-keygen.
func (f *found) writeApprovals(w *caseWriter) error {
	raw, err := durable.ReadRegular(filepath.Join(f.place, spool.FileSignature), maxRecord)
	if err != nil || f.admitted == nil {
		return nil // there is none
	}
	parts, err := approval.Split(raw)
	for i, who := range f.admitted.Approvers {
		sig, named := parts.Signature, func(c approval.Cosigner) bool { return c.Name == who.Name }
		if at := slices.IndexFunc(parts.Also, named); i > 0 && at >= 0 {
			sig = parts.Also[at].Signature
		}
		name := path.Join(caseApprovals, fmt.Sprint(i+1))
		err = errors.Join(err, w.add(name+".name", []byte(who.Name+"\n")), w.add(name+".sig", sig))
	}
	if parts.Plan != nil {
		err = errors.Join(err, w.add(path.Join(caseApprovals, "plan.json"), parts.Plan),
			w.add(path.Join(caseApprovals, "plan.json.sig"), parts.PlanSignature))
	}
	return err
}

// writeJob packs the job's folder, and those of results that were issued again and that CORE has.
func (f *found) writeJob(w *caseWriter, node string) error {
	err := f.writeFolder(w, caseJob, f.place)
	names, listed := spool.Renderings(node, f.Job)
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			err = errors.Join(err, f.writeFolder(w, path.Join(caseReissues, name),
				filepath.Join(node, spool.DirReissues, name)))
		}
	}
	return errors.Join(err, listed)
}

// writeFolder packs the files of a folder, and nothing else that may lie there.
func (f *found) writeFolder(w *caseWriter, as, dir string) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, file)
		if err = errors.Join(err, relErr); err != nil || !d.Type().IsRegular() {
			return err
		}
		out := func(p string) bool { return rel == p || strings.HasPrefix(rel, strings.TrimSuffix(p, "/")+"/") }
		if slices.ContainsFunc(f.Without, out) {
			return nil
		}
		return w.file(path.Join(as, filepath.ToSlash(rel)), file)
	})
}

// instructions are VERIFY.md of this case.
func (f *found) instructions() string {
	at := ""
	if f.admitted != nil {
		at = f.admitted.Time.UTC().Format("20060102150405Z")
	}
	fill := strings.NewReplacer("@ORIGIN@", f.Origin, "@REQUEST@", f.RequestID, "@JOB@", f.Job, "@TIME@", at)
	return fill.Replace(verifyText)
}

// caseWriter writes an archive.
type caseWriter struct{ *tar.Writer }

func (w *caseWriter) add(name string, data []byte) error {
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)})
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// file adds a file as it lies there.
func (w *caseWriter) file(name, from string) error {
	f, err := durable.OpenRegular(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0)})
	}
	if err == nil {
		_, err = io.Copy(w, io.LimitReader(f, info.Size()))
	}
	return err
}
