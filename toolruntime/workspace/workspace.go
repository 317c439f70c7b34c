// Package workspace reads and writes the one folder that tools may touch, and has the tools of section 5.1: they list,
// read, write, move, copy, delete, patch and search its files. A path is never
// joined to a string: every access goes through os.Root, which can't leave the folder. On top
// of that it follows no symbolic link at all, and knows no path below a folder named .git.
//
// It runs in the sandbox, next to programs that can change the folder at any time. What they
// win by a race stays inside of the folder.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// Rule is the rule that paths are held to.
const Rule = "sec.paths.sandbox"

const (
	maxPath = 4096
	// MaxFile bounds a file that is read or written whole, in bytes.
	MaxFile = 16 << 20
	// maxEntries bounds one walk.
	maxEntries = 500_000
)

// Workspace is the folder. It is safe for concurrent use; who writes one file twice at once
// has to lock.
type Workspace struct {
	Dir  string
	root *os.Root
	// temps are the files and folders that are written or removed beside what they are for. No tool sees them.
	temps sync.Map
}

// Open takes a folder as workspace.
func Open(dir string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &Workspace{Dir: abs, root: root}, nil
}

// Clean judges a path by its text, and returns it in one spelling. "." is the workspace.
func Clean(p string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", contract.Refuse(Rule, "the path %q %s", contract.Shorten(p, 200), why).
			WithHint("name a path below the workspace, such as src/main.rs")
	}
	switch {
	case p == "":
		return refuse("is empty")
	case len(p) > maxPath:
		return refuse("is too long")
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return refuse("holds bytes that are no text")
	case !filepath.IsLocal(p):
		return refuse("leaves the workspace")
	}
	clean := path.Clean(p)
	for part := range strings.SplitSeq(clean, "/") {
		if IsGit(part) {
			return refuse("belongs to git")
		}
	}
	return clean, nil
}

// IsGit says whether git takes a name for its own folder, be it on another system: there letters that show nothing,
// dots and spaces at the end, and what follows a colon don't count, and a backslash parts names. git adds no such path.
func IsGit(name string) bool {
	for part := range strings.SplitSeq(strings.Map(shown, name), `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, " .")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// shown leaves out what Apple's file system ignores in names.
func shown(r rune) rune {
	if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
		return -1
	}
	return r
}

// plain cleans a path, and refuses one with a symbolic link before its last name.
func (w *Workspace) plain(p string) (string, error) {
	clean, err := Clean(p)
	if err != nil {
		return "", w.inside(p, err)
	}
	for i, c := range clean {
		if c != '/' {
			continue
		}
		info, err := w.root.Lstat(clean[:i])
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", failed(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", linked(clean[:i])
		}
	}
	return clean, nil
}

// inside adds to the error of an absolute path which path of the workspace it may mean.
func (w *Workspace) inside(p string, err error) error {
	rest, ok := strings.CutPrefix(p, "/")
	for ok {
		if clean, bad := Clean(rest); bad == nil {
			if _, none := w.root.Lstat(clean); none == nil {
				return contract.AsError(err).WithHint(fmt.Sprintf("paths are relative to the workspace: it has %q",
					clean))
			}
		}
		_, rest, ok = strings.Cut(rest, "/")
	}
	return err
}

// maxNear bounds the entries that are looked at for a name that is near.
const maxNear = 20_000

// missing adds to an error about a path that is not there which one may be meant.
func (w *Workspace) missing(p string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var same, all []string
	_ = w.Walk(context.Background(), func(at string, _ fs.DirEntry) error {
		if all = append(all, at); len(all) == maxNear {
			return fs.SkipAll
		}
		if strings.EqualFold(path.Base(at), path.Base(p)) && len(same) < 5 {
			same = append(same, at)
		}
		return nil
	})
	if near := contract.Near(p, all); len(same) == 0 && near != "" {
		same = []string{near}
	}
	e := contract.Errorf(contract.FileIO, "%q does not exist", p)
	if strings.ContainsAny(p, "*?[{") {
		return e.WithHint("this takes one path, not a pattern: fs_list lists what fits one")
	}
	if len(same) > 0 {
		return e.WithHint("there is " + strings.Join(same, ", "))
	}
	return e.WithHint(fmt.Sprintf("fs_list with %q finds files whose names begin so", "**/"+initial(p)+"*"))
}

// initial are the first letters of a path's last name.
func initial(p string) string {
	name := []rune(path.Base(p))
	return string(name[:min(3, len(name))])
}

func linked(p string) error {
	return contract.Refuse(Rule, "%q is a symbolic link", p).WithHint("name the path that the link points to")
}

// failed gives an error of the file system its code, without the names of folders outside.
func failed(err error) error {
	var known *contract.Error
	if errors.As(err, &known) {
		return err
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		if strings.Contains(at.Err.Error(), "escapes") {
			return contract.Refuse(Rule, "%q leaves the workspace", at.Path)
		}
		e := contract.Errorf(contract.FileIO, "%q: %w", at.Path, at.Err)
		if errors.Is(at.Err, unix.ENOTDIR) {
			e = e.WithHint("a part of the path before its last name is a file: name a folder there")
		}
		return e
	}
	return contract.Errorf(contract.FileIO, "%v", err)
}

// Lstat looks at a path without following anything.
func (w *Workspace) Lstat(p string) (clean string, info fs.FileInfo, err error) {
	if clean, err = w.plain(p); err != nil {
		return "", nil, err
	}
	if info, err = w.root.Lstat(clean); err != nil {
		return clean, nil, failed(err)
	}
	return clean, info, nil
}

// Exists says whether something is there, a link too.
func (w *Workspace) Exists(p string) (bool, error) {
	_, _, err := w.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens a regular file for reading. A FIFO in its place does not block.
func (w *Workspace) open(p string) (*os.File, fs.FileInfo, error) {
	clean, before, err := w.Lstat(p)
	if err != nil {
		return nil, nil, w.missing(clean, err)
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, linked(clean)
	}
	if !before.Mode().IsRegular() {
		e := contract.Errorf(contract.FileIO, "%q is no regular file", clean)
		if before.IsDir() {
			e = contract.Errorf(contract.FileIO, "%q is a folder", clean).
				WithHint(fmt.Sprintf("fs_list with %q lists its files", path.Join(clean, "**")))
		}
		return nil, nil, e
	}
	f, err := w.root.OpenFile(clean, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, failed(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = contract.Errorf(contract.FileIO, "%q is no regular file", clean)
	}
	if err != nil {
		return nil, nil, errors.Join(failed(err), f.Close())
	}
	return f, info, nil
}

// Read returns a regular file of at most most bytes.
func (w *Workspace) Read(p string, most int64) ([]byte, fs.FileMode, error) {
	f, info, err := w.open(p)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, 0, failed(err)
	}
	if int64(len(data)) > most {
		size := max(info.Size(), most+1)
		return nil, 0, contract.Errorf(contract.FileIO, "%q has %d bytes, more than %d", p, size, most).
			WithHint("raise max_bytes if the tool has it, or find the place with grep")
	}
	return data, info.Mode().Perm(), nil
}

// Write puts data in place of a file, or makes it, by a rename: nobody sees half of it. A mode of 0
// stands for that of the file, or 0644. Once ctx is over nothing is written.
func (w *Workspace) Write(ctx context.Context, p string, data []byte, mode fs.FileMode, makeDirs bool) error {
	clean, err := w.plain(p)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if makeDirs {
		if err := w.root.MkdirAll(path.Dir(clean), 0o755); err != nil {
			return failed(err)
		}
	}
	switch info, err := w.root.Lstat(clean); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return failed(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return linked(clean)
	case !info.Mode().IsRegular():
		return contract.Errorf(contract.FileIO, "%q is no regular file", clean)
	case mode == 0:
		mode = info.Mode().Perm()
	}
	if mode == 0 {
		mode = 0o644
	}
	temp := w.temp(clean)
	defer w.temps.Delete(temp)
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return contract.Errorf(contract.FileIO, "the folder of %q does not exist", clean).
			WithHint("set create_dirs, or name a path in a folder that exists")
	}
	if err != nil {
		return failed(err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = w.root.Rename(temp, clean)
	}
	if err != nil {
		return errors.Join(failed(err), w.root.Remove(temp))
	}
	contract.Touch(ctx, clean)
	return nil
}

// temp is a new name in the folder of p.
func (w *Workspace) temp(p string) string {
	name := path.Join(path.Dir(p), ".threegate-"+strconv.FormatUint(rand.Uint64(), 36))
	w.temps.Store(name, true)
	return name
}

// discard removes what a temp is the name of, after the call's answer if its time is over.
func (w *Workspace) discard(ctx context.Context, temp string) error {
	done := make(chan error, 1)
	go func() {
		err := w.root.RemoveAll(temp)
		if err != nil { // folders whose mode lets nobody take anything out
			_ = fs.WalkDir(w.root.FS(), temp, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					err = w.root.Chmod(p, 0o700)
				}
				return err
			})
			err = w.root.RemoveAll(temp)
		}
		w.temps.Delete(temp)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		contract.After(ctx, func() { <-done })
		return nil
	}
}

// Walk calls do for every entry below the workspace in order of names, but for folders named
// .git. It follows no link. do may return fs.SkipDir.
func (w *Workspace) Walk(ctx context.Context, do func(p string, d fs.DirEntry) error) error {
	seen := 0
	err := fs.WalkDir(w.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // a folder that vanished, or can't be read
			return nil
		}
		if seen++; seen > maxEntries {
			return contract.Errorf(contract.FileIO, "the workspace has more than %d entries", maxEntries)
		}
		if p == "." {
			return nil
		}
		if _, temp := w.temps.Load(p); temp || IsGit(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return do(p, d)
	})
	if err != nil && ctx.Err() == nil {
		return failed(err)
	}
	return err
}
