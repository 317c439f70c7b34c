package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// Break is one thing that is not as it was sealed.
type Break struct {
	// Path is relative to the folder. It may hold any bytes.
	Path string
	What string
	// Extra means that it was not there.
	Extra bool
	// Shared means that whoever put it into the inbox could still write to it.
	Shared bool
	// Gone means that there was one, and there is none.
	Gone bool
	// Unread means that the caller may not read it, and so nothing is known of it.
	Unread bool
}

// Check compares a folder with its list, and that with its sha256 on record; "" means that the record
// can't be read, and the list is all there is. Files named in mayGo may be gone. Nothing in the
// folder is followed or waited for. An error means that the folder could not be read.
func Check(dir, want string, mayGo ...string) ([]Break, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l, broken, err := open(dir, want)
	if err != nil || l == nil {
		return broken, err
	}
	listed := map[string]bool{}
	for _, e := range l.Entries {
		rel, err := unescape(e.Path)
		if err != nil || !filepath.IsLocal(rel) {
			what := "it names what is no path: " + spool.Quote(e.Path)
			return append(broken, Break{Path: File, What: what}), nil
		}
		listed[rel] = true
		what, err := e.differs(root, rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if !slices.Contains(mayGo, rel) {
				broken = append(broken, Break{Path: rel, What: "it is gone", Gone: true})
			}
		case errors.Is(err, fs.ErrPermission):
			broken = append(broken, Break{Path: rel, What: "you may not read it", Unread: true})
		case err != nil:
			broken = append(broken, Break{Path: rel, What: fmt.Sprintf("it can't be read: %v", err)})
		case what != "":
			broken = append(broken, Break{Path: rel, What: what, Shared: e.Shared})
		}
	}
	err = walk(dir, func(rel string, d fs.DirEntry) error {
		if !listed[rel] && !l.Cut {
			what := kindOf(d.Type()).String() + " that was not there"
			broken = append(broken, Break{Path: rel, What: what, Extra: true})
		}
		return nil
	})
	return broken, err
}

// Files are the digests of the files that the list of a folder names, by their paths. If the list is gone, or not the
// one on record, there are none.
func Files(dir, want string) (map[string]string, error) {
	data, err := durable.ReadRegular(filepath.Join(dir, File), maxList)
	if errors.Is(err, fs.ErrNotExist) || err == nil && digest(data) != want {
		return nil, nil
	}
	var l list
	if err == nil {
		err = schemas.DecodeStrict(data, &l)
	}
	files := map[string]string{}
	for _, e := range l.Entries {
		if rel, err := unescape(e.Path); err == nil && e.Kind == kindFile && e.Hashed == nil && e.Size > 0 {
			files[rel] = e.SHA256
		}
	}
	return files, err
}

// open reads the list of a folder. If it is not the one on record it says so, and whether the rest of
// the folder is as it was; the list is nil if there is nothing more to compare.
func open(dir, want string) (*list, []Break, error) {
	data, err := durable.ReadRegular(filepath.Join(dir, File), maxList)
	if err != nil && want == "" {
		return nil, []Break{{Path: File, What: fmt.Sprintf("the list of the files can't be read: %v", err)}}, nil
	}
	what := ""
	var l list
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "the list of the files is gone"
	case err != nil:
		what = fmt.Sprintf("the list of the files can't be read: %v", err)
	case want != "" && digest(data) != want:
		what = "the list of the files was changed"
	}
	if err == nil {
		if err = schemas.DecodeStrict(data, &l); err == nil && l.Version != version {
			err = fmt.Errorf("it has version %d, this build reads %d", l.Version, version)
		}
		if err != nil && what == "" {
			what = fmt.Sprintf("the list of the files can't be used: %v", err)
		}
	}
	if what == "" {
		return &l, nil, nil
	}
	if _, now, makeErr := Make(dir, false); makeErr == nil && now == want {
		return nil, []Break{{Path: File, What: what + "; all else is as it was sealed"}}, nil
	}
	if err != nil {
		return nil, []Break{{Path: File, What: what + ", and more than that: what else can't be told"}}, nil
	}
	return &l, []Break{{Path: File, What: what + "; what differs from it is named all the same"}}, nil
}

// differs says how an entry is not as it was, or "".
func (e entry) differs(root *os.Root, rel string) (string, error) {
	now, err := look(root, rel, e.Hashed)
	switch {
	case err != nil:
		return "", err
	case now.Kind != e.Kind:
		return fmt.Sprintf("it was %s and is not now", e.Kind), nil
	case now.Size != e.Size:
		return fmt.Sprintf("it had %d bytes and has %d now", e.Size, now.Size), nil
	case now.SHA256 != e.SHA256:
		return fmt.Sprintf("its sha256 was %s and is %s now", e.SHA256, now.SHA256), nil
	}
	return "", nil
}
