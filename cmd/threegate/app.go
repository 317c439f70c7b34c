package main

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/confine"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
)

// app is what all commands share: streams, clock, environment, global flags.
type app struct {
	in     io.Reader
	ui     *term.UI
	now    func() time.Time
	getenv func(string) string
	// confine takes from the process what it no longer needs: see reach.
	confine func(confine.Needs) error

	json  bool
	color string
	node  string
}

func newApp(in io.Reader, out, err io.Writer) *app {
	a := &app{in: in, now: time.Now, getenv: os.Getenv, confine: confine.Apply, color: "auto"}
	a.ui = term.New(out, err, os.Getenv)
	return a
}

// readGlobals looks for --json before flags are parsed, so that a mistake in
// the flags themselves is reported in the wanted form as well.
func (a *app) readGlobals(args []string) {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	a.json = slices.Contains(args, "--json")
}

// printJSON writes v to stdout as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.ui.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return troublef(err, "", "can't write the output")
	}
	return nil
}
