package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// deliver renders the result of a finished job, judges the rendered bytes, and
// puts what passed into CORE's folder: the artifacts, and the result under a hidden
// name. Once the event is on record, publish makes it appear.
func (g *Gate) deliver(ctx context.Context, j *spool.Job) error {
	a, err := readAdmission(j)
	if err != nil {
		return err
	}
	o, err := readOutcome(j, &a.Request)
	if err != nil {
		return err
	}
	cfg := g.config()
	p := g.policy(j, g.now())
	filters, err := openFilters(ctx, j, resultID(o.CreatedAt, a.Request.RequestID), cfg.Results.External)
	if err != nil {
		return err
	}
	m, err := render(j, a, o, cfg, g.journal.Released(j.ID, j.SHA256), p, filters)
	if err != nil {
		return err
	}
	res, findings := m.res, m.judge()
	refused := schemas.VerdictOf(findings) == schemas.VerdictReject
	if refused {
		reasons := g.reasons(j, schemas.KindResult, findings)
		reasons.RequestID, reasons.ApprovedBy = a.Request.RequestID, a.Request.ApprovedBy
		if err := writeReasons(j, reasons); err != nil {
			return err
		}
	}
	if err := g.notePlace(j); err != nil {
		return err
	}
	digest, err := sealed(j) // nothing may change behind what is staged
	if err != nil {
		return err
	}
	name := res.ResultID + spool.ResultSuffix
	err = g.coreInbound(j, func() error {
		if refused { // an earlier try may have found it good
			return g.publisher.Discard(name)
		}
		return g.publisher.Stage(name, m.raw, m.files)
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(m.raw)
	ev := ledger.Event{Type: ledger.ResultDelivered, RunID: j.ID, RequestID: a.Request.RequestID,
		RequestSHA256: a.RequestSHA256, Seal: digest,
		ResultID: res.ResultID, ResultSHA256: hex.EncodeToString(sum[:]), Withheld: len(m.withheld),
		Filters: filters.names()}
	if refused {
		ev.Type, ev.Rules = ledger.ResultQuarantined, blockingRules(findings)
		ev.Notice, ev.Releasable = g.noticeName(j, a.Request.RequestID), quarantine.MayRelease(findings)
		g.log.Info("result quarantined", "job", j.ID, "request", a.Request.RequestID, "rules", ev.Rules)
	} else {
		ev.Artifacts = len(m.files)
	}
	return g.record(ev)
}

// publish makes a staged result appear. That it appeared already is fine.
func (g *Gate) publish(j *spool.Job) error {
	place, err := j.ReadFile(ledger.FileStagedIn, maxPlaceBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := g.journal.lastOf(j.ID)
	err = g.coreInbound(j, func() error { return g.publisher.Commit(end.ResultID+spool.ResultSuffix, string(place)) })
	if errors.Is(err, spool.ErrMoved) {
		err = executors.WithHint(err, "put that folder back; if it is lost, remove "+j.Path(ledger.FileStagedIn)+
			": the job then goes to the archive, with its result in it")
	}
	if err != nil {
		return err
	}
	g.log.Info("result delivered", "job", j.ID, "request", end.RequestID, "result", end.ResultID)
	return nil
}

// maxPlaceBytes bounds ledger.FileStagedIn.
const maxPlaceBytes = 8 << 10

// notePlace notes which folder is CORE's now, so that publish can tell whether a
// result that is no longer staged appeared there.
func (g *Gate) notePlace(j *spool.Job) error {
	var place string
	err := g.coreInbound(j, func() (err error) { place, err = g.publisher.Place(); return err })
	if err != nil {
		return err
	}
	return j.WriteFile(ledger.FileStagedIn, []byte(place))
}

// judge runs every rule over the bytes of the document, which has no exemption for what
// the gate wrote, and returns all that was found. What a stream is refused for is listed once, where
// the document shows it.
func (m *rendering) judge() []schemas.Finding {
	_, findings := validate.Result(m.res.ResultID+spool.ResultSuffix, m.raw, m.policy)
	seen := map[schemas.Release]bool{}
	for _, f := range findings {
		if f.Severity == schemas.SeverityBlocking {
			seen[schemas.Release{Rule: f.Rule}] = true
		}
		for _, r := range f.Releases() {
			seen[r] = true
		}
	}
	for _, f := range m.refusals {
		if !seen[schemas.Release{Rule: f.Rule, SHA256: f.Span}] {
			findings = append(findings, f)
		}
	}
	return schemas.SortFindings(append(findings, m.findings...))
}

// judgeFile judges a file of the job that is to be the artifact path.
func judgeFile(path, source string, p validate.Policy) (validate.ArtifactVerdict, error) {
	file, err := os.Open(source)
	if err != nil {
		return validate.ArtifactVerdict{}, fmt.Errorf("judge an artifact: %w", err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return validate.ArtifactVerdict{}, fmt.Errorf("judge an artifact: %w", err)
	}
	return validate.Artifact(path, file, st.Size(), p)
}
