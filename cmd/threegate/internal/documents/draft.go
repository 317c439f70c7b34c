package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/schemas"
)

type draftFlags struct {
	language, purpose, by, slug, command string
	code, variables, tools, workspace    string
	vars, inputs, trees, outputs         []string
	work                                 bool
	cpu                                  string
	memoryMB, timeSec                    int
	risk, justification, sensitivity     string
	network, rationale                   string
	file, config                         string
}

func newDraft(a *app) *cobra.Command {
	var f draftFlags
	cmd := &cobra.Command{
		Use:   "draft ERA|monty",
		Short: "Write a request to fill in",
		Long: `draft writes a request that lacks only its approval, and never one that lint would reject
for another reason. ERA runs a command in a container of a language, monty a program in
pydantic's Monty. Without --command or --code the request runs a sample.

Missing fields read "` + notStated + `": purpose, requester, justification. Without --risk the
risk is high, without --sensitivity the data are confidential. The limits are small, so
that raising one is a decision.

With --tools PLAN.jsonl an ERA request carries out a plan of tools that change a repository or
a folder (docs/tools.md): one call a line, as {"tool": "grep", "args": {"pattern": "TODO"}}.
draft adds the rest of each line, and refuses calls that threegate-tools would refuse. A
Monty program calls the tools itself. --workspace is what they work on. A file registry.yaml
among the inputs says which commands and hosts they may use; a profile of the node's
(--language NAME) brings its own. The result has changes.patch, for git apply.

With --output-file NAME.md the request goes to that file and copies of the input
files to NAME.inputs/ in the same folder, where approve and promote find them; if it names
a folder, the file is named after the request's id, and no two drafts get the same one.
Otherwise the request goes to stdout. The id consists of time and slug, or is the name of
the file, if that is TR-....md.`,
		Example: `  threegate draft ERA --language python --input stats.py --input data.csv \
      --output 'stats.json: the figures' --command 'python stats.py /in/data.csv' -o .
  threegate draft ERA --input job.rb --language ruby --purpose "Sort a list" --requested-by bob \
      --risk low --justification "Reads one public list." --sensitivity public --time-sec 300 -o .
  threegate draft monty --code sum.py --var 'numbers=[1, 2, 3]' > TR.md
  git bundle create /tmp/repository.bundle HEAD main
  threegate draft ERA --tools plan.jsonl --workspace /tmp/repository.bundle --input registry.yaml \
      --purpose "Round half up" --requested-by bob -o .
  threegate draft monty --code fix.py --workspace /tmp/repository.bundle --language go-fix -o .`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{string(schemas.BackendERA), string(schemas.BackendMonty)},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.draft(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.language, "language", "",
		"`name` of an image or a profile of the node (default python, for tools: tools)")
	fl.StringVar(&f.purpose, "purpose", "", "what the run is for, in a sentence")
	fl.StringVar(&f.by, "requested-by", "", "who asks; must not be the approver")
	fl.StringVar(&f.slug, "slug", "", "last part of the request's id (default: from the purpose)")
	fl.StringVar(&f.command, "command", "", "the command line to run (ERA)")
	fl.StringVar(&f.code, "code", "", "`file` with the program (monty)")
	fl.StringVar(&f.variables, "variables", "", "`file` with a JSON object: each key is a variable (monty)")
	fl.StringArrayVar(&f.vars, "var", nil, "a variable, as `NAME=JSON` (monty; repeatable)")
	fl.StringVar(&f.tools, "tools", "", "`file` with a plan of tools, one call a line (ERA)")
	fl.StringVar(&f.workspace, "workspace", "", "`path` of a git bundle or a folder that the tools work on")
	fl.StringArrayVar(&f.inputs, "input", nil, "input `file` or folder, appears below /in (repeatable)")
	fl.StringArrayVar(&f.trees, "tree", nil,
		"`folder` that becomes one input: a tar, unpacked read-only below /in (repeatable)")
	fl.BoolVar(&f.work, "work", false, "copy all inputs to the writable folder "+schemas.WorkDir+
		", and start the command there (ERA)")
	fl.StringArrayVar(&f.outputs, "output", nil,
		"`name` of an output file below /out, or \"NAME: what it is\" (repeatable)")
	fl.StringVar(&f.cpu, "cpu", draft.CPU, "cores, like 0.5, 2 or 500m")
	fl.IntVar(&f.memoryMB, "memory-mb", draft.MemoryMB, "memory")
	fl.IntVar(&f.timeSec, "time-sec", draft.TimeSec, "seconds until it is stopped")
	fl.StringVar(&f.risk, "risk", "", "risk level: low, medium or high")
	fl.StringVar(&f.justification, "justification", "", "why the risk is no higher, in a sentence")
	fl.StringVar(&f.sensitivity, "sensitivity", "", "of the data: public, internal or confidential")
	fl.StringVar(&f.network, "network", string(schemas.NetworkNone), "none, or allowlist: the node's allowed domains")
	fl.StringVar(&f.rationale, "network-rationale", "", "what the network is needed for")
	fl.StringVarP(&f.file, "output-file", "o", "", "write to this `file`, or into this folder")
	fl.StringVar(&f.config, "config", "", "judge by the policy of this threegate.yaml `file`")
	cli.Complete(cmd, "language", "python", "javascript", "ruby", "perl", draft.ToolsLanguage)
	cli.Complete(cmd, "risk", "low", "medium", "high")
	cli.Complete(cmd, "sensitivity", "public", "internal", "confidential")
	cli.Complete(cmd, "network", string(schemas.NetworkNone), string(schemas.NetworkAllowlist))
	return cmd
}

// notStated stands in a field that is missing.
const notStated = "not stated"

// outDir is where outputs appear inside the sandbox.
const outDir = "/out/"

func (a *app) draft(ctx context.Context, backend string, f draftFlags) error {
	d, silent, err := a.drafted(backend, f)
	if err != nil {
		return err
	}
	node, policy, err := cli.ConfigOf(f.config, a.Now())
	if err != nil {
		return err
	}
	n := confine.Needs{Read: slices.Concat([]string{f.code, f.variables, f.tools, f.workspace}, f.inputs, f.trees)}
	if f.file != "" {
		n.Write = []string{draftDir(f.file)}
	}
	if err := a.DropPrivileges(n); err != nil {
		return err
	}
	files, err := hashNamed(ctx, f.inputs, InputLimits(policy))
	if err != nil {
		return err
	}
	for _, file := range files {
		d.Inputs = append(d.Inputs, draft.Input{File: file})
	}
	for _, dir := range f.trees {
		file, err := packTree(ctx, dir, InputLimits(policy))
		if err != nil {
			return err
		}
		files = append(files, file)
		d.Inputs = append(d.Inputs, draft.Input{File: file, Unpack: schemas.UnpackTar})
	}
	if f.withTools(d.Backend) {
		more, err := a.toolInputs(ctx, f, node, InputLimits(policy))
		if err != nil {
			return err
		}
		for _, in := range more {
			files = append(files, in.File)
		}
		d.Inputs = append(d.Inputs, more...)
		d.WithTools()
	}
	for i := range d.Inputs {
		if f.work {
			d.Inputs[i].CopyTo = schemas.WorkDir
		}
	}
	switch {
	case d.Backend == schemas.BackendMonty:
		err = montyDraft(&d, f, policy.MaxRequestBytes)
	case f.tools != "":
		d.Command = cmp.Or(f.command, draft.PlanCommand)
	default:
		d.Command = cmp.Or(f.command, sampleCommand(d))
	}
	if err != nil {
		return err
	}
	text, err := d.Markdown()
	if err != nil {
		return cli.Troublef(err, "", "can't write the request")
	}
	policy.Unapproved = true
	_, err = a.judge(ctx, "the draft", "written", admission.Case{Raw: []byte(text), Policy: policy, Config: node,
		Files: bundle.Files{Context: ctx, List: files}})
	if f, ok := errors.AsType[*cli.Fault](err); ok {
		f.Hint = "mend what is blocking: a flag, or an input's name; nothing was written"
	}
	if err != nil {
		return err
	}
	if note := bareTools(d, f, node); note != "" {
		a.UI.Say("%s", note)
	}
	if f.file == "" {
		return a.draftOut(d, text, "", silent)
	}
	return a.draftFile(ctx, d, files, f.file, InputLimits(policy), silent)
}

// drafted is the draft as far as the flags say, and the names of those that nobody gave.
func (a *app) drafted(backend string, f draftFlags) (d draft.Draft, silent []string, err error) {
	said := func(flag, value, otherwise string) string {
		if value == "" {
			silent = append(silent, "--"+flag)
		}
		return cmp.Or(value, otherwise)
	}
	d = draft.Draft{Network: schemas.Network(f.network), CPU: f.cpu, MemoryMB: f.memoryMB,
		TimeSec: f.timeSec}
	d.Purpose = said("purpose", f.purpose, notStated)
	d.RequestedBy = said("requested-by", f.by, notStated)
	d.Risk = schemas.Risk{Level: said("risk", f.risk, "high"),
		Justification:    said("justification", f.justification, notStated),
		DataSensitivity:  said("sensitivity", f.sensitivity, "confidential"),
		NetworkRationale: cmp.Or(f.rationale, "none")}
	switch {
	case strings.EqualFold(backend, string(schemas.BackendERA)):
		d.Backend = schemas.BackendERA
		if f.code != "" || f.variables != "" || len(f.vars) > 0 {
			return d, nil, cli.Usagef("an ERA request names its program as an --input, and in --command",
				"--code, --variables and --var belong to monty")
		}
	case strings.EqualFold(backend, string(schemas.BackendMonty)):
		d.Backend = schemas.BackendMonty
		if f.command != "" {
			return d, nil, cli.Usagef("a Monty request holds its program: --code FILE", "--command belongs to ERA")
		}
	default:
		return d, nil, cli.Usagef("the backends are ERA and monty", "there is no backend %q", backend)
	}
	if err := f.checkTools(d.Backend); err != nil {
		return d, nil, err
	}
	d.Language = cmp.Or(f.language, "python")
	if f.language == "" && f.withTools(d.Backend) {
		d.Language = draft.ToolsLanguage
	}
	slug := cmp.Or(f.slug, draft.Slug(f.purpose), strings.ToLower(string(d.Backend))+"-"+draft.Slug(d.Language))
	if slug != draft.Slug(slug) {
		return d, nil, cli.Usagef(fmt.Sprintf("use a-z, 0-9 and hyphens, at most %d", draft.MaxSlug),
			"--slug %q can't be part of an id", slug)
	}
	d.Created = a.Now()
	d.ID = draft.NewID(d.Created, slug)
	if bundle.NameKind(f.file) == schemas.KindRequest {
		// The name of the file is the id of the request.
		d.ID = strings.TrimSuffix(filepath.Base(f.file), ".md")
	}
	for _, o := range f.outputs {
		name, about, _ := strings.Cut(o, ": ")
		rel := strings.TrimPrefix(name, outDir)
		if _, ok := bundle.InFolder(bundle.InDir + rel); !ok {
			return d, nil, cli.Usagef("name a file below /out, like stats.json",
				"--output %q can't be the name of an output", o)
		}
		d.Outputs = append(d.Outputs, schemas.OutputExpectation{Path: outDir + rel, Description: about})
	}
	return d, silent, nil
}

// montyDraft fills in code and variables, or a sample of both.
func montyDraft(d *draft.Draft, f draftFlags, limit int64) error {
	variables := map[string]jsontext.Value{}
	if f.variables != "" {
		if len(f.vars) > 0 {
			return cli.Usagef("put all variables into the file", "--variables and --var can't be used together")
		}
		data, err := bundle.ReadDocument(f.variables, true, limit)
		if err != nil {
			return cli.Troublef(err, lintHint(err), "can't take the variables from %s", f.variables)
		}
		d.Variables = strings.TrimSpace(string(data)) // as written: lint judges it
	}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if _, twice := variables[name]; twice || !ok || !jsontext.Value(value).IsValid() {
			return cli.Usagef(`write NAME=JSON, like numbers='[1, 2]' or name='"x"', and each name once`,
				"--var %s is not a variable", v)
		}
		variables[name] = jsontext.Value(value)
	}
	if len(f.vars) > 0 {
		data, err := json.MarshalIndent(variables, "", "  ")
		if err != nil {
			return cli.Troublef(err, "", "can't write the variables")
		}
		d.Variables = string(data)
	}
	if f.code != "" {
		data, err := bundle.ReadDocument(f.code, true, limit)
		if err != nil {
			return cli.Troublef(err, lintHint(err), "can't take the program from %s", f.code)
		}
		d.Code = strings.TrimSuffix(string(data), "\n")
		return nil
	}
	if d.Variables != "" {
		return cli.Usagef("add --code FILE", "variables were given, but no program to read them")
	}
	if f.withTools(d.Backend) {
		d.Code = "fs_list(glob='**')['files']"
		return nil
	}
	d.Code = "total = sum(numbers)\nprint('the sum is', total)\ntotal"
	d.Variables = `{"numbers": [1, 2, 3]}`
	if len(d.Outputs) > 0 {
		d.Code = "from pathlib import Path\n\ntotal = sum(numbers)\n" +
			"Path('" + d.Outputs[0].Path + "').write_text(str(total))\ntotal"
	}
	return nil
}

// sampleCommand is a command that works as it stands: it runs the first program among the inputs.
func sampleCommand(d draft.Draft) string {
	interpreter := map[string]string{"javascript": "node", "python": "python -u"}[d.Language]
	interpreter = cmp.Or(interpreter, d.Language)
	for _, in := range d.Inputs {
		if programs[filepath.Ext(in.Rel)] {
			return interpreter + " " + in.Path()
		}
	}
	return interpreter + " --version"
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

// maxFreeID bounds the look for an id that is free.
const maxFreeID = 1000

// draftFile writes a draft with copies of its inputs. In a folder it takes an id that is free.
func (a *app) draftFile(ctx context.Context, d draft.Draft, files []bundle.File, file string, l bundle.Limits,
	silent []string) error {
	info, err := os.Stat(file)
	folder := err == nil && info.IsDir()
	if !folder && !strings.HasSuffix(file, ".md") {
		return cli.Usagef("requests end in .md", "-o %s can't be the name of a request", file)
	}
	dir, name, base := file, "", d.ID
	if !folder {
		dir, name = filepath.Split(file)
	}
	place, err := bundle.OpenPlace(cmp.Or(dir, "."))
	if err != nil {
		return cli.Troublef(err, "", "can't open the folder %s", cmp.Or(dir, "."))
	}
	defer place.Close()
	for n := 1; ; n++ {
		if folder {
			if d.ID = base; n > 1 {
				d.ID = fmt.Sprintf("%s-%d", base, n)
			}
			name = d.ID + ".md"
		}
		text, err := d.Markdown()
		if err != nil {
			return cli.Troublef(err, "", "can't write the request")
		}
		err = place.Claim(name, func() error {
			if len(files) > 0 {
				if err := place.CopyFolder(ctx, bundle.Dir(name), files, l); err != nil {
					return err
				}
			}
			return place.WriteFile(name, []byte(text), 0o644, false)
		}, name, bundle.Dir(name))
		switch {
		case errors.Is(err, fs.ErrExist) && folder && n < maxFreeID:
			continue
		case errors.Is(err, fs.ErrExist):
			return cli.Troublef(err, "draft overwrites nothing; choose another name", "%s", filepath.Join(dir, name))
		case err != nil:
			return cli.Troublef(err, "", "can't write %s", filepath.Join(dir, name))
		}
		return a.draftOut(d, text, filepath.Join(dir, name), silent)
	}
}

// draftOut says what was written, or writes it to stdout.
func (a *app) draftOut(d draft.Draft, text, file string, silent []string) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"request_id": d.ID, "file": file, "request": text,
			"not_stated": append([]string{}, silent...)})
	}
	if file == "" {
		_, err := io.WriteString(a.UI.Out, text)
		return err
	}
	fmt.Fprintln(a.UI.Out, file)
	if len(d.Inputs) > 0 {
		a.UI.Say("inputs copied to %s", bundle.Dir(file))
	}
	if len(silent) > 0 {
		a.UI.Say("not given, so \"not stated\" or the strictest value stands in the request: %s",
			strings.Join(silent, " "))
	}
	a.UI.Hint("edit it, then: threegate review " + file)
	return nil
}
