package quarantine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
)

// ErrNotFound says that there is no such item.
var ErrNotFound = errors.New("no such item in quarantine")

// Item is one refused request or result.
type Item struct {
	ID   string
	Kind schemas.Kind
	// Dir is the item's folder.
	Dir string
	// Reasons is nil if Damage says why they can't be read.
	Reasons *Reasons
	Damage  error
	// Files is what the folder holds, sorted. Only Show fills it.
	Files []File
	// Cut says that the folder holds more than Files lists.
	Cut bool
}

// File is one entry below an item's folder.
type File struct {
	// Path is relative to the folder, any bytes: show it with Visible.
	Path string
	Mode fs.FileMode
	Size int64
}

// Store is the quarantine of one node. Reading it disturbs nobody.
type Store struct {
	dir string
}

// NewStore reads the quarantine in dir (NODE/quarantine).
func NewStore(dir string) *Store { return &Store{dir: dir} }

// folders of the store, in the order of List.
var folders = []struct {
	kind schemas.Kind
	name string
}{{schemas.KindRequest, "requests"}, {schemas.KindResult, "results"}}

// List returns the items of a kind ("" for both), oldest first. Damaged ones are
// among them.
func (s *Store) List(kind schemas.Kind) ([]Item, error) {
	items := []Item{}
	known := kind == ""
	for _, f := range folders {
		if kind != "" && f.kind != kind {
			continue
		}
		known = true
		es, err := os.ReadDir(filepath.Join(s.dir, f.name))
		if err != nil {
			return nil, fmt.Errorf("reading the quarantine: %w", err)
		}
		for _, e := range es {
			items = append(items, s.item(f.kind, f.name, e.Name()))
		}
	}
	if !known {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	// Ids begin with the time.
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return items, nil
}

// Find returns the items whose id, request id or file name in the inbox is key,
// oldest first.
func (s *Store) Find(key string) ([]Item, error) {
	all, err := s.List("")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(i Item) bool {
		if i.ID == key {
			return false
		}
		r := i.Reasons
		return r == nil || key == "" || (r.RequestID != key && r.OriginalName != key &&
			strings.TrimSuffix(r.OriginalName, ".md") != key)
	}), nil
}

// Show returns one item with the list of its files. An unknown id is an error
// that matches ErrNotFound.
func (s *Store) Show(id string) (Item, error) {
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\x00") {
		return Item{}, fmt.Errorf("%q: %w", Visible(id), ErrNotFound)
	}
	for _, f := range folders {
		_, err := os.Lstat(filepath.Join(s.dir, f.name, id))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Item{}, fmt.Errorf("reading the quarantine: %w", err)
		}
		it := s.item(f.kind, f.name, id)
		it.Files, it.Cut, err = files(it.Dir)
		return it, err
	}
	return Item{}, fmt.Errorf("%q: %w", Visible(id), ErrNotFound)
}

// item reads the reasons of one item.
func (s *Store) item(kind schemas.Kind, folder, id string) Item {
	it := Item{ID: id, Kind: kind, Dir: filepath.Join(s.dir, folder, id)}
	r, err := readReasons(it.Dir)
	if err == nil && (r.Item != id || r.Kind != kind) {
		err = fmt.Errorf("%s is of %s %q", FileJSON, r.Kind, Visible(r.Item))
	}
	if err != nil {
		it.Damage = fmt.Errorf("the reasons can't be read: %w", err)
		return it
	}
	it.Reasons = &r
	return it
}

func readReasons(dir string) (Reasons, error) {
	fi, err := os.Lstat(dir)
	if err != nil {
		return Reasons{}, err
	}
	if !fi.IsDir() {
		return Reasons{}, errors.New("the item is not a folder")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Reasons{}, err
	}
	defer root.Close()
	// Only the node's own user can write here, so looking before opening is enough.
	fi, err = root.Lstat(FileJSON)
	if err != nil {
		return Reasons{}, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxReasonBytes {
		return Reasons{}, fmt.Errorf("%s is not a regular file", FileJSON)
	}
	f, err := root.Open(FileJSON)
	if err != nil {
		return Reasons{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReasonBytes))
	if err != nil {
		return Reasons{}, err
	}
	return Decode(data)
}

// maxFiles bounds how many entries of an item are listed.
const maxFiles = 1000

// files lists what lies below dir, following nothing.
func files(dir string) (list []File, more bool, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if len(list) == maxFiles {
			more = true
			return fs.SkipAll
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		list = append(list, File{Path: rel, Mode: fi.Mode(), Size: fi.Size()})
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading the quarantine: %w", err)
	}
	return list, more, nil
}
