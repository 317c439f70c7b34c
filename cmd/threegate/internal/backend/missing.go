package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/gate/config"
)

// Lack is something that the configuration names and that is not as it must be.
// What it keeps from being done waits, and goes on by itself once it is mended.
type Lack struct {
	What   string `json:"what"`
	Detail string `json:"detail"`
	Hint   string `json:"mend"`
}

// Lacks are those that are found in an instant: serve warns of them, and status shows
// them. doctor checks more. CORE's folder is left out: it may be a mount that hangs.
func Lacks(l *config.Node) []Lack {
	all := []Lack{}
	for _, p := range Programs(l) {
		if p.Err != nil && !errors.Is(p.Err, fs.ErrPermission) {
			all = append(all, Lack{p.Name, p.Err.Error() + ": nothing can be run", InitHint})
		}
	}
	image := func(what, name, digest string) {
		if err := containerd.HasLayout(l.Backends.Images, digest); errors.Is(err, executors.ErrNoImage) {
			all = append(all, Lack{what,
				fmt.Sprintf("its image %s is not in %s: unless containerd has it already, requests for it are held up",
					digest, l.Backends.Images),
				ImageHint(l, name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Backends.ERA.Languages)) {
		image("language "+name, name, l.Backends.ERA.Languages[name].Image)
	}
	if m := l.Backends.Monty.Image; m != "" {
		image("monty", "monty", m)
	}
	return all
}

// Program is one of those that every sandbox holds, and what is wrong with it.
type Program struct {
	Name, Path string
	Err        error
}

// Programs are all that every sandbox holds; threegate-init is the first.
func Programs(l *config.Node) []Program {
	init, err := InitPath(l)
	if err != nil {
		return []Program{{initName, "", err}}
	}
	var all []Program
	for _, p := range container.Programs(init) {
		all = append(all, Program{p.Name, p.Path, p.Check()})
	}
	return all
}

// InitHint says how to get the programs of every sandbox.
const InitHint = "make build, and install all programs into one folder, or set backends.init"

// ImageHint says how to get the image of a language.
func ImageHint(l *config.Node, name string) string {
	return "deploy/images/build " + l.Backends.Images + " " + name +
		" (should its digest be another one then, pin that in " + l.File + ")"
}

// CoreHint says how to get CORE's folder.
func CoreHint(l *config.Node) string {
	return "mkdir -m 750 " + l.CoreInbound.Path + ", or mount it, or correct core_inbound.path"
}

// NoticesHint says how to get CORE's folder of notices.
func NoticesHint(l *config.Node) string {
	return "mkdir -m 750 " + l.CoreNotices.Path + ", or mount it, or correct core_notices.path"
}

// WarnOfLacks says at the start what will be held up.
func WarnOfLacks(l *config.Node, log *slog.Logger) {
	all := Lacks(l)
	if _, err := os.Stat(l.CoreInbound.Path); errors.Is(err, fs.ErrNotExist) {
		all = append(all, Lack{"core inbound", l.CoreInbound.Path + " is not there: results are held up", CoreHint(l)})
	}
	if _, err := os.Stat(l.CoreNotices.Path); l.CoreNotices.Enabled && errors.Is(err, fs.ErrNotExist) {
		all = append(all, Lack{"core notices", l.CoreNotices.Path + " is not there: notices are held up",
			NoticesHint(l)})
	}
	for _, x := range all {
		log.Warn(x.What+" is missing", "detail", x.Detail, "mend", x.Hint)
	}
}
