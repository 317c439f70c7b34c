package bundle

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Item is one path to judge, or one that can't be judged because of Err.
type Item struct {
	Path string
	// Follow says that a person named the path, so that a link may be followed.
	Follow bool
	Err    error
}

// Stdin is the path that stands for standard input.
const Stdin = "-"

// Walk calls yield for every document below the paths, in the order of the paths and by name within a folder, each
// path once. A path that names a file is taken whatever it is called. In folders, TR-*.md and TS-*.md are taken, and
// every other *.md whose front matter says that it is a request or a result. Hidden entries and the folders of inputs
// and artifacts are left out; links are not followed, as a walk through them might never end. Walk stops early when
// ctx ends or yield returns false.
func Walk(ctx context.Context, paths []string, yield func(Item) bool) error {
	w := &walker{ctx: ctx, seen: map[string]bool{}, yield: yield}
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case p == Stdin:
			err = w.item(Item{Path: p})
		case err == nil && info.IsDir():
			err = w.folder(filepath.Clean(p))
		default:
			err = w.item(Item{Path: filepath.Clean(p), Follow: true, Err: err})
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type walker struct {
	ctx   context.Context
	seen  map[string]bool
	yield func(Item) bool
}

var errEnough = errors.New("enough")

// item gives out a path once.
func (w *walker) item(it Item) error {
	if err := w.ctx.Err(); err != nil || w.seen[it.Path] {
		return err
	}
	w.seen[it.Path] = true
	if !w.yield(it) {
		return errEnough
	}
	return nil
}

func (w *walker) folder(root string) error {
	// A folder that a link names is walked as the folder, under the link's name.
	return filepath.WalkDir(root+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		switch {
		case w.ctx.Err() != nil:
			return w.ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && path != root:
			return nil // it vanished meanwhile
		case err != nil:
			return w.item(Item{Path: path, Err: err})
		case path == root:
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || partsOf(d.Name())):
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") || !strings.HasSuffix(d.Name(), ".md") || !isDocument(path):
			return nil
		}
		return w.item(Item{Path: path})
	})
}

// partsOf reports whether a folder holds the files that go with a document.
func partsOf(name string) bool {
	return strings.HasPrefix(name, "TR-") && strings.HasSuffix(name, ".inputs") ||
		strings.HasPrefix(name, "TS-") && strings.HasSuffix(name, ".artifacts")
}

// isDocument decides whether a *.md file met on the way is a document of ours. One without a
// name of ours that can't be read is none: nobody asked for it.
func isDocument(path string) bool {
	if NameKind(path) != "" {
		return true
	}
	head, err := ReadDocument(path, false, sniffBytes)
	return err == nil && Sniff(head) != ""
}
