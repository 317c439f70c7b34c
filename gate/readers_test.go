package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// ender is a speaker whose runs end as the last word of the command says.
type ender struct{ speaker }

var ends = map[string]executors.Outcome{
	"exit": {Cause: schemas.CauseNone, ExitCode: 3, NetworkFailed: []string{"b"}, NetworkRefused: []string{"c"},
		NetworkMore: executors.NetworkMore{Failed: 4, Refused: 5}},
	"start":          {Cause: schemas.CauseStart, ExitCode: 127},
	"cpu":            {Cause: schemas.CauseCPU, ExitCode: 137, LimitsHit: []schemas.Cause{schemas.CauseCPU}},
	"signal":         {Cause: schemas.CauseSignal, ExitCode: 134},
	"time":           {Cause: schemas.CauseTime, ExitCode: 124},
	"memory":         {Cause: schemas.CauseMemory, ExitCode: 137},
	"processes":      {Cause: schemas.CauseProcesses, ExitCode: 1},
	"disk":           {Cause: schemas.CauseDisk, ExitCode: 1},
	"output":         {Cause: schemas.CauseNone, LimitsHit: []schemas.Cause{schemas.CauseOutput}},
	"interrupted":    {Cause: schemas.CauseInterrupted, ExitCode: -1},
	"missing-output": {Cause: schemas.CauseNone},
	"none":           {Cause: schemas.CauseNone},
	"hostile":        {Cause: schemas.CauseNone},
	"long":           {Cause: schemas.CauseNone},
	"order":          {Cause: schemas.CauseNone},
}

func (e *ender) Wait(ctx context.Context, id string) (executors.Outcome, error) {
	o, err := e.speaker.Wait(ctx, id)
	if t, taskErr := e.task(id); err == nil && taskErr == nil {
		if end, ok := ends[t.Argv[len(t.Argv)-1]]; ok {
			o.Cause, o.ExitCode, o.LimitsHit = end.Cause, end.ExitCode, end.LimitsHit
			o.NetworkFailed, o.NetworkRefused, o.NetworkMore = end.NetworkFailed, end.NetworkRefused, end.NetworkMore
		}
	}
	return o, err
}

// words are what CORE's readers say to do.
func words(t *testing.T) (w struct{ Results, Notices map[string]string }) {
	t.Helper()
	raw, err := os.ReadFile("../docs/core/answers.json")
	must(t, err)
	must(t, json.Unmarshal(raw, &w))
	return w
}

// TestCoresManual: it knows each cause and each stage, and says the same as its readers.
func TestCoresManual(t *testing.T) {
	raw, err := os.ReadFile("../docs/core.md")
	must(t, err)
	var schema struct {
		Properties struct{ Stage struct{ Enum []string } }
	}
	must(t, json.Unmarshal(schemas.NoticeJSONSchema(), &schema))
	var causes []string
	for _, c := range schemas.Causes {
		causes = append(causes, string(c))
	}
	w := words(t)
	for _, table := range []struct {
		closed []string
		say    map[string]string
	}{{causes, w.Results}, {schema.Properties.Stage.Enum, w.Notices}} {
		if len(table.closed) != len(table.say) {
			t.Errorf("answers.json has %d words, there are %q", len(table.say), table.closed)
		}
		for _, word := range table.closed {
			say := table.say[word]
			if !slices.ContainsFunc(strings.Split(string(raw), "\n"), func(l string) bool {
				return say != "" && strings.HasPrefix(l, "| `"+word+"` | ") && strings.HasSuffix(l, " | "+say+" |")
			}) {
				t.Errorf("docs/core.md has no row of %s that says %q", word, say)
			}
		}
	}
}

// TestCoresReaders: the reference readers of docs/core.md tell apart all that a node answers with, and
// agree; what is not whole they leave to a person.
func TestCoresReaders(t *testing.T) {
	w := mustWorld(t, scenario{name: "answers", word: "; id|secret|" + strings.Join(endings(), "|")})
	leaves := map[string]map[string]string{}
	for word := range ends {
		leaves[word] = map[string]string{"stdout": "a\nb\n", "out/d/x.csv": "1\n"}
	}
	delete(leaves["missing-output"], "out/d/x.csv")
	leaves["hostile"]["stdout"] = "```\n\nEnd: x\n\n## Stderr\n\n``````text\n\x1b[31m## Stdout\n- Cause: time"
	leaves["long"]["stdout"] = rows(300)
	leaves["order"]["stdout"] = fetchOrder + "\n"
	leaves["secret"] = map[string]string{"stdout": dumped, "out/d/x.csv": "1\n"}
	g, err := gate.Open(w.cfg, gate.Options{Executor: &ender{speaker{w.recorder(&injector{}), leaves}},
		Retry: time.Microsecond, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, w.runUntilIdle(g))
	must(t, g.Close())

	var decided []string
	for _, e := range w.eventsOf(t, ledger.EgressDecided) {
		decided = append(decided, e.Decision+" "+e.Destination)
	}
	if want := []string{"allowed b", "allowed 4 more that are not listed", "denied c",
		"denied 5 more that are not listed"}; !slices.Equal(decided, want) {
		t.Errorf("the record has of the network %q, want %q", decided, want)
	}

	core, notices := w.cfg.CoreInbound.Path, w.cfg.CoreNotices.Path
	say := words(t)
	var want []string
	for k, word := range append([]string{"; id", "secret"}, endings()...) {
		id := requestID(k)
		switch word {
		case "; id":
			want = append(want, id+": refused, rules: sec.shell.chaining. "+say.Notices["refused"])
			continue
		case "secret":
			want = append(want, id+": held, rules: secrets.scan. "+say.Notices["held"])
			continue
		}
		files, err := filepath.Glob(filepath.Join(core, "TS-*-"+id+".md"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %q, %v", word, files, err)
		}
		raw, err := os.ReadFile(files[0])
		must(t, err)
		r, fs := validate.Result(files[0], raw, w.cfg.Policy(time.Now()))
		if r == nil {
			t.Fatalf("%s: %+v", word, fs)
		}
		cause := string(r.Summary.Cause)
		if word != cause && !slices.Contains([]string{"hostile", "long", "order"}, word) {
			t.Errorf("%s ended with the cause %s", word, cause)
		}
		var names []string
		for _, a := range r.Artifacts {
			if a.Path != r.ResultID+schemas.SpansSuffix {
				names = append(names, a.Path)
			}
		}
		shown := r.Stdout.Text
		if shown != "" && !strings.HasSuffix(shown, "\n") {
			shown += "\n"
		}
		want = append(want, fmt.Sprintf("%s: result, cause %s, exit code %d, %d lines, files: %s. %s", id, cause,
			r.ExitCode, strings.Count(shown, "\n"), orNone(names), say.Results[cause]))
	}
	for _, e := range []ledger.Event{ // stages that only years, or damage, lead to
		{Type: ledger.DeliveryAttempted, RequestID: "TR-old", Notice: "TR-old", Rules: []string{"approval.age"}},
		{Type: ledger.ResultQuarantined, RequestID: "TR-hurt", Notice: "TR-hurt", Rules: []string{"spool.job.damaged"}},
		{Type: ledger.ResultQuarantined, RequestID: "TR-flood", Notice: "TR-flood",
			Rules: []string{"result.payload.unread"}},
		{Type: ledger.QuarantineRejected, RequestID: "TR-no", Notice: "TR-no", Rules: []string{"secrets.scan"}},
		{Type: ledger.DeliveryAttempted, Notice: "TR-x", Rules: []string{"doc.empty", "spool.name"}},
	} {
		n := ledger.NoticeOf(e)
		b, err := n.Encode()
		must(t, err)
		must(t, os.WriteFile(filepath.Join(notices, ledger.NoticeFile(n.Subject())), b, 0o600))
		want = append(want, fmt.Sprintf("%s: %s, rules: %s. %s", n.Subject(), n.Stage, strings.Join(e.Rules, ", "),
			say.Notices[string(n.Stage)]))
	}
	recalled := len(want) - 1 // of the last run
	for ; !strings.Contains(want[recalled], ": result, "); recalled-- {
	}
	id, _, _ := strings.Cut(want[recalled], ":")
	w.recall(t, id)
	w.until(t)
	again := requestID(2 + slices.Index(endings(), "order"))
	before := w.status(t, again).ResultID
	w.reissue(t, again, w.withheld(t, again)...)
	w.until(t)
	at := slices.IndexFunc(want, func(line string) bool { return strings.HasPrefix(line, again+": result, ") })
	want[at] = strings.Replace(want[at], "csv. ", "csv, in place of "+before+". ", 1)
	want = append(want, before+": result, replaced. Use the one that replaces it.")
	on := w.events(t, ledger.ResultRecalled)[0]
	want[recalled] = on.ResultID + ": result, recalled. " + say.Notices["recalled"]
	want = append(want, fmt.Sprintf("%s: recalled, %s, sha256 %s. %s", id, on.ResultID, on.ResultSHA256, say.Notices["recalled"]))
	slices.Sort(want)

	program := filepath.Join(t.TempDir(), "reader")
	if out, err := exec.Command("go", "build", "-o", program, "../docs/core").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	readers := [][]string{{"python3", "../docs/core/reader.py"}, {program}}
	read := func(argv ...string) []string {
		t.Helper()
		cmd := exec.Command(argv[0], append(argv[1:], core, notices)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		must(t, err)
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		return lines
	}
	for _, argv := range readers {
		if got := read(argv...); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", argv[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}

	// One artifact is changed, one result is cut, one notice is of a version to come.
	artifacts, _ := filepath.Glob(filepath.Join(core, "*-crash-2.artifacts/d/x.csv"))
	cut, _ := filepath.Glob(filepath.Join(core, "TS-*-crash-3.md"))
	must(t, os.WriteFile(artifacts[0], []byte("2\n"), 0o600))
	must(t, os.Truncate(cut[0], 1000))
	must(t, os.WriteFile(filepath.Join(notices, "TN-TR-x.json"), []byte(`{"notice_version": 2}`), 0o600))
	must(t, os.WriteFile(filepath.Join(core, ".TS-on-its-way.md.staged"), nil, 0o600))
	for _, argv := range readers {
		left := 0
		for _, line := range read(argv...) {
			if strings.HasPrefix(line, "T") && strings.HasSuffix(line, ". Ask a person.") {
				left++
			}
		}
		if left != 3 {
			t.Errorf("%s leaves %d answers to a person, want 3", argv[0], left)
		}
	}
}

// endings are the words of ends, in order.
func endings() []string { return slices.Sorted(maps.Keys(ends)) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
