package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// artifactsRecord is the content of ledger.FileArtifacts.
type artifactsRecord struct {
	Version   int               `json:"version"`
	Artifacts []result.Artifact `json:"artifacts"`
}

// number is which result of its job an event is about: that of a run is 1.
func (g *Gate) number(e ledger.Event) int {
	n := 1
	if ledger.Reissues(e) {
		_, _ = fmt.Sscanf(e.ResultID[strings.LastIndexByte(e.ResultID, '-')+1:], "%d", &n)
	}
	return n
}

// onItsWay says whether the result that an event reissues may not have reached CORE.
func (g *Gate) onItsWay(e ledger.Event) bool {
	if !ledger.Reissues(e) {
		return false
	}
	_, err := os.Lstat(g.spool.Rendering("." + spool.RenderingName(e.RunID, g.number(e))).Path())
	return err == nil
}

// reissueResult is the event by which another rendering of an archived result is the answer to its request: by the
// rules of today, without what the order and those before it take back. The rendering lies in a sealed folder of its
// own before; deliverReissues brings it to CORE.
func (g *Gate) reissueResult(ctx context.Context, o *orders.Order) (ledger.Event, error) {
	none := ledger.Event{}
	e, err := g.inForce(o.Subject)
	if err != nil {
		return none, err
	}
	if e.ResultSHA256 != o.ResultSHA256 {
		return none, orders.Refusef("the answer to %s is another one now: %s, sha256 %s", e.RequestID, e.ResultID,
			e.ResultSHA256)
	}
	j, err := g.spool.Archived(e.RunID)
	if errors.Is(err, fs.ErrNotExist) {
		return none, orders.Refusef("job %s is in the archive no longer: nothing can be rendered of it", e.RunID)
	} else if err != nil {
		return none, err
	}
	sealed, releases, err := g.pastOf(j)
	if err != nil {
		return none, err
	}
	if why, err := g.mayReissue(j, e, sealed, o.Released); why != "" || err != nil {
		return none, errors.Join(err, orders.Refusef("%s", why))
	}
	n := g.freeNumber(e)
	r, err := g.spool.NewRendering(spool.RenderingName(j.ID, n))
	if err != nil {
		return none, err
	}
	again := ledger.Event{Type: ledger.ResultReissued, RunID: j.ID, RequestID: e.RequestID,
		RequestSHA256: e.RequestSHA256, Replaces: e.ResultID, ReplacesSHA256: e.ResultSHA256, Released: o.Released,
		By: o.By}
	err = g.renderAgain(ctx, j, r, n, &again, append(releases, again))
	if err == nil && again.Withheld >= e.Withheld {
		err = orders.Refusef("the result would hold no more than it does: %d places and files are withheld", e.Withheld)
	}
	if err != nil {
		return none, errors.Join(err, g.spool.DropRendering(r.ID))
	}
	return again, nil
}

// pastOf is the seal of an archived job, and the events by which persons released something of it.
func (g *Gate) pastOf(j *spool.Job) (sealed string, releases []ledger.Event, err error) {
	err = ledger.FollowJob(filepath.Join(g.config().Dir, spool.DirLedger), j.ID).Read(func(e ledger.Event) error {
		switch {
		case e.RunID != j.ID:
		case ledger.Announces(e) == spool.StateDelivered:
			sealed = e.Seal
		case len(e.Released) > 0 && e.RequestSHA256 == j.SHA256:
			releases = append(releases, e)
		}
		return nil
	})
	return sealed, releases, err
}

// mayReissue says why a result can't be reissued without what is wanted, or "".
func (g *Gate) mayReissue(j *spool.Job, e ledger.Event, sealed string, wanted []schemas.Release) (string, error) {
	last := j
	if ledger.Reissues(e) {
		last = g.spool.Rendering(spool.RenderingName(j.ID, g.number(e)))
	}
	for _, x := range []struct {
		dir, seal string
	}{{j.Path(), sealed}, {last.Path(), e.Seal}} {
		broken, err := seal.Check(x.dir, x.seal, ledger.FileStagedIn)
		if err != nil || len(broken) > 0 {
			what := "its list can't be read"
			if len(broken) > 0 {
				what = fmt.Sprintf("%s: %s", spool.Quote(broken[0].Path), broken[0].What)
			}
			return fmt.Sprintf("job %s is not as it was sealed: %s", j.ID, what), err
		}
	}
	var w result.WithheldRecord
	if e.Withheld > 0 {
		if err := readRecord(last, ledger.FileWithheld, &w, &w.Version); err != nil {
			return "", err
		}
	}
	var may []schemas.Release
	for _, p := range w.Withheld {
		may = append(may, p.Releases...)
	}
	for _, x := range wanted {
		if !slices.Contains(may, x) {
			return fmt.Sprintf("nothing that can be released is withheld of it by rule %q for bytes of sha256 %q",
				x.Rule, x.SHA256), nil
		}
	}
	return "", nil
}

// freeNumber is the number of the next result of a job. A request whose own id ends so keeps its name.
func (g *Gate) freeNumber(e ledger.Event) int {
	n := g.number(e) + 1
	for {
		if _, taken := g.journal.Admitted(fmt.Sprintf("%s-%d", e.RequestID, n)); !taken {
			return n
		}
		n++
	}
}

// renderAgain writes the rendering of an archived job into its folder, seals that, and completes the event. An error
// that is a Refusal says that the rules of today refuse it.
func (g *Gate) renderAgain(ctx context.Context, j, to *spool.Job, n int, e *ledger.Event,
	releases []ledger.Event) error {
	a, err := readAdmission(j)
	if err != nil {
		return err
	}
	o, err := readOutcome(j, &a.Request)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s-%d", result.ID(o.CreatedAt, a.Request.RequestID), n)
	cfg := g.config()
	filters, err := openFilters(ctx, j, id, cfg.Results.External)
	if err != nil {
		return err
	}
	filters.j = to // what they answer goes where the rendering is
	in, err := g.resultInput(j, a, o, cfg, releases, filters)
	if err != nil {
		return err
	}
	in.ResultID, in.Replaces = id, e.Replaces
	built, err := result.Build(in)
	if err != nil {
		return err
	}
	if built.Refused {
		return orders.Refusef("the rules of today refuse the result that would be delivered: %s",
			strings.Join(blockingRules(built.Findings), ", "))
	}
	if err := writeResult(to, built); err != nil {
		return err
	}
	if err := writeRecord(to, ledger.FileArtifacts, artifactsRecord{recordVersion, built.Artifacts}); err != nil {
		return err
	}
	list, digest, err := seal.Make(to.Path(), true)
	if err == nil {
		err = to.WriteFile(seal.File, list)
	}
	if err == nil {
		err = to.Sync()
	}
	e.Seal, e.ResultID, e.ResultSHA256 = digest, id, schemas.SHA256(built.Document)
	e.Artifacts, e.Withheld, e.Filters = len(built.Artifacts), len(built.Withheld), filters.names()
	return err
}

// dropRenderings removes renderings that are on no record: an order that a crash cut off makes them anew. It is called
// before any order is carried out.
func (g *Gate) dropRenderings() error {
	names, err := spool.Renderings(g.config().Dir, "")
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, _, onItsWay, _ := spool.RenderingOf(name); !onItsWay {
			continue
		}
		if _, on, err := g.renderingOf(name); err != nil {
			return err
		} else if on {
			continue
		}
		if err := g.spool.DropRendering(name); err != nil {
			return err
		}
	}
	return nil
}

// renderingOf is the event of a rendering that is on its way; on says that it is on record.
func (g *Gate) renderingOf(name string) (e ledger.Event, on bool, err error) {
	job, n, _, _ := spool.RenderingOf(name)
	x, ok := g.journal.Job(job)
	if !ok {
		return e, false, nil
	}
	e, err = g.eventAt(x.At)
	return e, ledger.Reissues(e) && g.number(e) == n, err
}

// deliverReissues brings renderings to CORE until ctx ends. Nothing waits for it.
func (g *Gate) deliverReissues(ctx context.Context, fatal chan<- error) {
	for ctx.Err() == nil {
		err := g.deliverRenderings()
		if unknown(err) {
			offer(fatal, err)
			return
		}
		if err == nil {
			g.troubles.Clear(troubleReissues)
			select {
			case <-ctx.Done():
			case <-g.out.reissues:
			}
			continue
		}
		t := g.trouble(troubleReissues, "a result that takes the place of another can't be delivered", err)
		wait := g.troubles.Set(t)
		g.log.Error("a reissue can't be delivered, will be tried again", "error", err, "mend", t.Hint, "again_in", wait)
		sleep(ctx, wait)
	}
}

// deliverRenderings delivers what is on its way and on record. What is on no record belongs to an order that waits, or
// is nothing.
func (g *Gate) deliverRenderings() (failed error) {
	names, err := spool.Renderings(g.config().Dir, "")
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, _, onItsWay, _ := spool.RenderingOf(name); !onItsWay {
			continue
		}
		e, on, err := g.renderingOf(name)
		if err == nil && on {
			err = g.deliverRendering(g.spool.Rendering(name), e)
		}
		if unknown(err) {
			return err
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// deliverRendering makes a rendering appear in CORE's folder, once. It can be called again after a crash: what was
// staged whole says so in its folder.
func (g *Gate) deliverRendering(r *spool.Job, e ledger.Event) error {
	place, err := r.ReadFile(ledger.FileStagedIn, maxPlaceBytes)
	if errors.Is(err, fs.ErrNotExist) {
		place, err = g.stageRendering(r, e)
	}
	if err != nil {
		return err
	}
	if err := g.coreInbound(r, func() error {
		return g.publisher.Commit(e.ResultID+spool.ResultSuffix, string(place))
	}); err != nil {
		return err
	}
	g.log.Info("result reissued", "job", e.RunID, "request", e.RequestID, "result", e.ResultID, "replaces", e.Replaces)
	return g.spool.Arrived(r)
}

// stageRendering stages a rendering in CORE's folder, and then notes durably in which.
func (g *Gate) stageRendering(r *spool.Job, e ledger.Event) (place []byte, err error) {
	j, err := g.spool.Archived(e.RunID)
	if err != nil {
		return nil, err
	}
	var a artifactsRecord
	if err := readRecord(r, ledger.FileArtifacts, &a, &a.Version); err != nil {
		return nil, err
	}
	document, err := r.ReadFile(ledger.FileResult, maxRecordBytes)
	if err != nil {
		return nil, err
	}
	var files []spool.Artifact
	for _, f := range a.Artifacts {
		from := r.Path(f.From)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) { // as the run left it
			from = j.Path(f.From)
		}
		files = append(files, spool.Artifact{RelPath: f.Path, SourcePath: from, SHA256: f.SHA256})
	}
	err = g.coreInbound(r, func() error {
		in, err := g.publisher.Place()
		if err == nil {
			place, err = []byte(in), g.publisher.Stage(e.ResultID+spool.ResultSuffix, document, files)
		}
		return err
	})
	if err == nil {
		err = r.WriteFile(ledger.FileStagedIn, place)
	}
	if err == nil {
		err = r.Sync()
	}
	return place, err
}
