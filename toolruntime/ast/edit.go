package ast

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/toolchain"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// The operations of ast_edit.
const (
	renameSymbol   = "rename_symbol"
	replaceNode    = "replace_node"
	replacePattern = "replace_pattern"
)

type editArgs struct {
	Operation    string  `json:"operation"`
	TargetNodeID string  `json:"target_node_id,omitempty" jsonschema:"of rename_symbol and replace_node: an id of ast_query"`
	Where        Where   `json:"where,omitempty" jsonschema:"in place of an id: must name one node; of replace_pattern: the pattern and the files"`
	NewName      string  `json:"new_name,omitempty" jsonschema:"of rename_symbol"`
	Text         *string `json:"text,omitempty" jsonschema:"what takes the place; of replace_pattern with the pattern's $NAMEs"`
	FormatOnSave *bool   `json:"format_on_save,omitempty" jsonschema:"format files that were formatted before (Go, Rust); without it as the registry says"`
	// ValidateBuild takes longer than the default time where nothing is built yet.
	ValidateBuild *bool `json:"validate_build,omitempty" jsonschema:"keep the change only if the code builds after it; without it as the registry says"`
	contract.Timed
}

type editResult struct {
	Edited       bool     `json:"edited"`
	FilesTouched []string `json:"files_touched"`
	Replacements int      `json:"replacements"`
	Skipped      int      `json:"skipped" jsonschema:"matches within others, which were left as they are"`
}

// change is what becomes of a file.
type change struct {
	src   *source
	after []byte
}

func (t tools) edit(ctx context.Context, a editArgs) (editResult, error) {
	var out editResult
	var changes []change
	var err error
	switch a.Operation {
	case replacePattern:
		changes, out.Replacements, out.Skipped, err = t.replacePattern(ctx, a)
	case replaceNode:
		changes, err = t.replaceNode(ctx, a)
		out.Replacements = len(changes)
	case renameSymbol:
		changes, out.Replacements, err = t.rename(ctx, a)
	}
	if err != nil {
		return out, err
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return bytes.Equal(c.src.data, c.after) })
	if len(changes) == 0 {
		return out, contract.Errorf(contract.ASTEdit, "nothing would change").
			WithHint("look with ast_query what is there")
	}
	if *cmp.Or(a.FormatOnSave, &t.rules.AST.FormatOnSave) {
		for i, c := range changes {
			if changes[i].after, err = formatted(ctx, c); err != nil {
				return out, err
			}
		}
	}
	if err := t.save(ctx, changes, a.ValidateBuild); err != nil {
		return out, err
	}
	for _, c := range changes {
		out.FilesTouched = append(out.FilesTouched, c.src.path)
	}
	out.Edited = true
	return out, nil
}

// save writes all changes or none. Nothing is written unless all files parse before and after.
func (t tools) save(ctx context.Context, changes []change, build *bool) error {
	var before, after []*source
	for _, c := range changes {
		before, after = append(before, c.src), append(after, newSource(c.src.path, c.after))
	}
	were := 0
	for i, srcs := range [][]*source{before, after} {
		problems, err := parse(ctx, srcs)
		if err != nil {
			return err
		}
		// What macros of C stand for is not known here: an edit may not add to what does not parse.
		if slices.Contains([]string{"c", "cpp"}, srcs[0].lang) && (i == 0 || len(problems) <= were) {
			were = len(problems)
			continue
		}
		if len(problems) > 0 && i == 0 {
			return unparsed(problems[0])
		}
		if len(problems) > 0 {
			e := unparsed(problems[0])
			e.Message = "the file would no longer parse: " + e.Message
			return e.WithHint("mend the replacement; nothing was changed")
		}
	}
	modes := make([]fs.FileMode, len(changes))
	for i, c := range changes {
		data, mode, err := t.w.Read(c.src.path, workspace.MaxFile)
		if err != nil {
			return err
		}
		if !bytes.Equal(data, c.src.data) {
			return contract.Errorf(contract.ASTEdit, "%q changes while it is edited", c.src.path)
		}
		modes[i] = mode
	}
	var err error
	written := 0
	for ; written < len(changes) && err == nil; written++ {
		err = t.w.Write(ctx, changes[written].src.path, changes[written].after, modes[written], false)
	}
	if err == nil {
		err = t.builds(ctx, changes[0].src.lang, build)
	}
	for i := range changes {
		if err != nil && i < written {
			back := context.WithoutCancel(ctx)
			err = errors.Join(err, t.w.Write(back, changes[i].src.path, changes[i].src.data, modes[i], false))
		}
	}
	return err
}

// builds holds the workspace to build.must.pass, where that is asked for or the registry asks for it and can have it.
func (t tools) builds(ctx context.Context, lang string, asked *bool) error {
	if !*cmp.Or(asked, &t.rules.AST.ValidateOnEdit) {
		return nil
	}
	rules := *t.rules
	rules.AST.Language = lang
	j := toolchain.Job{Dir: t.w.Dir, Registry: &rules, Scratch: t.scratch, GoCache: os.Getenv("GOCACHE")}
	if !j.Has(toolchain.Build) && asked == nil {
		return nil
	}
	if !j.Has(toolchain.Build) {
		return contract.Errorf(contract.Policy, "there is no command that builds %s", lang).
			WithHint("name one in the registry: run: [...] of build.must.pass")
	}
	if t.scratch == "" {
		dir, err := os.MkdirTemp("", "build-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		j.Scratch = dir
	}
	found, _, err := j.Check(ctx, toolchain.Build)
	if err != nil && ctx.Err() == nil {
		return contract.Errorf(contract.Shell, "%v", err)
	}
	if err == nil && len(found) > 0 {
		e := contract.Errorf(contract.Validation, "it does not build: %s:%d: %s", found[0].Path, found[0].Line,
			found[0].Message)
		e.Rule = toolchain.Build
		err = e.WithHint("nothing was changed; did it build before?")
	}
	return err
}

// formatted is a file as its formatter has it, if it was so before.
func formatted(ctx context.Context, c change) ([]byte, error) {
	by := func(data []byte) ([]byte, error) {
		if c.src.lang == "go" {
			return format.Source(data)
		}
		out, err := runRustfmt(ctx, string(data))
		if err == nil && out.Code != 0 {
			err = errors.New(out.Stderr)
		}
		return []byte(out.Stdout), err
	}
	if c.src.lang != "go" && (c.src.lang != "rust" || !proc.Installed(rustfmt())) {
		return c.after, nil
	}
	if was, err := by(c.src.data); err != nil || !bytes.Equal(was, c.src.data) {
		return c.after, ctx.Err()
	}
	if after, err := by(c.after); err == nil {
		return after, nil
	}
	return c.after, ctx.Err() // what does not parse is found later
}

// target is the one node of a call.
func (t tools) target(ctx context.Context, a editArgs) (*source, Span, error) {
	if (a.TargetNodeID == "") == (a.Where == Where{}) {
		return nil, Span{}, contract.Errorf(contract.Validation, "%s takes target_node_id or where", a.Operation)
	}
	if a.TargetNodeID != "" {
		return locate(t.w, a.TargetNodeID)
	}
	nodes, _, truncated, err := t.find(ctx, a.Where)
	if err != nil {
		return nil, Span{}, err
	}
	if len(nodes) != 1 || truncated {
		return nil, Span{}, contract.Errorf(contract.ASTEdit, "%d nodes are where says, not one", len(nodes)).
			WithHint("narrow where, or take the id of a node from ast_query")
	}
	return locate(t.w, nodes[0].ID)
}

func (t tools) replaceNode(ctx context.Context, a editArgs) ([]change, error) {
	if a.Text == nil {
		return nil, contract.Errorf(contract.Validation, "%s needs text", replaceNode)
	}
	s, span, err := t.target(ctx, a)
	if err != nil {
		return nil, err
	}
	text, err := s.placed(*a.Text, span.Start)
	if err != nil {
		return nil, err
	}
	after := slices.Concat(s.data[:span.Start], s.lineEnds(text), s.data[span.End:])
	return []change{{s, after}}, nil
}

// lineEnds gives a text the line ends of a file that has only CR LF.
func (s *source) lineEnds(text string) []byte {
	if n := bytes.Count(s.data, []byte("\n")); n > 0 && n == bytes.Count(s.data, []byte("\r\n")) &&
		!strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text)
}

func (t tools) replacePattern(ctx context.Context, a editArgs) (changes []change, count, skipped int, err error) {
	if a.Where.Pattern == "" || a.Text == nil || a.TargetNodeID != "" {
		return nil, 0, 0, contract.Errorf(contract.Validation, "%s needs where with a pattern, and text",
			replacePattern)
	}
	known := metavariable.FindAllString(a.Where.Pattern, -1)
	for _, name := range metavariable.FindAllString(*a.Text, -1) {
		if len(name)-len(strings.TrimLeft(name, "$"))&1 == 0 || name == "$$$" || strings.Contains(name, "$_") ||
			!slices.Contains(known, name) {
			return nil, 0, 0, contract.Errorf(contract.Validation, "the text has %s, and the pattern has not", name)
		}
	}
	lang := t.language(a.Where.Language)
	if lang == "" {
		return nil, 0, 0, contract.Errorf(contract.Validation, "a pattern needs a language")
	}
	srcs, truncated, err := load(ctx, t.w, []string{cmp.Or(a.Where.FileGlob, "**")}, lang, defaultFiles)
	if err == nil && truncated {
		err = contract.Errorf(contract.ASTEdit, "there are more than %d files", defaultFiles).
			WithHint("narrow where.file_glob")
	}
	if err != nil {
		return nil, 0, 0, err
	}
	places := map[*source][]found{}
	err = scan(ctx, readable(srcs), patternRule(lang, a.Where.Pattern), func(s *source, f found) {
		places[s] = append(places[s], f)
	})
	for _, s := range srcs {
		if s.trouble != "" && err == nil {
			err = contract.Errorf(contract.ASTParse, "%q: %s", s.path, s.trouble).
				WithHint("leave it out with where.file_glob")
		}
		after, done, other := s.replace(places[s], *a.Text)
		err = cmp.Or(err, other)
		changes, count, skipped = append(changes, change{s, after}), count+done, skipped+len(places[s])-done
	}
	return changes, count, skipped, err
}

// replace puts a text in the place of matches, with what its names stand for, byte by byte.
func (s *source) replace(places []found, text string) (after []byte, count int, err error) {
	slices.SortStableFunc(places, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Range.Bytes.Start, b.Range.Bytes.Start),
			cmp.Compare(b.Range.Bytes.End, a.Range.Bytes.End))
	})
	at := 0
	for _, f := range places {
		if f.Range.Bytes.Start < at {
			continue
		}
		after = append(after, s.data[at:f.Range.Bytes.Start]...)
		there, err := s.placed(text, f.Range.Bytes.Start)
		if err != nil {
			return nil, 0, err
		}
		there = string(s.lineEnds(there))
		from := 0
		for _, name := range metavariable.FindAllStringIndex(there, -1) {
			after = append(after, there[from:name[0]]...)
			from = name[1]
			inner, err := s.moved(s.captured(f, there[name[0]:name[1]]), after)
			if err != nil {
				return nil, 0, err
			}
			after = append(after, inner...)
		}
		after = append(after, there[from:]...)
		at = f.Range.Bytes.End
		count++
	}
	return append(after, s.data[at:]...), count, nil
}

// captured is the place of what a name stands for.
func (s *source) captured(f found, name string) Span {
	var span Span
	if multi, ok := strings.CutPrefix(name, "$$$"); ok {
		nodes := f.Variables.Multi[multi]
		if len(nodes) == 0 {
			return Span{}
		}
		span = Span{nodes[0].Range.Bytes.Start, nodes[len(nodes)-1].Range.Bytes.End}
	} else {
		span = f.Variables.Single[strings.TrimPrefix(name, "$")].Range.Bytes
	}
	if span.Start < f.Range.Bytes.Start || span.End > f.Range.Bytes.End || span.Start > span.End {
		return Span{}
	}
	return span
}

var nodeID = regexp.MustCompile(`^([0-9a-f]{16}):([0-9]{1,9})-([0-9]{1,9}):(.+)$`)

// locate finds the file of a node's id, which must be as it was.
func locate(w *workspace.Workspace, id string) (*source, Span, error) {
	m := nodeID.FindStringSubmatch(id)
	if m == nil {
		return nil, Span{}, contract.Errorf(contract.ASTEdit, "%.200q is no id of a node", id).
			WithHint(`ast_query gives ids; or leave target_node_id out and give where, such as ` +
				`{"type":"fn","name_like":"load"}, which must name one node`)
	}
	data, _, err := w.Read(m[4], workspace.MaxFile)
	if err != nil {
		return nil, Span{}, err
	}
	s := newSource(m[4], data)
	start, _ := strconv.Atoi(m[2]) // at most nine digits
	end, _ := strconv.Atoi(m[3])
	if s.digest[:digestLength] != m[1] {
		return nil, Span{}, contract.Errorf(contract.ASTEdit, "%q has changed since the node was found", m[4]).
			WithHint("query the node again")
	}
	if start > end || end > len(data) {
		return nil, Span{}, contract.Errorf(contract.ASTEdit, "%q has no such bytes", m[4]).
			WithHint("take ids from ast_query")
	}
	return s, Span{start, end}, nil
}
