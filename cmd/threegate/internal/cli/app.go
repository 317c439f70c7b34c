// Package cli is what all commands of threegate share: streams, global flags, errors
// with exit codes, how a node is made and found, and how a process gives up rights.
//
// It knows no command and reads no document.
package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/confine"
)

// App is what all commands share: streams, clock, environment, global flags.
type App struct {
	In     io.Reader
	UI     *term.UI
	Now    func() time.Time
	Getenv func(string) string
	// Confine takes from the process what it no longer needs: see DropPrivileges.
	Confine func(confine.Needs) error

	JSON  bool
	Color string
	Node  string
}

// New is an App on these streams, with the clock and environment of the process.
func New(in io.Reader, out, err io.Writer) *App {
	return &App{
		In: in, UI: term.New(out, err, os.Getenv), Now: time.Now, Getenv: os.Getenv, Confine: confine.Apply,
		Color: "auto",
	}
}

// ReadGlobals looks for --json before flags are parsed, so that a mistake in
// the flags themselves is reported in the wanted form as well.
func (a *App) ReadGlobals(args []string) {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	a.JSON = slices.Contains(args, "--json")
}

// PrintJSON writes v to stdout as indented JSON.
func (a *App) PrintJSON(v any) error {
	enc := json.NewEncoder(a.UI.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return Troublef(err, "", "can't write the output")
	}
	return nil
}

// JSONList writes a list to stdout as PrintJSON does, of any length: it keeps one element at a time.
type JSONList struct {
	out   *bufio.Writer
	count int
}

func (a *App) NewJSONList() *JSONList { return &JSONList{out: bufio.NewWriter(a.UI.Out)} }

// Add writes one more element.
func (l *JSONList) Add(v any) error {
	before := ",\n  "
	if l.count++; l.count == 1 {
		before = "[\n  "
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := l.out.WriteString(before + strings.TrimSuffix(b.String(), "\n"))
	return err
}

// End closes the list.
func (l *JSONList) End() error {
	end := "\n]\n"
	if l.count == 0 {
		end = "[]\n"
	}
	l.out.WriteString(end) // Flush returns its error
	if err := l.out.Flush(); err != nil {
		return Troublef(err, "", "can't write the output")
	}
	return nil
}

// Group is a command that only holds others.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(below...)
	return cmd
}

// Complete offers fixed values for a flag to shells.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a mistake in the code
	}
}

// Version is the release that this build is, or comes after. CHANGELOG.md names the same.
const Version = "0.9.0"

// ExplainArgs makes every command name the arguments that it takes when it is given others.
// Cobra's own message names neither.
func ExplainArgs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		ExplainArgs(c)
	}
	check := cmd.Args
	if check == nil || cmd.HasSubCommands() { // an unknown subcommand has its own words
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ours := err.(*Fault); err == nil || ours {
			return err
		}
		return argsFault(cmd, args)
	}
}

func argsFault(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath()
	_, wants, _ := strings.Cut(strings.TrimSuffix(cmd.UseLine(), " [flags]"), path)
	wants = strings.TrimSpace(wants)
	hint := path + " --help says more"
	switch {
	case wants == "":
		return Usagef(hint, "%s takes no arguments, but was given %q", path, args)
	case len(args) == 0:
		return Usagef(hint, "%s needs %s", path, wants)
	}
	return Usagef(hint, "%s takes %s, and was given %s", path, wants, fmt.Sprintf("%q", args))
}
