package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// one returns the one path that matches a pattern below the node.
func (w *world) one(t *testing.T, pattern string) string {
	t.Helper()
	m, err := filepath.Glob(filepath.Join(w.dir, pattern))
	if err != nil || len(m) != 1 {
		t.Fatalf("%s: %v, %v", pattern, m, err)
	}
	return m[0]
}

func (w *world) append(t *testing.T, events ...ledger.Event) {
	t.Helper()
	l, err := ledger.Open(filepath.Join(w.dir, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	must(t, err)
	must(t, l.Append(events...))
	must(t, l.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ended is a node on which the scenario came to its end.
func ended(t *testing.T, name string) *world {
	t.Helper()
	for _, sc := range scenarios {
		if sc.name == name {
			w := mustWorld(t, sc)
			must(t, w.process(&injector{}))
			return w
		}
	}
	t.Fatalf("no scenario %q", name)
	return nil
}

const (
	inArchive  = "archive/*/*/j*"
	inRequests = "quarantine/requests/j*"
	inResults  = "quarantine/results/j*"
)

// TestFsckFindsWhatIsBroken breaks each invariant on purpose: fsck must say so,
// and by the right check.
func TestFsckFindsWhatIsBroken(t *testing.T) {
	overwrite := func(pattern string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { must(t, os.WriteFile(w.one(t, pattern), []byte("{}"), 0o600)) }
	}
	remove := func(pattern string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { must(t, os.RemoveAll(w.one(t, pattern))) }
	}
	move := func(from, to string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			src := w.one(t, from)
			must(t, os.Rename(src, filepath.Join(w.dir, to, filepath.Base(src))))
		}
	}
	replace := func(pattern, old, new string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			p := w.one(t, pattern)
			raw, err := os.ReadFile(p)
			must(t, err)
			if !strings.Contains(string(raw), old) {
				t.Fatalf("%s lacks %s:\n%s", p, old, raw)
			}
			must(t, os.WriteFile(p, []byte(strings.ReplaceAll(string(raw), old, new)), 0o600))
		}
	}
	drop := func(name string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { must(t, os.WriteFile(filepath.Join(w.dir, name), []byte("x"), 0o600)) }
	}
	add := func(pattern, name string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { put(t, filepath.Join(w.one(t, pattern), name)) }
	}
	addFolder := func(pattern, name string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { must(t, os.MkdirAll(filepath.Join(w.one(t, pattern), name), 0o700)) }
	}
	// again records an event of the node's one run once more.
	again := func(typ ledger.Type) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			w.append(t, ledger.Event{Type: typ, RunID: filepath.Base(w.one(t, inArchive)), RequestID: crashID})
		}
	}
	for _, c := range []struct {
		name, scenario string
		spoil          func(*testing.T, *world)
		want           fsck.Check
		also           []fsck.Check // what follows from it
	}{
		{"a job vanished", "delivered", remove(inArchive), fsck.CheckLost, []fsck.Check{fsck.CheckResult}},
		{"a file in an archived job", "delivered", add(inArchive, "notes.txt"), fsck.CheckStray, nil},
		{"an output that nothing tells of", "delivered", add(inArchive, "out/extra.txt"), fsck.CheckStray, nil},
		{"an output deeper down", "delivered", add(inArchive, "out/d/.x.csv.tmp"), fsck.CheckStray, nil},
		{"a folder among the outputs", "delivered", add(inArchive, "out/e/extra.txt"), fsck.CheckStray, nil},
		{"an input that nobody sent", "delivered", add(inArchive, "inputs/y.csv"), fsck.CheckStray, nil},
		{"a signature that nobody sent", "delivered", add(inArchive, "request.sig"), fsck.CheckStray, nil},
		{"a folder with the name of a file", "refused request", addFolder(inRequests, "admission.json"), fsck.CheckStray,
			nil},
		{"a link in an archived job", "delivered", func(t *testing.T, w *world) {
			must(t, os.Symlink("/", filepath.Join(w.one(t, inArchive), "link")))
		}, fsck.CheckStray, nil},
		{"a file next to a refused result", "refused result", add(inResults, "notes.txt"), fsck.CheckStray, nil},
		{"an output of a refused result", "refused result", add(inResults, "out/extra.txt"), fsck.CheckStray, nil},
		{"a file next to a refused request", "refused request", add(inRequests, "notes.txt"), fsck.CheckStray, nil},
		{"outputs of a request that never ran", "refused request", add(inRequests, "out/extra.txt"), fsck.CheckStray, nil},
		{"a job lies in two places", "delivered", func(t *testing.T, w *world) {
			src := w.one(t, inArchive)
			must(t, os.CopyFS(filepath.Join(w.dir, "spool/finished", filepath.Base(src)), os.DirFS(src)))
		}, fsck.CheckPlace, nil},
		{"no job among the jobs", "delivered", drop("spool/running/stray"), fsck.CheckStray, nil},
		{"no job in the archive", "delivered", func(t *testing.T, w *world) {
			must(t, os.WriteFile(filepath.Join(filepath.Dir(w.one(t, inArchive)), "stray"), nil, 0o600))
		}, fsck.CheckStray, nil},
		{"started twice", "delivered", again(ledger.RunStarted), fsck.CheckTwice, nil},
		{"ended twice", "delivered", again(ledger.RunCompleted), fsck.CheckTwice, nil},
		{"admitted under two jobs", "delivered", func(t *testing.T, w *world) {
			w.append(t, ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted,
				RunID: "j0123456789abcdefghjkmnpqrs", RequestID: crashID})
		}, fsck.CheckTwice, []fsck.Check{fsck.CheckLost}},
		{"delivered goes back to running", "delivered", move(inArchive, "spool/running"), fsck.CheckRecord,
			[]fsck.Check{fsck.CheckResult}},
		{"delivered goes back to admitted", "failed run", move(inArchive, "spool/admitted"), fsck.CheckRecord,
			[]fsck.Check{fsck.CheckResult}},
		{"delivered goes back to claimed", "failed run", move(inArchive, "spool/claimed"), fsck.CheckRecord,
			[]fsck.Check{fsck.CheckResult}},
		{"a refused request is among the results", "refused request", move(inRequests, "quarantine/results"),
			fsck.CheckRecord, []fsck.Check{fsck.CheckReasons, fsck.CheckFiles}},
		{"a refused result is among the requests", "refused result", move(inResults, "quarantine/requests"),
			fsck.CheckRecord, []fsck.Check{fsck.CheckReasons}},
		{"a refused request is admitted", "refused request", move(inRequests, "spool/admitted"), fsck.CheckRecord, nil},
		{"a refused result is delivered", "refused result", func(t *testing.T, w *world) {
			must(t, os.MkdirAll(filepath.Join(w.dir, "archive/2026/02"), 0o700))
			move(inResults, "archive/2026/02")(t, w)
		}, fsck.CheckRecord, nil},
		{"the ledger was changed", "delivered", func(t *testing.T, w *world) {
			p := w.one(t, "ledger/events-*")
			raw, err := os.ReadFile(p)
			must(t, err)
			must(t, os.WriteFile(p, []byte(strings.Replace(string(raw), `"exitCode":0`, `"exitCode":1`, 1)), 0o600))
		}, fsck.CheckLedger, []fsck.Check{fsck.CheckRecord}},
		{"the record of a job is damaged", "delivered", overwrite(inArchive + "/job.json"), fsck.CheckFiles, nil},
		{"the archived request was changed", "delivered", overwrite(inArchive + "/request.md"), fsck.CheckFiles, nil},
		{"an archived input was changed", "delivered", overwrite(inArchive + "/inputs/x.csv"), fsck.CheckFiles, nil},
		{"a quarantined request was changed", "refused request", overwrite(inRequests + "/request.md"), fsck.CheckFiles, nil},
		{"the archived result was changed", "delivered", overwrite(inArchive + "/result.md"), fsck.CheckDigest, nil},
		{"the quarantined result was changed", "refused result", overwrite(inResults + "/result.md"), fsck.CheckDigest, nil},
		{"request and record were changed together", "delivered", func(t *testing.T, w *world) {
			dir := w.one(t, inArchive)
			var rec map[string]any
			raw, err := os.ReadFile(filepath.Join(dir, "job.json"))
			must(t, err)
			must(t, json.Unmarshal(raw, &rec))
			rec["sha256"] = streamOf("other").SHA256
			raw, err = json.Marshal(rec)
			must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "job.json"), raw, 0o600),
				os.WriteFile(filepath.Join(dir, "request.md"), []byte("other"), 0o600)))
		}, fsck.CheckDigest, []fsck.Check{fsck.CheckSeal}},
		{"an outcome is missing", "delivered", remove(inArchive + "/outcome.json"), fsck.CheckFiles, nil},
		{"the exit code of an outcome was changed", "failed run", replace(inArchive+"/outcome.json", `"exit_code": 3`,
			`"exit_code": 0`), fsck.CheckRecord, nil},
		{"the times of an outcome were changed", "delivered", replace(inArchive+"/outcome.json", `"wall": 1000000000`,
			`"wall": 2000000000`), fsck.CheckRecord, nil},
		{"the memory of an outcome was changed", "delivered", replace(inArchive+"/outcome.json", `"peak_memory_bytes": 0`,
			`"peak_memory_bytes": 1`), fsck.CheckRecord, nil},
		{"an outcome of files elsewhere", "delivered", replace(inArchive+"/outcome.json", `"d/x.csv"`, `"../request.md"`),
			fsck.CheckFiles, []fsck.Check{fsck.CheckStray}},
		{"the archived stdout was changed", "delivered", overwrite(inArchive + "/stdout"), fsck.CheckFiles, nil},
		{"the archived stderr was changed", "failed run", overwrite(inArchive + "/stderr"), fsck.CheckFiles, nil},
		{"the archived stdout is a link", "delivered", func(t *testing.T, w *world) {
			p := w.one(t, inArchive+"/stdout")
			must(t, errors.Join(os.Rename(p, w.dir+".run/kept"), os.Symlink(w.dir+".run/kept", p)))
		}, fsck.CheckFiles, []fsck.Check{fsck.CheckUnreadable}},
		{"an archived output was changed", "delivered", overwrite(inArchive + "/out/d/x.csv"), fsck.CheckFiles, nil},
		{"an archived output is missing", "delivered", remove(inArchive + "/out/d/x.csv"), fsck.CheckFiles, nil},
		{"the stdout of a refused result was changed", "refused result", overwrite(inResults + "/stdout"),
			fsck.CheckFiles, nil},
		{"reasons name another rule", "refused request", replace(inRequests+"/reasons.json", `"sec.shell.chaining"`,
			`"sec.shell.pipe"`), fsck.CheckReasons, nil},
		{"reasons are missing", "refused request", remove(inRequests + "/reasons.json"), fsck.CheckReasons, nil},
		{"reasons for people are missing", "refused result", remove(inResults + "/REASONS.md"), fsck.CheckReasons, nil},
		{"reasons are damaged", "refused request", overwrite(inRequests + "/reasons.json"), fsck.CheckReasons, nil},
		{"a visible result was changed", "delivered", func(t *testing.T, w *world) {
			p := w.one(t, "core-inbound/TS-*.md")
			raw, err := os.ReadFile(p)
			must(t, err)
			must(t, os.WriteFile(p, append(raw, '\n'), 0o600))
		}, fsck.CheckDigest, nil},
		{"a visible result is cut", "delivered", func(t *testing.T,
			w *world) {
			must(t, os.Truncate(w.one(t, "core-inbound/TS-*.md"), 300))
		}, fsck.CheckResult,
			[]fsck.Check{fsck.CheckDigest}},
		{"a visible result is a link", "delivered", func(t *testing.T, w *world) {
			p := w.one(t, "core-inbound/TS-*.md")
			must(t, errors.Join(os.Rename(p, w.dir+".run/kept"), os.Symlink(w.dir+".run/kept", p)))
		}, fsck.CheckResult, nil},
		{"an artifact is missing", "delivered", remove("core-inbound/TS-*.artifacts/d/x.csv"), fsck.CheckResult, nil},
		{"an artifact was changed", "delivered", overwrite("core-inbound/TS-*.artifacts/d/x.csv"), fsck.CheckResult, nil},
		{"a result of nobody", "delivered", drop("core-inbound/TS-20260209-160501Z-other.md"), fsck.CheckResult, nil},
		{"artifacts of nobody", "delivered", drop("core-inbound/TS-20260209-160501Z-other.artifacts"), fsck.CheckResult, nil},
		{"a delivery that stayed hidden", "delivered", func(t *testing.T, w *world) {
			p := w.one(t, "core-inbound/TS-*.md")
			must(t, os.Rename(p, filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".staged")))
		}, fsck.CheckResult, nil},
		{"a temporary in the archive", "delivered", func(t *testing.T, w *world) {
			must(t, os.WriteFile(filepath.Join(w.one(t, inArchive), ".outcome.json.tmp"), nil, 0o600))
		}, fsck.CheckTemporary, nil},
		{"a temporary in CORE's folder", "delivered", drop("core-inbound/.TS-20260209-160501Z-other.artifacts.tmp"),
			fsck.CheckTemporary, nil},
		{"the copy from the inbox stayed", "delivered", func(t *testing.T,
			w *world) {
			must(t, os.Mkdir(filepath.Join(w.one(t, inArchive), "raw"), 0o700))
		}, fsck.CheckTemporary, nil},
		{"a state folder is missing", "delivered", remove("spool/running"), fsck.CheckLayout, nil},
		{"an inbox is missing", "delivered", remove("inbox/default"), fsck.CheckLayout, nil},
		{"CORE's folder is missing", "delivered", remove("core-inbound"), fsck.CheckLayout, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ended(t, c.scenario)
			if v, r := w.look(); len(v.notes) > 0 || !r.Whole() {
				t.Fatalf("before: %v", v.notes)
			}
			c.spoil(t, w)
			_, r := w.look()
			seen := map[fsck.Check]bool{}
			for _, f := range r.Found {
				seen[f.Check] = true
				if f.Where == "" || f.What == "" || f.Hint == "" {
					t.Errorf("a finding lacks where, what or how to mend it: %+v", f)
				}
				if f.Check != c.want && !slices.Contains(c.also, f.Check) {
					t.Errorf("unexpected: %+v", f)
				}
			}
			if !seen[c.want] || r.Whole() {
				t.Errorf("%s was not found: %+v", c.want, r.Found)
			}
			if missing := r.Balance.Missing(); (missing != 0) != seen[fsck.CheckLost] {
				t.Errorf("%d are missing in the balance: %+v", missing, r.Found)
			}
		})
	}
}

func put(t *testing.T, path string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)))
}

// TestFsckKnowsWhatANodeLeaves: outputs that no request declared are on the outcome's
// record, folders that were empty when they were copied carry nothing, and a run that was
// lost may have been copied in part.
func TestFsckKnowsWhatANodeLeaves(t *testing.T) {
	// end changes what outcome.json tells.
	end := func(t *testing.T, w *world, change func(outcome, collected map[string]any)) {
		p := w.one(t, inArchive+"/outcome.json")
		raw, err := os.ReadFile(p)
		must(t, err)
		var o map[string]any
		must(t, json.Unmarshal(raw, &o))
		change(o["outcome"].(map[string]any), o["collected"].(map[string]any))
		raw, err = json.Marshal(o)
		must(t, errors.Join(err, os.WriteFile(p, raw, 0o600)))
	}
	for _, c := range []struct {
		name  string
		leave func(*testing.T, *world)
		also  fsck.Check // what follows from the change of a record
	}{
		{"an undeclared output", func(t *testing.T, w *world) {
			put(t, w.one(t, inArchive)+"/out/e/undeclared")
			end(t, w, func(_, c map[string]any) {
				c["files"] = append(c["files"].([]any), map[string]any{"path": "e/undeclared", "size": 1,
					"sha256": streamOf("x").SHA256})
			})
		}, ""},
		{"the folder of an output that was refused", func(t *testing.T, w *world) {
			must(t, os.MkdirAll(w.one(t, inArchive)+"/out/e/f", 0o700))
			end(t, w, func(_, c map[string]any) {
				c["refused"] = []any{map[string]any{"path": `"e/f/large"`, "reason": "it is too large"}}
			})
		}, ""},
		{"an empty folder of inputs", func(t *testing.T, w *world) {
			must(t,
				os.MkdirAll(w.one(t, inArchive)+"/inputs/a/b", 0o700))
		}, ""},
		{"a lost run", func(t *testing.T, w *world) {
			put(t, w.one(t, inArchive)+"/out/d/cut")
			end(t, w, func(o, c map[string]any) { o["cause"], c["files"] = "interrupted", nil })
		}, fsck.CheckRecord},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ended(t, "delivered")
			c.leave(t, w)
			_, r := w.look()
			for _, f := range r.Found {
				if f.Check != c.also && f.Check != fsck.CheckSeal { // it was written behind the seal
					t.Errorf("unexpected: %+v", f)
				}
			}
		})
	}
}

// TestFsckBoundsWhatItNames: names are anybody's, and may be many.
func TestFsckBoundsWhatItNames(t *testing.T) {
	w := ended(t, "delivered")
	dir := w.one(t, inArchive)
	for i := range 1000 {
		put(t, filepath.Join(dir, "out", fmt.Sprintf("\x1b[2J%d%s", i, strings.Repeat("\n", 200))))
	}
	_, r := w.look()
	if len(r.Found) < 2 || len(r.Found) > 30 {
		t.Errorf("%d findings", len(r.Found))
	}
	for _, f := range r.Found {
		if f.Check != fsck.CheckStray && f.Check != fsck.CheckSeal || len(f.What) > 300 || strings.ContainsAny(f.What+f.Where, "\x1b\n") {
			t.Errorf("%+v", f)
		}
	}
}

// TestFsckLetsCOREWork: CORE may take or remove what it was given.
func TestFsckLetsCOREWork(t *testing.T) {
	for _, take := range []string{"core-inbound/TS-*.md", "core-inbound/TS-*.*"} {
		w := ended(t, "delivered")
		m, err := filepath.Glob(filepath.Join(w.dir, take))
		must(t, err)
		for _, p := range m {
			must(t, os.RemoveAll(p))
		}
		if v, r := w.look(); !r.Whole() || r.Balance.Delivered != 1 || r.Visible != 0 {
			t.Errorf("%s taken: %v, %+v", take, v.notes, r.Balance)
		}
	}
}

// TestFsckRepairsOnlyTemporaries, and not while somebody serves the node.
func TestFsckRepairsOnlyTemporaries(t *testing.T) {
	w := ended(t, "delivered")
	stale := filepath.Join(w.one(t, inArchive), ".x.tmp")
	must(t, os.WriteFile(stale, nil, 0o600))
	stray := filepath.Join(w.dir, "spool", "running", "stray")
	must(t, os.WriteFile(stray, nil, 0o600))

	release, err := spool.Hold(w.dir)
	must(t, err)
	if _, err := fsck.Run(context.Background(), w.cfg, fsck.Options{Repair: true}); !errors.Is(err, spool.ErrLocked) {
		t.Fatalf("repaired a served node: %v", err)
	}
	must(t, release())
	r, err := fsck.Run(context.Background(), w.cfg, fsck.Options{Repair: true})
	must(t, err)
	if r.Whole() || len(r.Found) != 2 {
		t.Fatalf("found %+v", r.Found)
	}
	if _, err := os.Lstat(stale); err == nil {
		t.Error("the temporary is still there")
	}
	if _, err := os.Lstat(stray); err != nil {
		t.Errorf("the stray was touched: %v", err)
	}
}

// TestFsckOfAServedNodeWaitsForWhatMoves: what is gone at the next reading was
// only on its way; what stays is wrong.
func TestFsckOfAServedNodeWaitsForWhatMoves(t *testing.T) {
	w := ended(t, "delivered")
	release, err := spool.Hold(w.dir)
	must(t, err)
	defer release()
	dir := w.one(t, inArchive)
	must(t, os.Rename(dir, w.dir+".run/away"))
	reading := 0
	r, err := fsck.Run(t.Context(), w.cfg, fsck.Options{Now: func() time.Time {
		if reading++; reading == 2 {
			must(t, os.Rename(w.dir+".run/away", dir))
		}
		return time.Now()
	}})
	if err != nil || !r.Served || !r.Whole() || reading != 2 {
		t.Errorf("%d readings: %v, %+v", reading, err, r)
	}
	must(t, os.RemoveAll(dir))
	if _, r := w.look(); r.Whole() {
		t.Error("a loss on a served node was not found")
	}
}
