package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// InputFile is one file that came along with a request.
type InputFile struct {
	// Path is what the sandbox will see: "/in/" and the path below inputs.
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// inputRoot is where a sandbox sees its inputs.
const inputRoot = "/in"

// inputs copies the tree raw/inputs. Folders without files are not copied; they
// carry nothing.
func (t *taker) inputs(raw int, hidden string) error {
	if !t.own(raw, rawInputs, "spool.inputs") {
		return nil
	}
	dst := filepath.Join(hidden, DirInputs)
	if err := t.s.disk.Mkdir("claim.inputs", dst, modeGroupDir); err != nil {
		return err
	}
	w := walk{taker: t, left: t.s.o.MaxInputBytes, entries: t.s.o.MaxInputs + extraEntries}
	pin, l, err := look(t.s.disk, "claim.copyinputs", raw, rawInputs)
	if err != nil {
		return err
	}
	defer unix.Close(pin)
	if l.mode != unix.S_IFDIR {
		t.found.refuse("spool.inputs.kind", fmt.Sprintf("the inputs of the request are a %s, not a folder",
			kindOf(l.mode)), l.excerpt)
		t.leftover(l, rawInputs)
		return nil
	}
	if err := w.folder(pin, "", dst, 1); err != nil {
		return err
	}
	if w.keep {
		t.keep = append(t.keep, rawInputs)
	}
	slices.SortFunc(t.found.InputFiles, func(a, b InputFile) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// walk copies one tree of inputs.
type walk struct {
	*taker
	left    int64 // bytes that may still be copied
	entries int   // entries that may still be read
	over    bool  // a limit was hit: nothing more is copied
	keep    bool  // something was not copied whole
}

// refuse notes a finding about one entry, as long as there are not too many.
func (w *walk) refuse(rule, rel, text, excerpt string) {
	if len(w.found.Defects) >= maxDefects {
		return
	}
	w.found.refuse(rule, fmt.Sprintf("input %s %s", Quote(rel), text), excerpt)
}

func (w *walk) limit(text string) {
	if !w.over {
		w.found.refuse("spool.inputs.limit", text, "")
	}
	w.over, w.keep = true, true
}

// folder copies the folder that pin names to dst.
func (w *walk) folder(pin int, rel, dst string, depth int) error {
	if depth > MaxInputDepth {
		w.keep = true
		w.refuse("spool.inputs.limit", rel, fmt.Sprintf("is nested deeper than %d folders", MaxInputDepth), "")
		return nil
	}
	names, dir, err := w.list(pin, rel)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	for _, name := range names {
		if w.over {
			return nil
		}
		if err := w.entry(int(dir.Fd()), name, path.Join(rel, name), dst, depth); err != nil {
			return err
		}
	}
	w.batch.Dir("claim.copyinputs", dst)
	return nil
}

// list reads the names of a folder, sorted; a nil file means that it can't.
func (w *walk) list(pin int, rel string) ([]string, *os.File, error) {
	dir, err := w.s.openSeized("claim.copyinputs", pin, rel)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		w.keep = true
		w.refuse("spool.inputs.unreadable", rel+"/", fmt.Sprintf("can't be read: %v", reason(err)), "")
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var names []string
	err = readDirNames(dir, func(n string) bool {
		if w.entries--; w.entries < 0 {
			w.limit(fmt.Sprintf("the inputs folder holds too many entries; at most %d files are allowed",
				w.s.o.MaxInputs))
			return false
		}
		names = append(names, n)
		return true
	})
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	slices.Sort(names)
	return names, dir, nil
}

func (w *walk) entry(dir int, name, rel, dst string, depth int) error {
	if why := badInputName(name); why != "" {
		w.keep = true
		w.refuse("spool.inputs.name", rel, "has a name that is not allowed: "+why, "")
		return nil
	}
	pin, l, err := look(w.s.disk, "claim.copyinput", dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrBusy // it vanished while the folder was read: look again
	}
	if err != nil {
		return err
	}
	defer unix.Close(pin)
	switch {
	case l.foreign:
		w.keep = true
		w.refuse("spool.inputs.kind", rel, "is a mount point", "")
		return nil
	case l.mode == unix.S_IFDIR:
		sub := filepath.Join(dst, name)
		if depth < MaxInputDepth {
			if err := w.s.disk.Mkdir("claim.inputs", sub, modeGroupDir); err != nil {
				return err
			}
		}
		return w.folder(pin, rel, sub, depth+1)
	case l.special:
		w.refuse("spool.inputs.kind", rel, "is a "+kindOf(l.mode)+", not a file", l.excerpt)
		return nil
	case len(w.found.InputFiles) >= w.s.o.MaxInputs:
		w.limit(fmt.Sprintf("more than %d input files came along", w.s.o.MaxInputs))
		return nil
	case l.size > w.left:
		w.limit(fmt.Sprintf("the input files have more than %d bytes together (reached at %s)", w.s.o.MaxInputBytes,
			Quote(rel)))
		return nil
	}
	return w.file(dir, name, rel, filepath.Join(dst, name))
}

func (w *walk) file(dir int, name, rel, dst string) error {
	c, l, err := w.copyIn("claim.copyinput", dir, name, dst, w.left)
	if err != nil {
		return err
	}
	for _, d := range l.defects {
		w.refuse(d.rule("spool.inputs."), rel, d.text, l.excerpt)
	}
	if !l.copied {
		w.keep = w.keep || !l.special
		return nil
	}
	w.left -= c.Size
	w.found.InputFiles = append(w.found.InputFiles, InputFile{Path: path.Join(inputRoot, rel), Size: c.Size,
		SHA256: c.SHA256})
	return nil
}

// badInputName says what is wrong with one path element, or "".
func badInputName(name string) string {
	switch {
	case len(name) > MaxInputName:
		return fmt.Sprintf("it is longer than %d bytes", MaxInputName)
	case !utf8.ValidString(name):
		return "it is not valid UTF-8"
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || r == '\\' {
			return fmt.Sprintf("it holds the character %U", r)
		}
	}
	return ""
}
