package main

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/confine"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/gate/config"
)

// reach leaves a command nothing but the files that it names: it is called once what
// the operator wrote (flags, configuration, keys) is read, and before anything that
// somebody else wrote is. serve, run, posture and doctor can't do it: they mount and
// start programs.
func (a *app) reach(n confine.Needs) error {
	if err := a.confine(n); err != nil {
		return troublef(err, "threegate doctor says what this kernel can do", "can't give up what the command does not need")
	}
	return nil
}

// reachNode is reach for a command that reads a node: its folder, and folders that
// are configured elsewhere.
func (a *app) reachNode(l *config.Loaded, elsewhere ...string) error {
	return a.reach(confine.Needs{Read: append([]string{l.Dir}, elsewhere...)})
}

// inboxPaths are the folders of all inboxes.
func inboxPaths(l *config.Loaded) []string {
	var paths []string
	for _, in := range l.Inboxes {
		paths = append(paths, in.Path)
	}
	return paths
}

// lintNeeds is what lint reads.
func lintNeeds(paths []string) confine.Needs {
	return confine.Needs{Read: slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == source.Stdin })}
}

// approveNeeds is what approve reads and where it writes. Of the folder of the request
// only the request and its inputs are read, unless inputs are to be copied there.
func approveNeeds(file string, inputs []string) confine.Needs {
	dir := cmp.Or(filepath.Dir(file), ".")
	n := confine.Needs{Read: append([]string{file, bundle.Dir(file)}, inputs...), Write: []string{dir}}
	if len(inputs) > 0 {
		n.Read = append(n.Read, dir)
	}
	return n
}

// bundleNeeds is what a request consists of.
func bundleNeeds(file, inputs string) confine.Needs {
	return confine.Needs{Read: []string{file, file + ".sig", cmp.Or(inputs, bundle.Dir(file))}}
}
