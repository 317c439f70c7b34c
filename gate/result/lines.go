package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/channel"
)

// maxListed bounds how many names one safety note lists.
const maxListed = 20

// description is what the request says of an output, as far as a result may say it.
func (b *builder) description(o schemas.OutputExpectation) string {
	if o.Description == "" {
		return "The request gives none."
	}
	return b.words("the description of "+o.Path, "Description", o.Description)
}

// whatRan is the command, or of a program its purpose, as far as a result may say it.
func (b *builder) whatRan() string {
	req := b.Request
	if req.Backend == schemas.BackendMonty {
		what := "A Monty program of " + codeLines(req.Code)
		return what + ": " + b.words("the purpose", "What ran: "+what, req.Purpose)
	}
	return fmt.Sprintf("%s (ERA, %s)", req.Command, req.Language)
}

// codeLines says how many lines a program has.
func codeLines(code string) string {
	if n := strings.Count(strings.TrimRight(code, "\n"), "\n") + 1; n > 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return "1 line"
}

// outcomeLine says in a sentence how the run ended. missing counts the declared outputs that were not made.
func outcomeLine(in *Input, missing int) string {
	l, out := in.Limits, &in.Outcome.Outcome
	secs := fmt.Sprintf("%.3f s", out.Wall.Seconds())
	switch out.Cause {
	case schemas.CauseNone:
		return "Succeeded: exit code 0 after " + secs + "."
	case schemas.CauseExit:
		return fmt.Sprintf("Failed: exit code %d after %s.", out.ExitCode, secs)
	case schemas.CauseMissingOutput:
		if missing == 1 {
			return "Incomplete: exit code 0 after " + secs + ", but a declared output was not made."
		}
		return fmt.Sprintf("Incomplete: exit code 0 after %s, but %d declared outputs were not made.", secs, missing)
	case schemas.CauseOutput:
		return "Incomplete: exit code 0 after " + secs + ", but stdout or stderr went over its limit and was cut."
	case schemas.CauseTime:
		return fmt.Sprintf("Failed: killed at its time limit of %s (exit code %d).", l.Time, out.ExitCode)
	case schemas.CauseCPU:
		return fmt.Sprintf("Failed: killed at its cpu time limit (exit code %d).", out.ExitCode)
	case schemas.CauseMemory:
		return fmt.Sprintf("Failed: killed at its memory limit of %d MB (exit code %d).", l.MemoryBytes>>20,
			out.ExitCode)
	case schemas.CauseProcesses:
		return fmt.Sprintf("Failed: it reached its limit of %d processes (exit code %d).", l.Pids, out.ExitCode)
	case schemas.CauseDisk:
		return fmt.Sprintf("Failed: /out (%d MB) or /tmp (%d MB) was full (exit code %d).", l.OutBytes>>20,
			l.TmpBytes>>20, out.ExitCode)
	case schemas.CauseSignal:
		return fmt.Sprintf("Failed: ended by signal %d after %s (exit code %d).", out.ExitCode-128, secs, out.ExitCode)
	case schemas.CauseStart:
		return fmt.Sprintf("Failed: the program could not be started: %s (exit code %d).", out.Detail, out.ExitCode)
	case schemas.CauseInterrupted:
		why := out.Detail
		if why == "" {
			why = "the node went down while it ran"
		}
		return "Interrupted: " + why + "; how far it came is not known. It was not run again."
	}
	return "Cancelled: " + out.Detail + ", and the node ended the run after " + secs + "."
}

func outputsLine(declared int, missing, withheld, partial []string) string {
	if declared == 0 {
		return "No output files were declared."
	}
	s := fmt.Sprintf("%d of %d declared outputs produced.", declared-len(missing), declared)
	if len(missing) > 0 {
		s += " Missing: " + list(missing, 0) + "."
	}
	if len(withheld) > 0 {
		s += " Withheld: " + list(withheld, 0) + "."
	}
	if len(partial) > 0 {
		s += " Partial: " + list(partial, 0) + "."
	}
	return s
}

func networkLine(req *schemas.Request, out *executors.Outcome) string {
	if req.Network == schemas.NetworkNone {
		return "none used"
	}
	switch {
	case len(out.NetworkDestinations) > 0:
		s := "allowlist; reached " + strings.Join(out.NetworkDestinations, ", ")
		if n := out.NetworkMore.Destinations; n > 0 {
			s += fmt.Sprintf(" and %d more that are not listed", n)
		}
		return s
	case out.Cause == schemas.CauseInterrupted, out.Cause == schemas.CauseCancelled:
		return "allowlist; whether a destination was reached is not known"
	}
	return "allowlist; no destination was reached"
}

// unexpected lists the anomalies of a run; every name in it is quoted and bounded.
func (b *builder) unexpected(undeclared []executors.File) []string {
	var notes []string
	out := &b.Outcome.Outcome
	switch {
	case out.Cause == schemas.CauseInterrupted, out.Cause == schemas.CauseCancelled:
		notes = append(notes, "The run was interrupted; outputs and streams may be incomplete.")
	case out.Cause.Limit():
		notes = append(notes, fmt.Sprintf("Limit hit: %s.", out.Cause))
	}
	for _, c := range out.LimitsHit {
		if c != out.Cause || !c.Limit() {
			notes = append(notes, fmt.Sprintf("Limit touched: %s.", c))
		}
	}
	if missing := b.Outcome.Missing(b.Request); len(missing) > 0 {
		notes = append(notes, "Declared outputs that were not produced: "+list(missing, 0)+".")
	}
	if len(undeclared) > 0 {
		var names []string
		for _, f := range undeclared {
			names = append(names, f.Path)
		}
		notes = append(notes, b.names("Undeclared outputs, kept in the archive and not delivered", names,
			func(p string) string { return strconv.QuoteToASCII("/out/" + p) }))
	}
	if refused := b.Outcome.Collected.Refused; len(refused) > 0 {
		reasons := map[string]string{}
		var names []string
		for _, r := range refused {
			names, reasons[r.Path] = append(names, r.Path), r.Reason
		}
		notes = append(notes, b.names("Entries of /out that were refused", names,
			func(p string) string { return p + " (" + reasons[p] + ")" }))
	}
	if len(out.NetworkRefused) > 0 {
		notes = append(notes, b.hosts("Network destinations that were refused", out.NetworkRefused,
			out.NetworkMore.Refused))
	}
	if len(out.NetworkFailed) > 0 {
		notes = append(notes, b.hosts("Network destinations that were asked for in vain", out.NetworkFailed,
			out.NetworkMore.Failed))
	}
	if notes = append(notes, b.notes...); len(notes) == 0 {
		return []string{"None observed"}
	}
	return notes
}

// list names the first maxListed; more others are known by their number alone.
func list(names []string, more int) string {
	if n := len(names) - maxListed; n > 0 {
		names, more = names[:maxListed], more+n
	}
	s := strings.Join(names, ", ")
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func provenance(in *Input) []schemas.Field {
	req, out, l := in.Request, &in.Outcome.Outcome, in.Limits
	what := schemas.Field{Name: schemas.ProvCommand, Value: req.Command}
	if req.Backend == schemas.BackendMonty {
		what = schemas.Field{Name: schemas.ProvCode, Value: digest([]byte(req.Code))}
	}
	limits := fmt.Sprintf(
		"cpu %dm, memory %d MB without swap, time %s, processes %d, open files %d, "+
			"/out %d MB in %d files, /tmp %d MB, stdout %d KB, stderr %d KB, network %s",
		l.MilliCPU, l.MemoryBytes>>20, l.Time, l.Pids, l.OpenFiles, l.OutBytes>>20, l.OutFiles, l.TmpBytes>>20,
		l.StdoutBytes>>10, l.StderrBytes>>10, req.Network)
	usage := fmt.Sprintf("wall %.3f s, cpu %.3f s, peak memory %.1f MB", out.Wall.Seconds(), out.CPU.Seconds(),
		float64(out.PeakMemoryBytes)/(1<<20))
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return "unknown"
		}
		return t.UTC().Format(time.RFC3339)
	}
	approvedBy := req.ApprovedBy
	if len(in.Approvers) > 1 {
		approvedBy = strings.Join(in.Approvers, ", ")
	}
	fields := []schemas.Field{
		what,
		{Name: schemas.ProvBackend, Value: out.Identity.Backend},
		{Name: schemas.ProvRuntime, Value: out.Identity.Runtime},
		{Name: schemas.ProvImage, Value: out.Identity.Image},
		{Name: schemas.ProvLimits, Value: limits},
		{Name: schemas.ProvUsage, Value: usage},
		{Name: schemas.ProvStarted, Value: stamp(out.StartedAt)},
		{Name: schemas.ProvFinished, Value: stamp(out.FinishedAt)},
		{Name: schemas.ProvRequestedBy, Value: req.RequestedBy},
		{Name: schemas.ProvApprovedBy, Value: approvedBy},
		{Name: schemas.ProvApprovedUTC, Value: stamp(req.ApprovedUTC)},
		{Name: schemas.ProvRequestSHA256, Value: in.RequestSHA256},
		{Name: schemas.ProvNode, Value: in.Node},
	}
	if in.Registry != nil {
		fields = append(fields, schemas.Field{Name: schemas.ProvProfile, Value: req.Language},
			schemas.Field{Name: schemas.ProvRegistry, Value: config.RegistryDigest(in.Registry)})
	}
	if in.Outcome.Recheck != nil {
		fields = append(fields, schemas.Field{Name: schemas.ProvRecheck, Value: in.Outcome.Recheck.String()})
	}
	if in.Replaces != "" {
		fields = append(fields, schemas.Field{Name: schemas.ProvReplaces, Value: in.Replaces})
	}
	return fields
}

// words returns what a result may say of s, words of the request or a name that the
// sandbox chose, behind a label.
func (b *builder) words(name, label, s string) string {
	shown, why, refused := b.quote(name, label, s)
	switch {
	case why == nil:
	case refused || b.Policy.Strict:
		b.Findings = append(b.Findings, validate.Refusal(name, *why))
	default:
		b.Withheld = append(b.Withheld, Withheld{Channel: name, Rule: why.Rule, Why: why.What, To: int64(len(s))})
		b.note(name, 0, why.Rule)
	}
	return shown
}

// quote judges words by the rules, and by what filters find. It returns what validate.Words does.
func (b *builder) quote(name, label, s string) (shown string, why *channel.Span, refused bool) {
	if shown, why, refused = b.Policy.Words(label, s); why != nil {
		return shown, why, refused
	}
	if len(b.secrets.Find([]byte(s))) > 0 {
		return schemas.Withheld{Rule: channel.RuleSecrets}.Marker(), &validate.SecretElsewhere, false
	}
	q := Quote{name, s}
	b.quoted = append(b.quoted, q)
	if f, found := b.Filtered[q]; found {
		return schemas.Withheld{Rule: f.Why.Rule}.Marker(), &f.Why, f.Refuse
	}
	return s, nil, false
}

// labelUnexpected is the label of the notes that words stand in.
const labelUnexpected = "Unexpected behavior"

// names says what, and the names that the sandbox chose, each as write writes it.
func (b *builder) names(what string, names []string, write func(string) string) string {
	more := max(0, len(names)-maxListed)
	var shown []string
	for _, n := range names[:len(names)-more] {
		w := b.words("a name", labelUnexpected, n)
		if w == n {
			w = write(n)
		}
		shown = append(shown, w)
	}
	return describeNames(what, shown, more)
}

// hosts says what, and the destinations that the sandbox asked for. None of them refuses a
// result: that it asked is what a result is to report.
func (b *builder) hosts(what string, names []string, more int) string {
	names, more = slices.Clone(names[:min(maxListed, len(names))]), more+max(0, len(names)-maxListed)
	for i, n := range names {
		names[i], _, _ = b.quote(what, labelUnexpected, n)
	}
	return describeNames(what, names, more)
}

// describeNames says what, and names; only how many they are, if they say something together.
func describeNames(what string, names []string, more int) string {
	s := what + ": " + list(names, more) + "."
	if _, why, _ := validate.Words(labelUnexpected, strings.ReplaceAll(s, schemas.MarkerStart, "(")); why == nil {
		return s
	}
	return fmt.Sprintf("%s: %d. Their names are in the archive.", what, len(names)+more)
}

// note says in the safety notes that something is withheld from a channel: n places, or
// all of it.
func (b *builder) note(name string, n int, rules ...string) {
	slices.Sort(rules)
	by := strings.Join(slices.Compact(rules), ", ")
	what := "all of it"
	if n == 1 {
		what = "1 place"
	} else if n > 1 {
		what = fmt.Sprintf("%d places", n)
	}
	s := fmt.Sprintf("Withheld from CORE, and kept in the archive: %s, %s (%s).", name, what, by)
	if !slices.Contains(b.notes, s) {
		b.notes = append(b.notes, s)
	}
}

// noteReleases names in the safety notes who took back which judgement about this job.
func (b *builder) noteReleases() {
	for _, e := range b.Releases {
		var rules []string
		for _, r := range e.Released {
			rules = append(rules, r.Rule)
		}
		slices.Sort(rules)
		rules = slices.Compact(rules)
		b.notes = append(b.notes, fmt.Sprintf("Released by %s: rule %s.", b.words("who released it", labelUnexpected,
			e.By), strings.Join(rules, ", ")))
	}
}
