package validate

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	goldhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/command"
	"github.com/threegate/tool-exec/validate/document"
)

// maxCodeBytes bounds a program of "## Code".
const maxCodeBytes = 256 << 10

const commandHint = "write the command on one line of plain text, without fence, quotes around it or prompt"

// command reads "## Command": one plain line.
func (rr *requestReader) command(s *document.Section) {
	refuse := func(offset int, format string, args ...any) {
		rr.at("request.command", offset, commandHint, format, args...)
	}
	lines := bodyLines(s)
	if len(lines) == 0 || len(s.Blocks) == 0 {
		refuse(s.Offset, "the section %s is empty", document.Quote(s.Title))
		return
	}
	if b := s.Blocks[0]; b.Kind() != ast.KindParagraph {
		refuse(b.Pos(), "the command stands in a fence, a list, a quote or the like")
	} else if len(lines) > 1 {
		refuse(lines[1].offset, "the section holds more than one line; a request runs one command")
	}
	if len(lines) > 1 {
		return
	}
	text := strings.TrimSpace(lines[0].text)
	offset := lines[0].offset + strings.Index(lines[0].text, text)
	if strings.HasPrefix(text, "`") && strings.HasSuffix(text, "`") {
		refuse(offset, "the command stands in backticks")
		return
	}
	rr.commands = append(rr.commands, span{offset, offset + len(text)})
	argv, notes := command.Check(text)
	rr.notes(offset, notes)
	rr.markdown(text, offset)
	rr.allowlist(text, offset)
	if len(notes) == 0 && len(argv) > 0 {
		rr.program(argv[0], offset)
	}
	rr.req.Command, rr.req.Argv = text, argv
}

// notes adds what was found in a command or in code, but for a network that the
// request declares.
func (rr *requestReader) notes(offset int, notes []document.Note) {
	for _, n := range notes {
		if n.Rule != code.RuleNetwork || rr.req.Network != schemas.NetworkAllowlist {
			rr.rep.AddNote(offset, n)
		}
	}
}

var (
	markdownView = goldmark.New(goldmark.WithRendererOptions(goldhtml.WithUnsafe()))
	blanks       = regexp.MustCompile(`\s+`)
)

// markdown warns if a viewer would display the line as something else.
func (rr *requestReader) markdown(line string, offset int) {
	if len(line) > command.MaxBytes { // also bounds the time that inline parsing takes
		return
	}
	var b bytes.Buffer
	if err := markdownView.Convert([]byte(line), &b); err != nil {
		return
	}
	shown, ok := strings.CutPrefix(strings.TrimSpace(b.String()), "<p>")
	shown, end := strings.CutSuffix(shown, "</p>")
	if ok && end && !strings.Contains(shown, "<") {
		shown = html.UnescapeString(shown)
		if blanks.ReplaceAllString(shown, " ") == blanks.ReplaceAllString(line, " ") {
			return
		}
	}
	rr.at("sec.markdown", offset, "review the raw text of this line, which is what runs",
		"a Markdown view displays this command differently")
}

// program looks for the program in the image of the request's language. Such a run would end with exit code
// 127, after a person approved it.
func (rr *requestReader) program(name string, offset int) {
	has, known := rr.p.Programs[rr.req.Language]
	if !known || slices.Contains(has, name) || strings.Contains(name, "/") {
		return
	}
	list, only := "none at all", "ask the node's operator for an image that has it"
	if len(has) > 0 {
		list = strings.Join(has[:min(len(has), maxProgramsListed)], ", ")
		only = "begin the command with one of these; a program of your own goes into an input, " + has[0] +
			" /in/NAME"
	}
	if more := len(has) - maxProgramsListed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	rr.at("request.command.program", offset, only, "the image of %s has no program %s; it has %s",
		rr.req.Language, document.Quote(name), list)
}

// maxProgramsListed bounds how many programs of an image a finding names.
const maxProgramsListed = 12

// allowlist matches the command line against the node's expressions.
func (rr *requestReader) allowlist(line string, offset int) {
	if rr.p.ShellAllow == nil {
		return
	}
	for _, expr := range rr.p.ShellAllow {
		if re, err := regexp.Compile(expr); err == nil && re.MatchString(line) {
			return
		}
	}
	rr.at("sec.shell.allowlist", offset,
		"use a command that the node allows, or ask its operator to add one to shell_allow",
		"the command matches no expression of the node's shell_allow")
}

// code reads "## Code": one fenced block.
func (rr *requestReader) code(s *document.Section) {
	text, offset, ok := rr.fence(s, "request.code", "program", "python", "py", "python3", "monty")
	if !ok {
		return
	}
	switch {
	case strings.TrimSpace(text) == "":
		rr.at("request.code", offset, "write the program", "the program is empty")
	case len(text) > maxCodeBytes:
		rr.at("request.code", offset, "pass data as variables or input files",
			"the program has %d bytes, %d are allowed", len(text), maxCodeBytes)
		return
	}
	rr.notes(offset, code.Check(code.Python, text, code.Options{Monty: true}))
	rr.req.Code = text
}
