package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// artifactHead is how much of a large artifact is looked at.
const artifactHead = 64 << 10

// maxScannedArtifact is the size up to which the whole of an artifact is scanned.
const maxScannedArtifact = 16 << 20

// deliver makes the result of a finished job, checks the rendered bytes, and
// moves them to CORE or to quarantine; then the job goes to the archive, and what
// is left of the run is removed, beside the work on other jobs.
//
// The verdict is on disk before anything follows from it, so a later start
// can't come to another one. Exactly once: a staged result is committed by one
// rename, and a staged file that is gone was committed before.
func (g *Gate) deliver(ctx context.Context, j *spool.Job) error {
	a, err := g.admissionOf(j)
	if err != nil {
		return err
	}
	// A verdict counts from its event on: before, a power cut can have torn it.
	var d delivery
	settled := g.book.marks(j.ID).settled
	if settled {
		err = readRecord(j, deliveryFile, &d, &d.Version)
	}
	if !settled || errors.Is(err, os.ErrNotExist) {
		staged := g.trace.Step(j.ID, stepStage)
		d, err = g.stage(j, a)
		staged()
	}
	if err != nil {
		return err
	}
	refused := schemas.VerdictOf(d.Findings) == schemas.VerdictReject
	if refused {
		err = g.recordRefusal(j, a, &d)
	} else {
		committed := g.trace.Step(j.ID, stepCommit)
		err = g.commit(j, a, &d)
		committed()
	}
	if err != nil {
		return err
	}
	archived := g.trace.Step(j.ID, stepArchive)
	if refused {
		err = g.shelve(j, spool.StoreResults)
	} else if err = j.Archive(g.now()); err == nil {
		g.forget(j.ID)
	}
	archived()
	if err != nil {
		return err
	}
	// What is left of the run is no job's any more: should the gate die now, the
	// next one removes it at its start.
	g.cleaner.remove(ctx, j.ID)
	return nil
}

// rendered is a result as it would leave, and what was found in it.
type rendered struct {
	id       string
	raw      []byte
	files    []spool.Artifact
	findings []schemas.Finding
	dir      string // of the job, when it was rendered
	// kept says that the verdict and the result are in the job's folder, durably.
	kept bool
	// staged, if set, waits until the result was put beside its final name, ahead of
	// its turn.
	staged func() error
}

// delivery is the verdict on a rendered result.
func (r *rendered) delivery() delivery {
	sum := sha256.Sum256(r.raw)
	return delivery{Version: recordVersion, ResultID: r.id, ResultSHA256: hex.EncodeToString(sum[:]),
		Artifacts: len(r.files), Findings: r.findings}
}

// write puts the verdict and the result into the job's folder.
func (r *rendered) write(j *spool.Job) error {
	if err := j.WriteFile(resultFile, r.raw); err != nil {
		return err
	}
	return writeRecord(j, deliveryFile, r.delivery())
}

// render renders the result of a run that has ended and checks the rendered bytes.
// It changes nothing.
func (g *Gate) render(j *spool.Job, a *admission, o *outcome) (*rendered, error) {
	r, files, err := buildResult(j, a, o, g.config().Node.Name, g.config().Results.StreamLines)
	if err != nil {
		return nil, err
	}
	raw, err := validate.RenderResult(r)
	if err != nil {
		return nil, fmt.Errorf("render the result: %w", err)
	}
	defer g.trace.Step(j.ID, partCheck)()
	p := g.config().Policy(g.now())
	_, findings := validate.Result(r.ResultID+".md", raw, p)
	for _, f := range files {
		fs, err := checkArtifact(f, p)
		if err != nil {
			return nil, err
		}
		findings = append(findings, fs...)
	}
	return &rendered{id: r.ResultID, raw: raw, files: files, findings: schemas.SortFindings(findings), dir: j.Path()}, nil
}

// stageAhead takes the first steps of the delivery of a job that has its outcome, and
// leaves to the delivery what can't be done now. Only what must stop the gate is an error.
func (g *Gate) stageAhead(j *spool.Job) error {
	v, ok := g.rendered.Load(j.ID)
	if !ok {
		return nil
	}
	r := v.(*rendered)
	// Artifacts are copied out of the job's folder, which is about to be renamed.
	if len(r.files) == 0 && schemas.VerdictOf(r.findings) == schemas.VerdictAccept && g.out.trouble() == nil {
		r.staged = g.out.ahead(func() error { return g.publisher.Stage(r.id+".md", r.raw, nil) })
	}
	err := r.write(j)
	if err == nil {
		err = j.Sync()
	}
	r.kept = err == nil
	if unknown(err) {
		return err
	}
	return nil
}

// renderAhead renders the result of a job for its delivery.
func (g *Gate) renderAhead(j *spool.Job, a *admission, o *outcome) error {
	g.rendered.Delete(j.ID) // of an earlier try
	r, err := g.render(j, a, o)
	if err == nil {
		g.rendered.Store(j.ID, r)
	}
	return err
}

// renderedOf is the result of a job, rendered now if the end of the run did not do
// that already.
func (g *Gate) renderedOf(j *spool.Job, a *admission) (*rendered, error) {
	if v, ok := g.rendered.LoadAndDelete(j.ID); ok {
		r := v.(*rendered)
		for i, f := range r.files { // the job went on
			r.files[i].SourcePath = j.Path(strings.TrimPrefix(f.SourcePath, r.dir))
		}
		return r, nil
	}
	o, err := readOutcome(j)
	if err != nil {
		return nil, err
	}
	return g.render(j, a, o)
}

// stage renders and checks the result, puts what passed beside its final name,
// and records the verdict.
func (g *Gate) stage(j *spool.Job, a *admission) (delivery, error) {
	var none delivery
	r, err := g.renderedOf(j, a)
	if err != nil {
		return none, err
	}
	if !r.kept {
		if err := r.write(j); err != nil {
			return none, err
		}
	}
	// The verdict counts from its event on, which comes after both.
	synced := func() error { return nil }
	if !r.kept {
		synced = g.beside(j.Sync)
	}
	d, name := r.delivery(), r.id+".md"
	if schemas.VerdictOf(r.findings) == schemas.VerdictAccept {
		err = g.out.toCore(j, func() error {
			if r.staged != nil && r.staged() == nil {
				return nil
			}
			err := g.publisher.Stage(name, r.raw, r.files)
			if errors.Is(err, spool.ErrConflict) { // what an earlier try staged, by another configuration
				if err = g.publisher.Discard(name); err == nil {
					err = g.publisher.Stage(name, r.raw, r.files)
				}
			}
			return err
		})
	} else {
		// An earlier try may have found it good.
		err = g.out.toCore(j, func() error { return g.publisher.Discard(name) })
	}
	return d, errors.Join(err, synced())
}

// commit makes a staged result visible, once.
func (g *Gate) commit(j *spool.Job, a *admission, d *delivery) error {
	placed := g.beside(j.Sync) // what is visible lies in finished, at least
	var err error
	if !g.book.marks(j.ID).settled {
		err = g.record(ledger.Event{Type: ledger.ResultDelivered, RunID: j.ID, RequestID: a.Request.RequestID,
			RequestSHA256: a.RequestSHA256, ResultID: d.ResultID, ResultSHA256: d.ResultSHA256, Artifacts: d.Artifacts})
	}
	if err = errors.Join(err, placed()); err != nil {
		return err
	}
	err = g.out.toCore(j, func() error {
		staged, err := g.publisher.Staged(d.ResultID + ".md")
		switch {
		case err != nil:
			return err
		case staged:
			return g.publisher.Commit(d.ResultID + ".md")
		default: // it appeared before, and whoever made it may have died then
			return g.publisher.Sync()
		}
	})
	if err != nil {
		return err
	}
	g.log.Info("result delivered", "job", j.ID, "request", a.Request.RequestID, "result", d.ResultID)
	return nil
}

// recordRefusal writes why a result may not leave. The whole job, with its
// outputs, then goes to quarantine.
func (g *Gate) recordRefusal(j *spool.Job, a *admission, d *delivery) error {
	reasons := g.reasons(j, schemas.KindResult, d.Findings)
	reasons.RequestID, reasons.ApprovedBy = a.Request.RequestID, a.Request.ApprovedBy
	if err := writeReasons(j, reasons); err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return err
	}
	rules := blockingRules(d.Findings)
	if !g.book.marks(j.ID).settled {
		err := g.record(ledger.Event{Type: ledger.ResultQuarantined, RunID: j.ID, RequestID: a.Request.RequestID,
			RequestSHA256: a.RequestSHA256, ResultID: d.ResultID, ResultSHA256: d.ResultSHA256, Rules: rules})
		if err != nil {
			return err
		}
	}
	g.log.Info("result quarantined", "job", j.ID, "request", a.Request.RequestID, "rules", rules)
	return nil
}

func checkArtifact(f spool.Artifact, p validate.Policy) ([]schemas.Finding, error) {
	file, err := os.Open(f.SourcePath)
	if err != nil {
		return nil, fmt.Errorf("check artifact: %w", err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("check artifact: %w", err)
	}
	limit := int64(maxScannedArtifact)
	whole := st.Size() <= limit
	if !whole {
		limit = artifactHead
	}
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, fmt.Errorf("check artifact: %w", err)
	}
	head, full := data, data
	if len(head) > artifactHead {
		head = head[:artifactHead]
	}
	if !whole {
		full = nil
	}
	return validate.Artifact(f.RelPath, head, st.Size(), full, p), nil
}
