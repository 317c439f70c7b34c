package patchpolicy

import (
	"path"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// ofTools are the outputs of a run of tools under a profile: those that come out of its files are one patch, which
// can be held to rules.
var ofTools = []string{File, "responses.jsonl", "timeline.jsonl"}

// Argv is what runs of a request: its command or, of a Monty program that calls tools, what its image has for that.
func Argv(req *schemas.Request) []string {
	if req.Backend == schemas.BackendMonty && !schemas.PlainMonty(req.Language) {
		return []string{program, "monty"}
	}
	return req.Argv
}

// OfProfile says why a request can't run under a profile. That its input files are those that it declares is judged
// elsewhere.
func OfProfile(req *schemas.Request) (found []schemas.Finding) {
	for _, name := range []string{RegistryFile, registry.PackFile} {
		if slices.ContainsFunc(req.Inputs, func(in schemas.Input) bool { return in.Path == "/in/"+name }) {
			found = append(found, Refusal(RuleRegistry,
				"the profile %s brings /in/%s, and the request has /in/%s of its own", req.Language, RegistryFile,
				name))
		}
	}
	r := Run{Argv: Argv(req)}
	if r.wrapped() {
		found = append(found, Refusal(RuleCommand, "under the profile %s the command has to begin with the words "+
			"threegate-tools run: another program around it, or a path, and no record of the calls comes out",
			req.Language))
	}
	if r.command() < 0 {
		return found
	}
	if file, _ := r.registryPath(); path.Clean(file) != "/in/"+RegistryFile {
		found = append(found, Refusal(RuleRegistry, "the run would not have the registry of the profile %s: name it "+
			"by --registry /in/%s, or put the plan directly below /in", req.Language, RegistryFile))
	}
	for _, o := range req.Outputs {
		if name, _ := strings.CutPrefix(o.Path, "/out/"); !slices.Contains(ofTools, name) {
			found = append(found, Refusal(RuleOutputs, "%s is not held to the rules of the profile %s: the outputs "+
				"of a run of tools are %s", o.Path, req.Language, strings.Join(ofTools, ", ")))
		}
	}
	return found
}

// wrapped says whether a command names `threegate-tools run` and does not begin with it. Only a run that does has
// the descriptor for the record of its calls.
func (r *Run) wrapped() bool {
	words := strings.Fields(strings.Join(r.Argv, " "))
	for i := 1; i < len(words); i++ {
		program, run := strings.Trim(words[i-1], `"'`), strings.Trim(words[i], `"'`)
		if run == "run" && strings.HasSuffix(program, "threegate-tools") && (i > 1 || program != "threegate-tools") {
			return true
		}
	}
	return false
}
