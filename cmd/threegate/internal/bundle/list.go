// Package bundle handles the documents that a person names, and the files that
// travel with a request: it finds, reads and hashes them, and puts a request with
// its inputs and its signature into an inbox so that nobody ever sees a part of them.
//
// What it meets is hostile: links that nobody named, pipes, devices and files that
// change while they are read are refused, and every count and size is bounded.
package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// InDir is where inputs appear inside the sandbox.
const InDir = "/in/"

// Limits bound the inputs of one request.
type Limits struct {
	Files int
	Bytes int64 // all files together
}

// File is one input file.
type File struct {
	// Rel is its slash-separated path below the folder of inputs.
	Rel string
	// Host is where its bytes are read from.
	Host   string
	Size   int64
	SHA256 string
	// Data are its bytes if it lies in no file; Host is empty then.
	Data []byte
	// root is the folder that Rel is below; empty for a file that a person named.
	root string
}

// Path is where the file appears inside the sandbox.
func (f File) Path() string { return InDir + f.Rel }

// ErrTooMuch says that inputs are more or larger than allowed.
var ErrTooMuch = errors.New("more than allowed")

// JobOf is the folder of the job as which a node keeps a request file, or "" if it keeps none in that folder.
func JobOf(request string) string {
	dir := filepath.Dir(request)
	if filepath.Base(request) != spool.FileRequest {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, spool.FileClaim)); err != nil {
		return ""
	}
	return dir
}

// Dir is the folder in which the inputs of a request file lie.
func Dir(request string) string {
	if job := JobOf(request); job != "" {
		return filepath.Join(job, spool.DirInputs)
	}
	return strings.TrimSuffix(request, ".md") + ".inputs"
}

// Folder lists the files below dir, sorted. A dir that does not exist holds none.
// Neither dir itself nor anything below it may be a link, now or when the files
// are read: whoever owns the folder must not choose what else is read of the host.
func Folder(dir string, l Limits) ([]File, error) {
	pin, err := durable.OpenFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer pin.Close()
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", pin.Fd()))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []File
	var total int64
	err = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s: %w: it is %s", filepath.Join(dir, rel), durable.ErrNotRegular,
				durable.Describe(d.Type()))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		files = append(files, File{Rel: rel, Host: filepath.Join(dir, rel), Size: info.Size(), root: dir})
		return l.check(len(files), total)
	})
	return files, err
}

// Named lists the files that a person named: a file is taken under its base
// name, a folder with all that lies below it.
func Named(paths []string, l Limits) ([]File, error) {
	var files []File
	var total int64
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		found := []File{{Rel: filepath.Base(p), Host: p, Size: info.Size()}}
		switch {
		case info.IsDir():
			// A person may name a folder by a link.
			if p, err = filepath.EvalSymlinks(p); err != nil {
				return nil, err
			}
			if found, err = Folder(p, l); err != nil {
				return nil, err
			}
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s: %w: it is %s", p, durable.ErrNotRegular, durable.Describe(info.Mode()))
		}
		for _, f := range found {
			total += f.Size
		}
		files = append(files, found...)
		if err := l.check(len(files), total); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Rel, b.Rel) })
	for i := 1; i < len(files); i++ {
		if files[i].Rel == files[i-1].Rel {
			return nil, fmt.Errorf("%s and %s would both become %s", files[i-1].Host, files[i].Host, files[i].Path())
		}
	}
	return files, nil
}

func (l Limits) check(files int, bytes int64) error {
	if files > l.Files {
		return fmt.Errorf("%w: at most %d input files", ErrTooMuch, l.Files)
	}
	if bytes > l.Bytes {
		return fmt.Errorf("%w: input files of at most %d bytes together", ErrTooMuch, l.Bytes)
	}
	return nil
}

// Hash reads every file once and fills in its size and hash.
func Hash(ctx context.Context, files []File, l Limits) error {
	var total int64
	for i := range files {
		n, sum, err := stream(ctx, files[i], l.Bytes-total, io.Discard)
		if err != nil {
			return err
		}
		files[i].Size, files[i].SHA256 = n, sum
		total += n
	}
	return nil
}

// stream copies a file to w and returns its length and hash.
func stream(ctx context.Context, f File, limit int64, w io.Writer) (n int64, sum string, err error) {
	in, err := f.open()
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", f.Host, err)
	}
	defer in.Close()
	h := sha256.New()
	n, err = io.Copy(io.MultiWriter(h, w), io.LimitReader(&reader{ctx, in}, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w: the inputs are longer than %d bytes together", ErrTooMuch, limit)
	}
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", f.Host, err)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

// open follows a link only if a person named it.
func (f File) open() (io.ReadCloser, error) {
	if f.Host == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}
	if f.root == "" {
		return durable.OpenNamed(f.Host)
	}
	dir, err := durable.OpenFolder(f.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return durable.OpenBelow(dir, f.Rel)
}

// Read copies a file that was hashed to w. If it no longer has its hash, the error matches
// ErrChanged, and what w got is void.
func Read(ctx context.Context, f File, w io.Writer) error {
	_, sum, err := stream(ctx, f, f.Size, w)
	if errors.Is(err, ErrTooMuch) || err == nil && sum != f.SHA256 {
		return fmt.Errorf("%s: %w", f.Host, ErrChanged)
	}
	return err
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// InFolder says whether p is a path below /in that names a file of a bundle.
func InFolder(p string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(p, InDir)
	return rel, ok && filepath.IsLocal(rel) && path.Clean(rel) == rel && rel != "."
}

// Files are the inputs of one request, as their judge sees them: what is read of them is what was hashed.
type Files struct {
	Context context.Context
	List    []File
}

// Hashes are the digests of the files by their paths in the sandbox.
func (f Files) Hashes() map[string]string {
	hashes := map[string]string{}
	for _, file := range f.List {
		hashes[file.Path()] = file.SHA256
	}
	return hashes
}

// Open opens a file by its path below /in. If it is no longer what was hashed, the error matches ErrChanged.
func (f Files) Open(name string) (io.ReadCloser, error) {
	i := slices.IndexFunc(f.List, func(file File) bool { return file.Rel == name })
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	var b bytes.Buffer
	err := Read(f.Context, f.List[i], &b)
	return io.NopCloser(&b), err
}

// ReadDocument returns the first limit+1 bytes of a regular file at most: a result that
// is longer than limit tells that the file is.
func ReadDocument(path string, follow bool, limit int64) ([]byte, error) {
	open := durable.OpenRegular
	if follow {
		open = durable.OpenNamed
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return data, errors.Join(err, f.Close())
}

// ReadStream is ReadDocument for a stream such as standard input. It returns when ctx
// ends, although a read that waits for a terminal can't be called off.
func ReadStream(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		done <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-done:
		return a.data, a.err
	}
}
