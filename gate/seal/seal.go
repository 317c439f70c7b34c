// Package seal lists every file of a job's folder when the job ends, and tells later what differs.
//
// The list lies in the folder itself, and its sha256 is in the ledger. So whoever changes, adds or
// removes a file of a job that has ended is found out, and the file can be named. What came out of an
// inbox is hostile: it is read bounded, and nothing is followed or waited for.
package seal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

// File is the name of the list in a job's folder.
const File = "seal.json"

const (
	version = 1
	// maxHostile is how much is read of all that nobody bounded before: what raw/ keeps, or a
	// folder that is no sound job.
	maxHostile = 256 << 20
	// maxEntries bounds a list, maxList its bytes.
	maxEntries = 100_000
	maxList    = 64 << 20
)

// list is the content of File: one line for each entry that is no folder, sorted by path. Folders
// carry nothing by themselves.
type list struct {
	Version int     `json:"version"`
	Job     string  `json:"job"`
	Entries []entry `json:"entries"`
	// Cut means that there was more than a list can hold.
	Cut bool `json:"cut,omitempty"`
}

// entry is one file.
type entry struct {
	// Path is relative to the folder, escaped as in a string of Go.
	Path string `json:"path"`
	// Kind is empty for a file.
	Kind kind  `json:"kind,omitempty"`
	Size int64 `json:"size"`
	// SHA256 is that of the file, or of the text of a link.
	SHA256 string `json:"sha256,omitempty"`
	// Hashed is how many bytes of the file SHA256 covers, if that is not all.
	Hashed *int64 `json:"hashed,omitempty"`
	// Shared means that somebody else had it open for writing, or under another name.
	Shared bool `json:"shared,omitempty"`
}

// kind is what an entry is that is no file.
type kind string

const (
	kindFile  kind = ""
	kindLink  kind = "link"
	kindOther kind = "other"
)

func (k kind) String() string {
	switch k {
	case kindFile:
		return "a file"
	case kindLink:
		return "a link"
	}
	return "neither a file nor a link"
}

// Make lists the folder dir as it is now. It returns the bytes of the list, to be written to File,
// and their sha256. With sound unset nobody checked before what lies there.
func Make(dir string, sound bool) (data []byte, sha string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	l := list{Version: version, Job: filepath.Base(dir), Entries: []entry{}}
	left := int64(maxHostile)
	err = walk(dir, func(rel string, _ fs.DirEntry) error {
		if len(l.Entries) == maxEntries {
			l.Cut = true
			return fs.SkipAll
		}
		var e entry
		var err error
		if !sound || strings.HasPrefix(rel, spool.DirRaw+"/") {
			e, err = hostile(root, rel, &left)
		} else {
			e, err = look(root, rel, nil)
		}
		l.Entries = append(l.Entries, e)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("seal %s: %w", l.Job, err)
	}
	slices.SortFunc(l.Entries, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
	if data, err = json.MarshalIndent(l, "", " "); err != nil {
		return nil, "", err
	}
	data = append(data, '\n')
	return data, digest(data), nil
}

// walk visits all that is sealed. What may not be entered is left out.
func walk(dir string, each func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && path != dir {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || rel == File || rel == d.Name() && spool.IsTemporary(rel) {
			return err
		}
		return each(rel, d)
	})
}

// hostile looks at an entry that nobody bounded, and reads no more than left of it. What can't be
// read is listed without a digest, so that nothing keeps the job from its end.
func hostile(root *os.Root, rel string, left *int64) (entry, error) {
	e, err := look(root, rel, left)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		none := int64(0)
		return look(root, rel, &none)
	}
	if err == nil && e.Kind == kindFile {
		if *left -= e.Size; e.Hashed != nil {
			*left = 0
		}
		e.Shared = shared(root, rel)
	}
	return e, err
}

// look reads one entry: at most bound bytes of it, if that is set.
func look(root *os.Root, rel string, bound *int64) (entry, error) {
	e := entry{Path: escape(rel)}
	fi, err := root.Lstat(rel)
	if err != nil {
		return e, err
	}
	switch e.Kind = kindOf(fi.Mode()); e.Kind {
	case kindLink:
		to, err := root.Readlink(rel)
		e.Size, e.SHA256 = int64(len(to)), digest([]byte(to))
		return e, err
	case kindOther:
		return e, nil
	}
	e.Size = fi.Size()
	part := e.Size
	if bound != nil && *bound < part {
		part = *bound
		e.Hashed = &part
	}
	if part == 0 {
		e.SHA256 = digest(nil)
		return e, nil
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return e, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, part)); err != nil {
		return e, err
	}
	e.SHA256 = hex.EncodeToString(h.Sum(nil))
	return e, nil
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}

// shared says whether somebody else can still write to a file: it is somebody else's, has another name, or is open
// for writing. The kernel grants a read lease only while it is not.
func shared(root *os.Root, rel string) bool {
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer f.Close() // gives the lease back
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink > 1 || int(st.Uid) != os.Geteuid() {
		return true
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func escape(path string) string { q := strconv.QuoteToASCII(path); return q[1 : len(q)-1] }

func unescape(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) }
