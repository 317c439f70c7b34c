package documents

import (
	"io"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// foresee tells what threegate-tools would refuse of a request's plan, as far as that can be seen before it runs: an
// approval would be spent on nothing. Of a plan elsewhere than directly below /in it tells nothing.
func (a *app) foresee(c admission.Case, v admission.Verdict) {
	if v.Request == nil || c.Files == nil || strings.Join(v.Request.Argv, " ") != draft.PlanCommand {
		return
	}
	read := func(name string, most int64) []byte {
		if _, there := c.Files.Hashes()["/in/"+name]; !there {
			return nil
		}
		f, err := c.Files.Open(name)
		if err != nil {
			return nil // other rules tell of it
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, most))
		if err != nil {
			return nil
		}
		return raw
	}
	plan, text := read(draft.PlanFile, draft.MaxPlan), v.Registry
	if text == nil {
		text = read(draft.RegistryFile, registry.MaxSize)
	}
	rules := registry.Default()
	if text != nil {
		var err error
		if rules, err = registry.Parse(text); err != nil {
			a.UI.Say("the tools will refuse /in/%s: %v", draft.RegistryFile, err)
			return
		}
	}
	if pack := read(registry.PackFile, registry.MaxSize); pack != nil {
		if err := rules.Raise(pack); err != nil {
			a.UI.Say("the tools will refuse /in/%s: %v", registry.PackFile, err)
			return
		}
	}
	if plan == nil {
		return
	}
	if _, err := draft.Plan("/in/"+draft.PlanFile, plan, rules, a.Now()); err != nil {
		a.UI.Say("the tools will refuse the plan:\n%v", err)
	}
}
