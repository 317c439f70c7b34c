package documents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// withTools says whether the flags ask for the tools of threegate-tools.
func (f *draftFlags) withTools(b schemas.Backend) bool {
	if b == schemas.BackendMonty {
		return f.workspace != "" || f.language != "" && !schemas.PlainMonty(f.language)
	}
	return f.tools != ""
}

// checkTools refuses flags that do not go together.
func (f *draftFlags) checkTools(b schemas.Backend) error {
	switch {
	case b == schemas.BackendMonty && f.tools != "":
		return cli.Usagef("a Monty program calls the tools itself: --code FILE --language "+draft.ToolsLanguage,
			"--tools belongs to ERA")
	case b == schemas.BackendMonty && f.workspace != "" && f.language != "" && schemas.PlainMonty(f.language):
		return cli.Usagef("leave out --language, or name one whose image has the tools", "%s has no tools that could "+
			"work on a --workspace", f.language)
	case b == schemas.BackendERA && f.workspace != "" && f.tools == "":
		return cli.Usagef("add --tools PLAN.jsonl, or write a Monty program: draft monty --code FILE --workspace PATH",
			"--workspace was given, but no plan that works on it")
	}
	return nil
}

// toolInputs are the inputs of a run of tools that the flags name: the plan, whole, and what it works on.
func (a *app) toolInputs(ctx context.Context, f draftFlags, node *config.Node, l bundle.Limits) ([]draft.Input, error) {
	rules, err := f.rules(node)
	if err != nil {
		return nil, err
	}
	var inputs []draft.Input
	if f.tools != "" {
		most := min(draft.MaxPlan, l.Bytes)
		raw, err := bundle.ReadDocument(f.tools, true, most)
		if err != nil {
			return nil, cli.Troublef(err, lintHint(err), "can't take the plan from %s", f.tools)
		}
		if int64(len(raw)) > most {
			return nil, cli.Rejectf("", "make several plans of it", "the plan %s has more than %d bytes", f.tools, most)
		}
		if raw, err = draft.Plan(f.tools, raw, rules, a.Now()); err != nil {
			return nil, cli.Rejectf("", "nothing was written; `threegate draft --help` shows a plan",
				"the plan can't be carried out:\n%v", err)
		}
		plan := []bundle.File{{Rel: draft.PlanFile, Data: raw}}
		if err := bundle.Hash(ctx, plan, l); err != nil {
			return nil, inputFault(err)
		}
		inputs = append(inputs, draft.Input{File: plan[0]})
	}
	if f.workspace == "" {
		return inputs, nil
	}
	info, err := os.Stat(f.workspace)
	if err != nil {
		return nil, inputFault(err)
	}
	if info.IsDir() {
		if err := noRepository(f.workspace); err != nil {
			return nil, err
		}
		file, err := packTree(ctx, f.workspace, l)
		file.Rel = draft.WorkspaceDir
		return append(inputs, draft.Input{File: file, Unpack: schemas.UnpackTar}), err
	}
	files, err := hashNamed(ctx, []string{f.workspace}, l)
	if err != nil {
		return nil, err
	}
	file := files[0]
	file.Rel = draft.BundleFile
	var h head
	if err := bundle.Read(ctx, file, &h); err != nil {
		return nil, inputFault(err)
	}
	if why := h.fault(); why != "" {
		return nil, cli.Usagef(bundleHint("REPOSITORY"), "--workspace %s %s", f.workspace, why)
	}
	return append(inputs, draft.Input{File: file}), nil
}

// noRepository refuses a folder with a git directory, which would go along file by file.
func noRepository(dir string) error {
	_, err := os.Lstat(path.Join(dir, ".git"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return inputFault(err)
	}
	return cli.Usagef(bundleHint(dir), "--workspace %s is a git repository, not yet a bundle of one", dir)
}

// bundleHint says how to make a bundle.
func bundleHint(dir string) string {
	return "commit what should go along, then make a bundle, and name that: git -C " + dir +
		" bundle create /tmp/repository.bundle HEAD BRANCH"
}

func isRegistry(in draft.Input) bool { return in.Rel == draft.RegistryFile }

// bareTools says of a run of tools without a registry what that means, if that can't be told from the node.
func bareTools(d draft.Draft, f draftFlags, node *config.Node) string {
	if !f.withTools(d.Backend) || slices.ContainsFunc(d.Inputs, isRegistry) ||
		node != nil && node.Registries[d.Language] != nil {
		return ""
	}
	profile := ""
	if node == nil && d.Language != draft.ToolsLanguage {
		profile = ", unless " + d.Language + " is a profile of the node's"
	}
	return "without --input " + draft.RegistryFile + " the tools may run no command and reach no host" + profile
}

// head keeps the first bytes of what is written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	const most = 1 << 20
	*h = append(*h, p[:min(len(p), most-len(*h))]...)
	return len(p), nil
}

// fault is why a file that begins so is no bundle that a workspace can come from, or empty. What can't be told from the
// list of its branches is not looked at.
func (h head) fault() string {
	list, _, whole := strings.Cut(string(h), "\n\n")
	first, rest, _ := strings.Cut(list, "\n")
	if first != "# v2 git bundle" && first != "# v3 git bundle" {
		return "is neither a folder nor a git bundle"
	}
	branches, at := map[string]bool{}, ""
	for line := range strings.SplitSeq(rest, "\n") {
		id, ref, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "@object-format=") && line != "@object-format=sha1":
			return "is of a repository of SHA-256, which the tools can't read"
		case strings.HasPrefix(line, "-"):
			return "is thin: it lacks commits that its own are made of"
		case ref == "HEAD":
			at = id
		case strings.HasPrefix(ref, "refs/heads/"):
			branches[id] = true
		}
	}
	if whole && (len(branches) == 0 || at != "" && !branches[at]) {
		return "has no branch at its HEAD, which was detached"
	}
	return ""
}

// rules are those of the registry that the run will have, or nil where that is not known.
func (f *draftFlags) rules(node *config.Node) (*registry.Registry, error) {
	if node != nil && node.Registries[f.language] != nil {
		return registry.Parse(node.Registries[f.language])
	}
	var rules *registry.Registry
	for _, name := range []string{draft.RegistryFile, registry.PackFile} {
		i := slices.IndexFunc(f.inputs, func(file string) bool { return path.Base(file) == name })
		if i < 0 || name == registry.PackFile && rules == nil {
			continue
		}
		raw, err := bundle.ReadDocument(f.inputs[i], true, registry.MaxSize)
		if err != nil {
			return nil, inputFault(err)
		}
		if name == draft.RegistryFile {
			rules, err = registry.Parse(raw)
		} else {
			err = rules.Raise(raw)
		}
		if err != nil {
			return nil, cli.Rejectf(patchpolicy.RuleRegistry, "docs/tools.md has an example", "%s: %v", f.inputs[i],
				err)
		}
	}
	return rules, nil
}
