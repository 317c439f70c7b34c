package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/secrets"
)

// deliver builds the result of a finished job and puts what passed into CORE's folder: the artifacts, and the result
// under a hidden name. Once the event is on record, publish makes it appear.
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
	filters, err := openFilters(ctx, j, result.ID(o.CreatedAt, a.Request.RequestID), cfg.Results.External)
	if err != nil {
		return err
	}
	in, err := g.resultInput(j, a, o, cfg, g.journal.Released(j.ID, j.SHA256), filters)
	if err != nil {
		return err
	}
	built, err := result.Build(in)
	if err != nil {
		return err
	}
	if err := writeResult(j, built); err != nil {
		return err
	}
	if built.Refused {
		reasons := g.reasons(j, schemas.KindResult, built.Findings)
		reasons.RequestID, reasons.ApprovedBy = a.Request.RequestID, a.Request.ApprovedBy
		if err := writeReasons(j, reasons); err != nil {
			return err
		}
	}
	if err := g.notePlace(j); err != nil {
		return err
	}
	seal, err := sealed(j) // nothing may change behind what is staged
	if err != nil {
		return err
	}
	name := built.ID + spool.ResultSuffix
	err = g.coreInbound(j, func() error {
		if built.Refused { // an earlier try may have found it good
			return g.publisher.Discard(name)
		}
		var files []spool.Artifact
		for _, f := range built.Artifacts {
			files = append(files, spool.Artifact{RelPath: f.Path, SourcePath: j.Path(f.From), SHA256: f.SHA256})
		}
		return g.publisher.Stage(name, built.Document, files)
	})
	if err != nil {
		return err
	}
	ev := ledger.Event{Type: ledger.ResultDelivered, RunID: j.ID, RequestID: a.Request.RequestID,
		RequestSHA256: a.RequestSHA256, Seal: seal, ResultID: built.ID, ResultSHA256: schemas.SHA256(built.Document),
		Withheld: len(built.Withheld), Filters: filters.names()}
	if built.Refused {
		ev.Type, ev.Rules = ledger.ResultQuarantined, blockingRules(built.Findings)
		ev.Notice, ev.Releasable = g.noticeName(j, a.Request.RequestID), quarantine.MayRelease(built.Findings)
		g.log.Info("result quarantined", "job", j.ID, "request", a.Request.RequestID, "rules", ev.Rules)
	} else {
		ev.Artifacts = len(built.Artifacts)
	}
	return g.record(ev)
}

// resultInput reads what a result is made of, judges its files and asks filters. releases are what persons took back.
func (g *Gate) resultInput(j *spool.Job, a *admitted, o *result.Outcome, cfg *config.Node, releases []ledger.Event,
	filters *filters) (in result.Input, err error) {
	in = result.Input{Request: &a.Request, RequestSHA256: a.RequestSHA256, Approvers: a.names(), Limits: a.Task.Limits,
		Registry: a.Registry, Outcome: o, Node: cfg.Node.Name, Lines: cfg.Results.StreamLines,
		Policy: cfg.Policy(g.now()), Releases: releases, Files: map[string]result.File{}}
	in.Policy.Released = releasedBy(releases)
	tools := patchpolicy.Run{Argv: a.Task.Argv, Given: a.Registry, Trees: a.Task.Trees, Work: a.Task.Work,
		Open: patchpolicy.In(j.Path(spool.DirInputs)), Hashes: j.InputHashes()}
	outputs, _ := result.Deliverable(&a.Request, o.Collected.Files)
	for _, f := range outputs {
		if in.Files[f.Path], err = judgeOutput(j, f.Path, &tools, o, &in.Policy, filters); err != nil {
			return in, err
		}
	}
	if in.Stdout, err = readStream(j, ledger.FileStdout, filters); err != nil {
		return in, err
	}
	if in.Stderr, err = readStream(j, ledger.FileStderr, filters); err != nil {
		return in, err
	}
	set := result.Secrets(&in)
	for _, f := range outputs {
		if in.Files[f.Path], err = maskOutput(j, f.Path, in.Files[f.Path], &in.Policy, set); err != nil {
			return in, err
		}
	}
	filters.judgeQuotes(&in)
	in.Unanswered, err = filters.end()
	return in, err
}

func readStream(j *spool.Job, name string, filters *filters) (s result.Stream, err error) {
	if s.Raw, err = os.ReadFile(j.Path(name)); err != nil {
		return s, fmt.Errorf("read captured stream: %w", err)
	}
	s.Withheld, s.Refused, err = filters.judgeChannel(name, bytes.NewReader(s.Raw), int64(len(s.Raw)))
	return s, err
}

// judgeOutput judges a file of the job by the rules about artifacts, as a patch if it is the one of a run of tools, and
// by filters.
func judgeOutput(j *spool.Job, name string, tools *patchpolicy.Run, o *result.Outcome, p *validate.Policy,
	filters *filters) (f result.File, err error) {
	file, err := os.Open(j.Path(ledger.DirOut, name))
	if err != nil {
		return f, fmt.Errorf("judge an artifact: %w", err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return f, fmt.Errorf("judge an artifact: %w", err)
	}
	if f.Verdict, err = validate.Artifact(name, file, st.Size(), *p); err != nil {
		return f, err
	}
	patch, notes, err := judgePatch(j, name, io.NewSectionReader(file, 0, st.Size()), tools, o, p)
	if err != nil {
		return f, err
	}
	if f.Raw, err = partialRaw(file, st.Size(), &f.Verdict); err != nil {
		return f, err
	}
	f.Notes, f.Verdict.Findings = notes, append(f.Verdict.Findings, patch...)
	if schemas.VerdictOf(patch) == schemas.VerdictReject {
		f.Verdict.Tier, f.Raw = max(f.Verdict.Tier, content.Withhold), nil
	}
	if f.Verdict.Tier != content.Note && f.Raw == nil { // it is not delivered
		return f, nil
	}
	withheld, refused, err := filters.judgeChannel("/out/"+name, file, st.Size())
	if len(withheld)+len(refused) > 0 {
		f.Raw = nil
	}
	for _, s := range slices.Concat(refused, withheld) {
		f.Verdict.Findings = append(f.Verdict.Findings, validate.Refusal("/out/"+name, s))
		f.Verdict.Tier = max(f.Verdict.Tier, content.Withhold)
	}
	if len(refused) > 0 {
		f.Verdict.Tier = content.Refuse
	}
	return f, err
}

// partialRaw reads a file if it is withheld for its text alone, and small enough that a part of it may be.
func partialRaw(file io.ReaderAt, size int64, v *validate.ArtifactVerdict) ([]byte, error) {
	if v.Tier != content.Mask && v.Tier != content.Withhold || size > channel.MaxPartial ||
		slices.ContainsFunc(v.Findings, func(f schemas.Finding) bool {
			r, _ := schemas.RuleByID(f.Rule)
			return f.Severity == schemas.SeverityBlocking && r.Tier == ""
		}) {
		return nil, nil
	}
	raw, err := io.ReadAll(io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, fmt.Errorf("read an artifact: %w", err)
	}
	return raw, nil
}

// maskOutput is the verdict on a file that may hold a secret which another channel shows as one.
func maskOutput(j *spool.Job, name string, f result.File, p *validate.Policy, set *secrets.Set) (result.File, error) {
	if set.Empty() || f.Verdict.Tier != content.Note {
		return f, nil
	}
	file, err := os.Open(j.Path(ledger.DirOut, name))
	if err != nil {
		return f, fmt.Errorf("look for secrets in an artifact: %w", err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return f, fmt.Errorf("look for secrets in an artifact: %w", err)
	}
	holds, err := validate.HoldsSecret(name, file, st.Size(), *p, set)
	if err == nil && holds {
		f.Verdict.Tier = content.Mask
		f.Raw, err = partialRaw(file, st.Size(), &f.Verdict)
		f.Verdict.Findings = append(f.Verdict.Findings, validate.Refusal("/out/"+name, validate.SecretElsewhere))
	}
	return f, err
}

// judgePatch says which rules the patch of a run of tools breaks, if the file is one: those of its registry that a
// patch shows, and those that were judged in a second sandbox.
func judgePatch(j *spool.Job, name string, file io.Reader, tools *patchpolicy.Run, o *result.Outcome,
	p *validate.Policy) (found []schemas.Finding, notes []string, err error) {
	if path.Base(name) != patchpolicy.File {
		return nil, nil, nil
	}
	patch, err := patchpolicy.Read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("judge a patch: %w", err)
	}
	found, notes, err = tools.Judge(patch, p)
	if err != nil || !recheck.Needed(tools.Given, o.Collected.Files) {
		return found, notes, err
	}
	second := o.Recheck
	if name != patchpolicy.File { // it was not looked at
		second = nil
	}
	more, told, err := second.Findings(j.Path(ledger.DirRecheck), patch, p.IsReleased)
	return append(found, more...), append(notes, told...), err
}

// writeResult writes what belongs to a result into the folder of its job.
func writeResult(j *spool.Job, b *result.Built) error {
	for _, w := range b.Written {
		if err := j.WriteFile(w.Name, w.Data); err != nil {
			return err
		}
	}
	if len(b.Withheld) > 0 {
		return writeRecord(j, ledger.FileWithheld, result.WithheldRecord{Version: recordVersion, ResultID: b.ID,
			Withheld: b.Withheld})
	}
	if _, err := os.Lstat(j.Path(ledger.FileWithheld)); err == nil { // of a try before this one
		return j.Remove(ledger.FileWithheld)
	}
	return nil
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
