package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Bundle is everything that goes into an inbox for one request. All of it has
// been checked by the caller; the hashes of Files are those that were approved.
type Bundle struct {
	// ID is the request's id: the name in the inbox, without ".md".
	ID        string
	Request   []byte
	Signature []byte // nil if there is none
	Files     []File
}

// Placed says where the parts of a bundle lie; the path of a missing part is empty.
type Placed struct {
	Request   string `json:"request"`
	Inputs    string `json:"inputs,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Put puts b into an inbox: inputs first, then the signature, the request last,
// each durable and by one rename, so that a request is never seen without what
// belongs to it. Nothing is overwritten: a name that is taken gives an error that
// matches fs.ErrExist. Inputs of the same content that an earlier, broken-off
// attempt left are used. When Put fails, it takes back what it has put down.
func Put(ctx context.Context, inbox string, b Bundle, l Limits) (_ Placed, err error) {
	p := Placed{Request: filepath.Join(inbox, b.ID+".md")}
	if err := foreign(inbox, b.ID); err != nil {
		return Placed{}, err
	}
	if _, err := os.Lstat(p.Request); err == nil {
		return Placed{}, &os.PathError{Op: "promote", Path: p.Request, Err: fs.ErrExist}
	}
	var made []string
	defer func() {
		// After ErrUnsynced the request is in the inbox: taking its inputs away would be worse.
		if err == nil || errors.Is(err, ErrUnsynced) {
			return
		}
		for _, path := range made {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}()
	inputs := filepath.Join(inbox, b.ID+".inputs")
	if len(b.Files) == 0 {
		if err := same(ctx, inputs, nil, l); err != nil {
			return Placed{}, err
		}
	} else {
		p.Inputs = inputs
		err := CopyFolder(ctx, inbox, filepath.Base(p.Inputs), b.Files, l)
		switch {
		case err == nil:
			made = append(made, p.Inputs)
		case errors.Is(err, fs.ErrExist):
			err = same(ctx, p.Inputs, b.Files, l)
		}
		if err != nil {
			return Placed{}, err
		}
	}
	if b.Signature != nil {
		p.Signature = p.Request + ".sig"
		// One that is there without its request is left over; ours is the one that fits.
		if err := WriteFile(inbox, filepath.Base(p.Signature), b.Signature, modeFile, true); err != nil {
			return Placed{}, err
		}
		made = append(made, p.Signature)
	} else if err := os.Remove(p.Request + ".sig"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Placed{}, err // one of an earlier approval must not go with this one
	}
	if err := ctx.Err(); err != nil {
		return Placed{}, err
	}
	if err := WriteFile(inbox, filepath.Base(p.Request), b.Request, modeFile, false); err != nil {
		return Placed{}, err
	}
	return p, nil
}

// ForeignError says that what another user put into an inbox is in the way of a request: the node takes in no inputs
// and no signature of anybody but who put the request there.
type ForeignError struct {
	Path string
	UID  int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s belongs to the user %d", e.Path, e.UID)
}

// Unwrap is fs.ErrExist.
func (e *ForeignError) Unwrap() error { return fs.ErrExist }

// foreign fails if somebody else has put anything there for a request.
func foreign(inbox, id string) error {
	for _, name := range []string{".md", ".md.sig", ".inputs"} {
		path := filepath.Join(inbox, id+name)
		fi, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if uid := int(fi.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() && uid != 0 {
			return &ForeignError{path, uid}
		}
	}
	return nil
}

// same fails unless dir holds exactly these files.
func same(ctx context.Context, dir string, files []File, l Limits) error {
	there, err := Folder(dir, l)
	if err == nil {
		err = Hash(ctx, there, l)
	}
	if err != nil {
		return err
	}
	hashes := map[string]string{}
	for _, f := range there {
		hashes[f.Rel] = f.SHA256
	}
	other := len(there) != len(files)
	for _, f := range files {
		other = other || hashes[f.Rel] != f.SHA256
	}
	if other {
		return &os.PathError{Op: "promote", Path: dir, Err: fmt.Errorf("%w, with other files in it", fs.ErrExist)}
	}
	return nil
}
