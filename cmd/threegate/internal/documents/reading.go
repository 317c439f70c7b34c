package documents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/diag"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
)

// reading is all that an approval would set free, as lines for a person. Whoever was
// shown every line was shown everything but what unseen names.
type reading struct {
	lines  []readLine
	unseen []string
	// notes deserve a second look.
	notes []string
}

// readLine is one line. The margin is the tool's own; text comes from the request or an
// input, and is visible already. A line that is too long is wrapped behind a margin of its own,
// so that no text can stand where a line begins.
type readLine struct {
	margin, text string
	head         bool
	// code is broken anywhere, prose between words where it has any.
	code bool
}

func (r *reading) head(title string) {
	if len(r.lines) > 0 {
		r.lines = append(r.lines, readLine{})
	}
	r.lines = append(r.lines, readLine{text: term.Visible(title), head: true})
}

func (r *reading) say(margin, text string) {
	for l := range strings.SplitSeq(term.Block(text), "\n") {
		r.lines = append(r.lines, readLine{margin: margin, text: l})
	}
}

// fields are names with what they stand for.
func (r *reading) fields(fields ...[2]string) {
	n := 0
	for _, f := range fields {
		n = max(n, len(f[0]))
	}
	for _, f := range fields {
		r.lines = append(r.lines, readLine{margin: fmt.Sprintf("  %-*s  ", n, f[0]), text: term.Visible(f[1])})
	}
}

// numbered are the lines of a text with their numbers. It returns how many characters in them
// no reader would see.
func (r *reading) numbered(text string) (hidden int) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	dos := len(text) > 0 && strings.Count(text, "\r\n") == len(lines)
	for i, l := range lines {
		if dos {
			l = strings.TrimSuffix(l, "\r")
		}
		shown, n := codeLine(l)
		hidden += n
		r.lines = append(r.lines, readLine{margin: fmt.Sprintf("%5d | ", i+1), text: shown, code: true})
	}
	if dos {
		r.say("        ", "(every line ends with CR LF)")
	}
	return hidden
}

// codeLine makes a line visible but leaves its tabs as room. It counts what it had to spell.
func codeLine(l string) (shown string, hidden int) {
	var b strings.Builder
	for _, c := range term.Cells(l) {
		switch {
		case l[c.Offset] == '\t':
			b.WriteString(strings.Repeat(" ", c.Width))
			continue
		case strings.HasPrefix(c.Text, "⟦") && !strings.HasPrefix(l[c.Offset:], "⟦"):
			hidden++
		}
		b.WriteString(c.Text)
	}
	return b.String(), hidden
}

// rows lays a line out in rows of at most columns, or in one row if columns is 0.
func (l readLine) rows(s term.Style, columns int) []string {
	paint := func(margin, text string) string {
		if l.head {
			return margin + s.Bold(text)
		}
		return s.Dim(margin) + text
	}
	left := term.Width(l.margin)
	if columns == 0 || left+term.Width(l.text) <= columns {
		return []string{paint(l.margin, l.text)}
	}
	room := max(columns-max(left, 2), 8)
	margin := l.margin
	var rows []string
	from, used := 0, 0
	for _, c := range term.Cells(l.text) {
		if used+c.Width > room {
			to := c.Offset
			if space := strings.LastIndexByte(l.text[from:to], ' '); !l.code && space > 0 {
				to = from + space + 1
			}
			rows = append(rows, paint(margin, l.text[from:to]))
			from, used = to, term.Width(l.text[to:c.Offset])
			margin = strings.Repeat(" ", max(left-2, 0)) + "┊ "
		}
		used += c.Width
	}
	return append(rows, paint(margin, l.text[from:]))
}

// read makes the reading of a request that is about to be approved.
func (a *app) read(ctx context.Context, p *approval) (*reading, error) {
	r := &reading{notes: slices.Clone(p.notes)}
	q := p.request
	r.head("Request " + q.RequestID)
	network := "none"
	if q.Network == schemas.NetworkAllowlist {
		network = "the node's allowed domains; because: " + q.Risk.NetworkRationale
		if len(p.policy.AllowedDomains) > 0 {
			network = strings.Join(p.policy.AllowedDomains, ", ") + "; because: " + q.Risk.NetworkRationale
		}
	}
	r.fields([][2]string{
		{"Purpose", q.Purpose},
		{"Requested by", q.RequestedBy + ", " + q.CreatedUTC.Format(time.RFC3339)},
		{"Approved by", cmp.Or(q.ApprovedBy, "nobody yet")},
		{"Backend", fmt.Sprintf("%s, language %s", q.Backend, q.Language)},
		{"Image", imageOf(q, p.node)},
		{"Network", network},
		{"Limits", limitsOf(q, p)},
		{"Risk", fmt.Sprintf("%s, data %s: %s", q.Risk.Level, q.Risk.DataSensitivity, q.Risk.Justification)},
	}...)
	if q.Backend == schemas.BackendMonty {
		r.head("Code")
		r.numbered(q.Code)
		if len(q.InputsJSON) > 0 {
			r.head("Variables")
			r.numbered(string(q.InputsJSON))
		}
	} else {
		r.head("Command")
		r.say("  ", q.Command)
		r.head("Run as these words (no shell is involved)")
		for i, w := range q.Argv {
			r.say(fmt.Sprintf("  %2d  ", i), w)
		}
	}
	r.head("Outputs")
	for _, o := range q.Outputs {
		r.say("  ", o.Path+"  "+o.Description)
	}
	if len(q.Outputs) == 0 {
		r.say("  ", "none")
	}
	if q.Documentation {
		r.say("  ", "said to hold documentation: more of a stream may be left out before the result is refused")
	}
	texts, err := r.inputs(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.node != nil && p.node.Registry(q) != nil {
		registry := p.node.Registry(q)
		r.head("Registry of the profile " + q.Language)
		r.say("  ", "the node adds it to the inputs, as /in/registry.yaml; sha256 "+config.RegistryDigest(registry))
		r.numbered(string(registry))
	}
	r.difference(p, texts)
	return r, a.readNotes(r, p)
}

func limitsOf(q *schemas.Request, p *approval) string {
	at := func(milliCPU, memoryMB, timeSec int) string {
		cores := fmt.Sprintf("%g cores", float64(milliCPU)/1000)
		if milliCPU == 1000 {
			cores = "1 core"
		}
		return fmt.Sprintf("%s, %d MiB of memory, %s", cores, memoryMB,
			time.Duration(timeSec)*time.Second)
	}
	text := at(q.MilliCPU, q.MemoryLimitMB, q.TimeLimitSec)
	if p.node != nil {
		text += "; the node allows " + at(p.policy.MaxMilliCPU, p.policy.MaxMemoryMB, p.policy.MaxTimeSec)
	}
	return text
}

// imageOf is what a node would run a request in.
func imageOf(q *schemas.Request, l *config.Node) string {
	switch {
	case l == nil:
		return "the node says which"
	case q.Backend == schemas.BackendMonty && schemas.PlainMonty(q.Language):
		return cmp.Or(l.Backends.Monty.Image, "none: the node has no Monty") + ", runtime " + l.Containerd.Runtime
	}
	image := l.Backends.ERA.Languages[l.ImageName(q.Language)].Image
	return cmp.Or(image, "none: the node does not have this language") + ", runtime " + l.Containerd.Runtime
}

// inputs lists the inputs, and shows the whole text of each that is one: programs first. It returns the texts.
func (r *reading) inputs(ctx context.Context, p *approval) (map[string][]byte, error) {
	list, err := inputsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	work := p.request.Work()
	r.head("Inputs")
	if len(work) > 0 {
		r.say("  ", "the command begins in "+schemas.WorkDir+", not in /in")
	}
	if len(list) == 0 {
		r.say("  ", "none")
	}
	for _, in := range list {
		margin := "  "
		if in.tree != "" {
			margin = "    " // below the line of its tree
		}
		r.say(margin, in.Path()+"  "+term.Bytes(in.Size)+"  "+cmp.Or(in.media, "text"))
		if in.SHA256 != "" {
			r.say("    ", "sha256 "+in.SHA256)
		}
		if slices.Contains(work, in.Rel) {
			r.say("    ", "also below "+schemas.WorkDir+", as a copy that the program may change")
		}
		if about := aboutInput(p.request, in.Path()); about != "" {
			r.say("    ", "said to be: "+about)
		}
		if in.media != "" && !in.whole {
			r.unseen = append(r.unseen, fmt.Sprintf("%s is not text (%s, %d bytes): look at %s", in.Path(), in.media,
				in.Size, in.Host))
		}
	}
	slices.SortStableFunc(list, func(a, b input) int {
		switch {
		case a.program == b.program:
			return 0
		case a.program:
			return -1
		}
		return 1
	})
	texts := map[string][]byte{}
	for _, in := range list {
		if in.media != "" {
			continue
		}
		if in.tree == "" {
			texts[in.Rel] = in.data
		}
		what := "Input "
		if in.program {
			what = "Program "
		}
		r.head(what + in.Path())
		if len(in.data) == 0 {
			r.say("  ", "(empty)")
			continue
		}
		if n := r.numbered(string(in.data)); n > 0 {
			r.notes = append(r.notes, fmt.Sprintf("%s in %s, shown as ⟦CODE⟧",
				term.Plural(n, "hidden character", "hidden characters"), in.Path()))
		}
	}
	return texts, nil
}

// input is a file that a run will find below /in, or the tar of a folder tree.
type input struct {
	bundle.File
	data    []byte
	program bool
	media   string // of what is no text
	tree    string // the tree that it is a member of
	whole   bool   // a tar: its members, which follow, are all that a run gets of it
}

// inputsOf reads all inputs, and after each folder tree what is in it.
func inputsOf(ctx context.Context, p *approval) ([]input, error) {
	trees := p.request.Trees()
	var list []input
	add := func(in input) {
		in.program = programs[filepath.Ext(in.Rel)] || bytes.HasPrefix(in.data, []byte("#!"))
		if !isText(in.data) {
			in.media = mimetype.Detect(in.data).String()
		}
		list = append(list, in)
	}
	for _, f := range p.inputs {
		var b bytes.Buffer
		err := bundle.Read(ctx, f, &b)
		if errors.Is(err, bundle.ErrChanged) {
			return nil, cli.Troublef(err, "review it again",
				"an input was changed during the review; nothing was written")
		}
		if err != nil {
			return nil, inputFault(err)
		}
		if !slices.Contains(trees, f.Rel) {
			add(input{File: f, data: b.Bytes()})
			continue
		}
		at := len(list)
		list = append(list, input{File: f, whole: true})
		_, err = intree.Each(bytes.NewReader(b.Bytes()), func(m intree.Member, content io.Reader) error {
			member := input{File: bundle.File{Rel: path.Join(f.Rel, m.Path), Host: f.Host, Size: m.Size}, tree: f.Rel}
			if m.Dir {
				return nil
			}
			var err error
			if member.data, err = io.ReadAll(content); err == nil {
				add(member)
			}
			return err
		})
		if err != nil {
			return nil, treeFault(f, err)
		}
		list[at].media = "folder tree of " + term.Plural(len(list)-at-1, "file", "files") + ", unpacked read-only"
	}
	var files []bundle.File
	for _, in := range list {
		files = append(files, in.File)
	}
	first := firstNamed(p.request.Argv, files)
	for i := range list {
		list[i].program = list[i].program || list[i].Rel == first
	}
	return list, nil
}

// isText says whether a person can read data. Bytes that are none of a text are shown by their
// code, so a wrong yes hides nothing.
func isText(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	strange := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) {
			strange++
		}
		i += n
	}
	return strange*8 <= len(data)
}

// aboutInput is what the request says of an input.
func aboutInput(q *schemas.Request, path string) string {
	for _, in := range q.Inputs {
		if in.Path == path {
			return in.Description
		}
	}
	return ""
}

// firstNamed is the input that the command names first, or "": an interpreter runs that.
func firstNamed(argv []string, inputs []bundle.File) string {
	for _, w := range argv {
		for _, f := range inputs {
			if w == f.Path() || strings.TrimPrefix(w, "./") == f.Rel {
				return f.Rel
			}
		}
	}
	return ""
}

// readNotes ends a reading with what deserves a second look, and with what it does not show.
func (a *app) readNotes(r *reading, p *approval) error {
	if by := strings.TrimSpace(p.replaces); by != "" {
		r.notes = append(r.notes, "the request was approved before, by "+by+"; this replaces that approval")
	}
	if _, err := p.place.Mode(p.name + ".sig"); err == nil && !p.also {
		r.notes = append(r.notes, "its signature will no longer fit and is replaced or removed")
	}
	for _, u := range p.verdict.NotLookedAt {
		if u == admission.Configuration || u == admission.Earlier { // the rest is a matter of the approval itself
			r.notes = append(r.notes, "not looked at here: "+u.Says())
		}
	}
	if len(r.notes)+len(p.verdict.Findings) > 0 {
		r.head("Look twice")
		for _, n := range r.notes {
			r.say("  - ", n)
		}
		var b strings.Builder
		w := &diag.Text{W: &b, Columns: a.UI.Columns}
		if err := w.Report(diag.New(p.file, schemas.KindRequest, p.raw, p.verdict.Findings)); err != nil {
			return err
		}
		if b.Len() > 0 {
			r.say("", strings.TrimRight(b.String(), "\n"))
		}
	}
	if data, err := p.place.Read(p.name+refusedSuffix, maxRefusalBytes); err == nil {
		if before, err := parseRefusal(data); err == nil {
			r.head("Refused before")
			r.say("  ", "by "+before.RefusedBy+", "+before.RefusedUTC.Format(time.RFC3339)+": "+before.Reason)
		}
	}
	if len(r.unseen) > 0 {
		r.head("Not shown")
		for _, u := range r.unseen {
			r.say("  - ", u)
		}
		return nil
	}
	r.head("That is all: every line of the request's program and of its inputs is shown above")
	return nil
}

// print writes the whole reading.
func (r *reading) print(s term.Style, columns int) string {
	var b strings.Builder
	for _, l := range r.lines {
		for _, row := range l.rows(s, columns) {
			b.WriteString(strings.TrimRight(row, " ") + "\n")
		}
	}
	return b.String()
}
