package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/confine"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

type draftFlags struct {
	language, purpose, by, slug, command string
	inputs, outputs                      []string
	file                                 string
}

func newDraft(a *app) *cobra.Command {
	var f draftFlags
	cmd := &cobra.Command{
		Use:   "draft ERA|monty",
		Short: "Write a request to fill in",
		Long: `draft writes a request for a backend that lint accepts but for the approval, which
stays empty. ERA runs a command in a container of a language, monty a program in
pydantic's Monty.

With --output-file NAME.md the request goes to that file and copies of the input
files to NAME.inputs/ in the same folder, where approve and promote find them; if it names
a folder, the file is called after the request's id. Otherwise the request goes
to stdout. The id is made of time and slug, unless the file is called TR-....md: then
it is the file's name.`,
		Example: `  threegate draft ERA --language python --input stats.py --input data.csv \
      --output stats.json --command 'python stats.py /in/data.csv' -o .
  threegate draft monty --purpose "Sum a list of numbers" > TR.md`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{string(schemas.BackendERA), string(schemas.BackendMonty)},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.draft(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.language, "language", "python", "the program's language (monty runs python only)")
	fl.StringVar(&f.purpose, "purpose", "", "what the run is for, in a sentence")
	fl.StringVar(&f.by, "requested-by", "CORE", "who asks; must be somebody else than who approves")
	fl.StringVar(&f.slug, "slug", "", "last part of the request's id (default: from the purpose)")
	fl.StringVar(&f.command, "command", "", "the command line to run (ERA)")
	fl.StringArrayVar(&f.inputs, "input", nil, "input `file` or folder, appears below /in (repeatable)")
	fl.StringArrayVar(&f.outputs, "output", nil, "`name` of an output file below /out (repeatable)")
	fl.StringVarP(&f.file, "output-file", "o", "", "write to this `file`, or into this folder")
	cli.Complete(cmd, "language", "python", "javascript", "ruby", "perl")
	return cmd
}

// outDir is where outputs appear inside the sandbox.
const outDir = "/out/"

func (a *app) draft(ctx context.Context, backend string, f draftFlags) error {
	d := draft.Draft{RequestedBy: f.by, Purpose: f.purpose, Language: f.language, Network: schemas.NetworkNone,
		CPU: draft.CPU, MemoryMB: draft.MemoryMB, TimeSec: draft.TimeSec, Risk: schemas.Risk{Level: "low",
			Justification:   "Reads only the declared inputs and writes only the declared outputs.",
			DataSensitivity: "internal", NetworkRationale: "none needed"}}
	switch {
	case strings.EqualFold(backend, string(schemas.BackendERA)):
		d.Backend = schemas.BackendERA
	case strings.EqualFold(backend, string(schemas.BackendMonty)):
		d.Backend = schemas.BackendMonty
	default:
		return cli.Usagef("the backends are ERA and monty", "there is no backend %q", backend)
	}
	if d.Backend == schemas.BackendMonty && f.command != "" {
		return cli.Usagef("a Monty request holds its program under ## Code", "--command belongs to ERA")
	}
	if d.Purpose == "" {
		d.Purpose = "Say in a sentence what this run is for."
	}
	if f.slug == "" {
		f.slug = draft.Slug(f.purpose)
	}
	if f.slug == "" {
		f.slug = strings.ToLower(string(d.Backend)) + "-" + draft.Slug(f.language)
	}
	if f.slug != draft.Slug(f.slug) {
		return cli.Usagef(fmt.Sprintf("use a-z, 0-9 and hyphens, at most %d", draft.MaxSlug),
			"--slug %q can't be part of an id", f.slug)
	}
	d.Created = a.Now()
	d.ID = draft.NewID(d.Created, f.slug)
	if source.NameKind(f.file) == schemas.KindRequest {
		// The name of the file is the id of the request.
		d.ID = strings.TrimSuffix(filepath.Base(f.file), ".md")
	}
	for _, o := range f.outputs {
		rel := strings.TrimPrefix(o, outDir)
		if _, ok := bundle.InFolder(bundle.InDir + rel); !ok {
			return cli.Usagef("name a file below /out, like stats.json", "--output %q is no name of an output", o)
		}
		d.Outputs = append(d.Outputs, schemas.OutputExpectation{Path: outDir + rel})
	}
	n := confine.Needs{Read: f.inputs}
	if f.file != "" {
		n.Write = []string{draftDir(f.file)}
	}
	err := a.Reach(n)
	if err != nil {
		return err
	}
	limits := InputLimits(validate.DefaultPolicy(d.Created))
	files, err := hashNamed(ctx, f.inputs, limits)
	if err != nil {
		return err
	}
	for _, file := range files {
		d.Inputs = append(d.Inputs, draft.Input{File: file})
	}
	fill(&d, f)
	text, err := d.Markdown()
	if err != nil {
		return cli.Troublef(err, "", "can't write the request")
	}
	if f.file == "" {
		return a.draftOut(d, text, "")
	}
	return a.draftFile(ctx, d, files, text, f.file, limits)
}

// fill makes a command or a program that works as it stands.
func fill(d *draft.Draft, f draftFlags) {
	if d.Backend == schemas.BackendMonty {
		d.Language = "python"
		d.Code = "total = sum(numbers)\nprint('the sum is', total)\ntotal"
		d.Variables = `{"numbers": [1, 2, 3]}`
		if len(d.Outputs) > 0 {
			d.Code = "from pathlib import Path\n\ntotal = sum(numbers)\n" +
				"Path('" + d.Outputs[0].Path + "').write_text(str(total))\ntotal"
		}
		return
	}
	d.Command = f.command
	if d.Command != "" {
		return
	}
	interpreter := map[string]string{"javascript": "node", "python": "python -u"}[d.Language]
	if interpreter == "" {
		interpreter = d.Language
	}
	d.Command = interpreter + " --version"
	for _, in := range d.Inputs {
		if programs[filepath.Ext(in.Rel)] {
			d.Command = interpreter + " " + in.Path()
			break
		}
	}
}

// programs are the endings of files that interpreters run.
var programs = map[string]bool{".py": true, ".js": true, ".mjs": true, ".rb": true, ".pl": true, ".sh": true,
	".lua": true, ".r": true, ".R": true}

// draftDir is the folder in which a draft for file is written.
func draftDir(file string) string {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return file
	}
	return filepath.Dir(file)
}

func (a *app) draftFile(ctx context.Context, d draft.Draft, files []bundle.File, text, file string,
	l bundle.Limits) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, d.ID+".md")
	}
	if !strings.HasSuffix(file, ".md") {
		return cli.Usagef("requests end in .md", "-o %s is no name for a request", file)
	}
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	if _, err := os.Lstat(file); err == nil {
		return cli.Troublef(fs.ErrExist, "draft overwrites nothing; choose another name", "%s", file)
	}
	if len(files) > 0 {
		err := bundle.CopyFolder(ctx, dir, filepath.Base(bundle.Dir(name)), files, l)
		if err != nil {
			return cli.Troublef(err, "draft overwrites nothing; choose another name", "can't copy the inputs to %s",
				bundle.Dir(file))
		}
	}
	if err := bundle.WriteFile(dir, name, []byte(text), 0o644, false); err != nil {
		return cli.Troublef(err, "", "can't write %s", file)
	}
	return a.draftOut(d, text, file)
}

// draftOut says what was written, or writes it to stdout.
func (a *app) draftOut(d draft.Draft, text, file string) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"request_id": d.ID, "file": file, "request": text})
	}
	if file == "" {
		_, err := io.WriteString(a.UI.Out, text)
		return err
	}
	fmt.Fprintln(a.UI.Out, file)
	if len(d.Inputs) > 0 {
		a.UI.Say("inputs copied to %s", bundle.Dir(file))
	}
	a.UI.Hint("edit it, then: threegate approve " + file)
	return nil
}

// hashNamed lists and hashes the files that a person named.
func hashNamed(ctx context.Context, paths []string, l bundle.Limits) ([]bundle.File, error) {
	files, err := bundle.Named(paths, l)
	if err != nil {
		return nil, inputFault(err)
	}
	return files, hash(ctx, files, l)
}

func hash(ctx context.Context, files []bundle.File, l bundle.Limits) error {
	if err := bundle.Hash(ctx, files, l); err != nil {
		return inputFault(err)
	}
	return nil
}

func inputFault(err error) *cli.Fault {
	hint := "inputs must be regular files, or folders of them"
	if errors.Is(err, bundle.ErrTooMuch) {
		hint = "leave out what the run does not need, or raise limits.inputs_mb and limits.input_files of the node"
	}
	return cli.Troublef(err, hint, "can't take the inputs")
}

// InputLimits bound the inputs of a request by a policy.
func InputLimits(p validate.Policy) bundle.Limits {
	return bundle.Limits{Files: p.MaxInputs, Bytes: p.MaxInputBytes}
}
