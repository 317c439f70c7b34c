package source

import (
	"context"
	"errors"
	"io"
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

// Walk calls yield for every document below the paths, in the order of the paths
// and by name within a folder, each path once. A path that names a file is taken
// whatever it is called. In folders, TR-*.md and TS-*.md are taken, and every
// other *.md whose front matter says that it is a request or a result. Hidden
// entries and the folders of inputs and artifacts are left out; links are not
// followed, so that the walk ends. Walk stops early when ctx ends or yield
// returns false.
func Walk(ctx context.Context, paths []string, yield func(Item) bool) error {
	seen := map[string]bool{}
	for _, p := range paths {
		if err := context.Cause(ctx); err != nil {
			return ctx.Err()
		}
		clean := p
		if p != Stdin {
			clean = filepath.Clean(p)
		}
		if seen[clean] {
			continue
		}
		seen[clean] = true
		if p == Stdin {
			if !yield(Item{Path: p}) {
				return nil
			}
			continue
		}
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			if !yield(Item{Path: clean, Follow: true, Err: err}) {
				return nil
			}
			continue
		}
		if err := walkFolder(ctx, clean, seen, yield); err != nil {
			return err
		}
	}
	return nil
}

var errEnough = errors.New("enough")

func walkFolder(ctx context.Context, root string, seen map[string]bool, yield func(Item) bool) error {
	// A folder that a link names is walked as the folder, under the link's name.
	start := root
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		start = root + string(filepath.Separator)
	}
	err := filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path = filepath.Clean(path)
		if err != nil {
			// What vanished meanwhile is no trouble, what can't be read is.
			if errors.Is(err, fs.ErrNotExist) && path != root {
				return nil
			}
			if !yield(Item{Path: path, Err: err}) {
				return errEnough
			}
			return nil
		}
		if path != root && strings.HasPrefix(d.Name(), ".") || d.IsDir() && beside(d.Name()) && path != root {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || seen[path] || !strings.HasSuffix(d.Name(), ".md") {
			return nil
		}
		item, ok := inFolder(path)
		if !ok {
			return nil
		}
		seen[path] = true
		if !yield(item) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// beside reports whether a folder holds the files that go with a document.
func beside(name string) bool {
	return strings.HasPrefix(name, "TR-") && strings.HasSuffix(name, ".inputs") ||
		strings.HasPrefix(name, "TS-") && strings.HasSuffix(name, ".artifacts")
}

// inFolder decides whether a *.md file met on the way is a document of ours.
func inFolder(path string) (Item, bool) {
	if NameKind(path) != "" {
		return Item{Path: path}, true
	}
	f, err := Open(path, false)
	if err != nil {
		// It has no name of ours, and nobody asked for it.
		return Item{}, false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniffBytes))
	if err != nil {
		return Item{}, false
	}
	return Item{Path: path}, Sniff(head) != ""
}
