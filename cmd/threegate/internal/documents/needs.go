package documents

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/confine"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
)

// lintNeeds is what lint reads.
func lintNeeds(paths []string) confine.Needs {
	return confine.Needs{Read: slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == source.Stdin })}
}

// approveNeeds is what approve reads and where it writes. Of the folder of the request
// only the request and its inputs are read, unless inputs are to be copied there.
func approveNeeds(file string, inputs []string) confine.Needs {
	dir := cmp.Or(filepath.Dir(file), ".")
	n := confine.Needs{Read: []string{file, file + refusedSuffix, bundle.Dir(file)}, Write: []string{dir}}
	n.Read = append(n.Read, inputs...)
	if len(inputs) > 0 {
		n.Read = append(n.Read, dir)
	}
	return n
}

// bundleNeeds is what a request consists of.
func bundleNeeds(file, inputs string, also []string) confine.Needs {
	n := confine.Needs{Read: []string{file, cmp.Or(inputs, bundle.Dir(file))}}
	for _, suffix := range []string{".sig", planSuffix, planSigSuffix, refusedSuffix} {
		n.Read = append(n.Read, file+suffix)
	}
	for _, name := range also {
		n.Read = append(n.Read, cosignature(file, name))
	}
	return n
}
