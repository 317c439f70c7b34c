package gate_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/spool"
)

// sealedNode is a node that has all that may lie in quarantine and in the archive: requests refused
// with what could not be copied, results refused, whole and withheld in part, and damaged jobs.
func sealedNode(t *testing.T) *world {
	t.Helper()
	w := mustWorld(t, scenario{name: "sealed", word: "ok|; id|secret|bare|fail|order", again: true})
	inbox := w.cfg.Inboxes[1].Path
	hostile := filepath.Join(inbox, requestID(10)+".inputs")
	must(t, w.put(inbox, requestID(10), "ok"))
	must(t, errors.Join(os.Symlink("/etc/passwd", filepath.Join(hostile, "link")),
		os.WriteFile(filepath.Join(hostile, "bad\xffname"), []byte("words"), 0o644),
		os.WriteFile(filepath.Join(inbox, requestID(11)+".md"), bytes.Repeat([]byte("large "), 200<<10), 0o644)))
	must(t, os.WriteFile(filepath.Join(w.dir, "spool/claimed/stray"), []byte("no job"), 0o600))
	must(t, w.process(&injector{}))
	w.sealed(t)
	return w
}

// report is what fsck finds.
func (w *world) report(t *testing.T) *fsck.Report {
	t.Helper()
	r, err := fsck.Run(context.Background(), w.cfg, fsck.Options{})
	must(t, err)
	return r
}

func (w *world) sealed(t *testing.T) {
	t.Helper()
	if r := w.report(t); !r.Whole() || len(r.Warnings) > 0 || r.Unsealed > 0 {
		t.Fatalf("%+v, %+v, %d not sealed", r.Found, r.Warnings, r.Unsealed)
	}
}

// names wants fsck to name a path, and the node not to be whole.
func (w *world) names(t *testing.T, what, path string) {
	t.Helper()
	if rel, err := filepath.Rel(filepath.Dir(filepath.Dir(path)), path); err == nil && strings.Contains(rel, "\xff") {
		path = `bad\xffname` // shown with its hidden bytes made visible
	}
	r := w.report(t)
	if r.Whole() || !slices.ContainsFunc(r.Found, func(f fsck.Finding) bool {
		return strings.Contains(f.Where, path) || f.Job == path
	}) {
		t.Errorf("%s: fsck does not name %s: %+v", what, path, r.Found)
	}
}

// entries lists what lies below some folders of the node, without folders.
func (w *world) entries(t *testing.T, below ...string) (list []string) {
	t.Helper()
	for _, dir := range below {
		must(t, filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, path)
			}
			return err
		}))
	}
	return list
}

// TestEveryChangeOfASealedFileIsNamed tries every file of quarantine and archive.
func TestEveryChangeOfASealedFileIsNamed(t *testing.T) {
	w := sealedNode(t)
	files := w.entries(t, spool.DirQuarantine, spool.DirArchive)
	for _, name := range []string{spool.FileClaim, spool.FileRequest, seal.File, ledger.FileAdmission, ledger.FileOutcome,
		ledger.FileResult, ledger.FileSpans, ledger.FileWithheld, ledger.FileStagedIn, ledger.FileStdout, ledger.FileStderr,
		"reasons.json", "REASONS.md", "x.csv", "bad\xffname", "found"} {
		if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == name }) {
			t.Errorf("no %s is tried", name)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		return !strings.Contains(f, "/"+spool.DirRaw+"/")
	})); n < 2 {
		t.Errorf("%d files are tried that came as they were, want a large request and inputs", n)
	}
	done := map[string]bool{}
	for _, file := range files {
		if more := filepath.Join(filepath.Dir(file), "more"); !done[more] {
			done[more] = true
			must(t, os.WriteFile(more, nil, 0o600))
			w.names(t, "a file more", more)
			must(t, os.Remove(more))
		}
		if to, err := os.Readlink(file); err == nil {
			must(t, errors.Join(os.Remove(file), os.Symlink("/etc/passwe", file)))
			w.names(t, "a link to elsewhere", file)
			must(t, errors.Join(os.Remove(file), os.Symlink(to, file)))
			continue
		}
		raw, err := os.ReadFile(file)
		must(t, err)
		change := func(what string, to []byte) {
			t.Helper()
			must(t, os.WriteFile(file, to, 0o600))
			w.names(t, what, file)
		}
		if len(raw) > 0 {
			for _, at := range []int{0, len(raw) / 2, len(raw) - 1} {
				to := slices.Clone(raw)
				to[at] ^= 1
				change("a flipped bit", to)
			}
			change("cut", raw[:len(raw)-1])
		}
		change("one byte more", append(slices.Clone(raw), ' '))
		must(t, os.Remove(file))
		if filepath.Base(file) != ledger.FileStagedIn {
			w.names(t, "removed", file)
		}
		must(t, os.Symlink("/dev/null", file))
		w.names(t, "a link instead", file)
		must(t, os.Remove(file))
		must(t, os.WriteFile(file, raw, 0o600))
	}
	w.sealed(t)
}

// TestASealedJobStaysWhereItEnded: under another name, in another month or state, it is named.
func TestASealedJobStaysWhereItEnded(t *testing.T) {
	w := sealedNode(t)
	var jobs []string
	for _, pattern := range []string{inRequests, inResults, inArchive} {
		m, err := filepath.Glob(filepath.Join(w.dir, pattern))
		must(t, err)
		jobs = append(jobs, m...)
	}
	if len(jobs) < 9 {
		t.Fatalf("%d jobs", len(jobs))
	}
	other := filepath.Join(w.dir, spool.DirArchive, "2001", "01")
	must(t, os.MkdirAll(other, 0o700))
	for _, dir := range jobs {
		id := filepath.Base(dir)
		for _, to := range []string{filepath.Join(filepath.Dir(dir), "j0123456789abcdefghjkmnpqrs"),
			filepath.Join(other, id), filepath.Join(w.dir, spool.DirQuarantine, id),
			filepath.Join(w.dir, "spool/admitted", id)} {
			must(t, os.Rename(dir, to))
			w.names(t, "moved to "+to, id)
			must(t, os.Rename(to, dir))
		}
		// One rename short of its end it may lie after a crash: the next start ends it, and says so.
		from := "spool/finished"
		if strings.Contains(dir, spool.DirQuarantineRequests) {
			from = "spool/claimed"
		}
		to := filepath.Join(w.dir, from, id)
		must(t, os.Rename(dir, to))
		if r := w.report(t); !r.Whole() || len(r.Warnings) != 1 || r.Warnings[0].Where != to {
			t.Errorf("back in %s: %+v, %+v", from, r.Found, r.Warnings)
		}
		must(t, os.WriteFile(filepath.Join(to, "more"), nil, 0o600))
		w.names(t, "changed there", filepath.Join(to, "more"))
		must(t, os.Remove(filepath.Join(to, "more")))
		must(t, os.Rename(to, dir))
	}
	w.sealed(t)
}

// TestAChangedItemIsNotReleased: what a person reads there may not be what was refused.
func TestAChangedItemIsNotReleased(t *testing.T) {
	w := served(t, releasable[0])
	item := w.items(t)[0]
	must(t, os.WriteFile(filepath.Join(w.dir, spool.DirQuarantineRequests, item, "REASONS.md"), []byte("fine"), 0o600))
	name := w.release(t, item)
	w.until(t)
	if why := w.answer(t, name); !strings.Contains(why, `not as it was refused: "REASONS.md"`) {
		t.Errorf("the answer is %q", why)
	}
}

// TestADamagedLedgerHidesNothing: whichever line of it can't be read, each changed file is named.
func TestADamagedLedgerHidesNothing(t *testing.T) {
	w := sealedNode(t)
	var files []string
	for _, pattern := range []string{inRequests + "/reasons.json", inResults + "/REASONS.md", inArchive + "/admission.json"} {
		m, err := filepath.Glob(filepath.Join(w.dir, pattern))
		must(t, err)
		files = append(files, m[0])
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append(raw, ' '), 0o600))
	}
	ledger := w.one(t, "ledger/events-*")
	raw, err := os.ReadFile(ledger)
	must(t, err)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	for i := range lines[:len(lines)-1] {
		spoiled := slices.Clone(lines)
		spoiled[i] = []byte("x" + string(lines[i]))
		must(t, os.WriteFile(ledger, bytes.Join(spoiled, nil), 0o600))
		r := w.report(t)
		for _, want := range append([]string{filepath.Dir(ledger)}, files...) {
			if !slices.ContainsFunc(r.Found, func(f fsck.Finding) bool { return f.Where == want }) {
				t.Errorf("line %d: %s is not named: %+v", i+1, want, r.Found)
			}
		}
		for _, f := range r.Found { // and nothing else is said for certain
			sure := f.Check != fsck.CheckLedger && !slices.Contains(files, f.Where)
			if sure || strings.Contains(f.Where, spool.DirCoreInbound) && !strings.Contains(f.What, "can't be judged") {
				t.Errorf("line %d: %+v", i+1, f)
			}
		}
	}
	must(t, os.RemoveAll(ledger))
	for _, file := range files {
		w.names(t, "without a ledger", file)
	}
}

// TestNothingForeignReachesCORE: what the node did not put into CORE's folders is named. If it is named
// like the node's it is a fault, else it may be CORE's own.
func TestNothingForeignReachesCORE(t *testing.T) {
	w := ended(t, "delivered")
	result := w.one(t, "core-inbound/TS-*.md")
	artifacts := strings.TrimSuffix(result, ".md") + ".artifacts"
	add := func(path string) func() {
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		return func() { must(t, os.Remove(path)) }
	}
	for _, taken := range []bool{false, true} {
		if taken {
			must(t, os.Remove(result))
		}
		for _, path := range []string{filepath.Join(artifacts, "more"), filepath.Join(artifacts, "d/more"),
			filepath.Join(w.cfg.CoreInbound.Path, "TS-more.txt"), filepath.Join(w.cfg.CoreNotices.Path, "TN-more.json")} {
			undo := add(path)
			w.names(t, "more", path)
			undo()
		}
		for _, path := range []string{filepath.Join(w.cfg.CoreInbound.Path, "more"),
			filepath.Join(w.cfg.CoreInbound.Path, ".more"), filepath.Join(w.cfg.CoreNotices.Path, "more")} {
			undo := add(path)
			if r := w.report(t); !r.Whole() || len(r.Warnings) != 1 || r.Warnings[0].Where != path {
				t.Errorf("%s: %+v, %+v", path, r.Found, r.Warnings)
			}
			undo()
		}
		w.sealed(t)
	}
	away := w.dir + ".run/away"
	must(t, errors.Join(os.Rename(artifacts, away), os.Symlink(away, artifacts)))
	w.names(t, "a link to the artifacts", artifacts)
}

// TestChangedOrdersAreNamed: what a person ordered, with its signature, and what came of it, is on record.
func TestChangedOrdersAreNamed(t *testing.T) {
	w := ended(t, "refused request")
	for _, sig := range []string{"a signature", ""} { // the second is refused
		given := w.order(t, orders.Reject, w.items(t)[0], func([]byte) ([]byte, error) { return []byte(sig), nil })
		w.until(t)
		_ = w.answer(t, given)
	}
	w.sealed(t)
	files := w.entries(t, spool.DirOrdersDone)
	if len(files) != 5 {
		t.Fatalf("%v", files)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		must(t, os.Remove(file))
		w.names(t, "removed", file)
		for _, other := range files {
			if other == file {
				continue
			}
			raw, err := os.ReadFile(other)
			must(t, err)
			must(t, os.WriteFile(file, raw, 0o600))
			w.names(t, "replaced by "+filepath.Base(other), file)
		}
		for what, changed := range map[string][]byte{"another word": bytes.Replace(raw, []byte("a"), []byte("b"), 1),
			"a blank more": append(bytes.Clone(raw), ' '), "empty": nil} {
			must(t, os.WriteFile(file, changed, 0o600))
			w.names(t, what, file)
		}
		must(t, os.WriteFile(file, raw, 0o600))
		if added := strings.TrimSuffix(file, filepath.Ext(file)) + ".sig"; !slices.Contains(files, added) {
			must(t, os.WriteFile(added, []byte("a signature"), 0o600))
			w.names(t, "added", added)
			must(t, os.Remove(added))
		}
	}
	w.sealed(t)
}
