package monty

import (
	"fmt"
	"maps"
	"os"
	"path"
	"strings"
	"syscall"
)

// ValueName is the file of /out that holds the last value. The code can't
// write it.
const ValueName = "_value.json"

// place is one of the two folders that the code may reach.
type place struct {
	root     *os.Root
	name     string // as the code sees it: /in or /out
	readOnly bool
}

// files answers the file operations of the code.
type files struct {
	in, out place
	kept    map[string]string
}

func openFiles(in, out string, tools *Tools) (*files, error) {
	ri, err := os.OpenRoot(in)
	if err != nil {
		return nil, err
	}
	ro, err := os.OpenRoot(out)
	if err != nil {
		_ = ri.Close()
		return nil, err
	}
	kept := map[string]string{ValueName: "the value of the last expression"}
	if tools != nil {
		maps.Copy(kept, tools.Kept)
	}
	return &files{
		in:   place{root: ri, name: "/in", readOnly: true},
		out:  place{root: ro, name: "/out"},
		kept: kept,
	}, nil
}

func (f *files) close() {
	_ = f.in.root.Close()
	_ = f.out.root.Close()
}

// target is a path of the code after it was found to be allowed.
type target struct {
	*place
	given string // as the code wrote it, for messages
	full  string // clean and absolute
	rel   string // below the place
}

// resolve cleans p by its text alone, without looking at the disk. A relative
// path counts from /.
func (f *files) resolve(p string) (target, error) {
	if strings.ContainsRune(p, 0) {
		return target{}, &pyError{typ: "ValueError", msg: "embedded null byte"}
	}
	full := path.Clean("/" + p)
	for _, pl := range []*place{&f.in, &f.out} {
		if full == pl.name {
			return target{pl, p, full, "."}, nil
		}
		if rel, ok := strings.CutPrefix(full, pl.name+"/"); ok {
			return target{pl, p, full, rel}, nil
		}
	}
	return target{}, denied(p)
}

// writable is resolve for an operation that changes something.
func (f *files) writable(p string) (target, error) {
	t, err := f.resolve(p)
	if err != nil {
		return t, err
	}
	if t.readOnly {
		return t, errnoError(syscall.EROFS, p)
	}
	if what, ok := f.kept[t.rel]; ok {
		return t, &pyError{typ: "PermissionError", msg: fmt.Sprintf(
			"[Errno 13] Permission denied: %s (this name is kept for %s)", pyRepr(p), what)}
	}
	return t, nil
}
