package bundle

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
)

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
