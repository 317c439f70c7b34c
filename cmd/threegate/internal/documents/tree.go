package documents

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
)

// packTree makes the folder dir one input: a tar of its files, sorted, without dates, owners and empty folders, so the
// same files make the same tar.
func packTree(ctx context.Context, dir string, l bundle.Limits) (bundle.File, error) {
	whole, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(whole) // a person may name a link
	}
	if err != nil {
		return bundle.File{}, inputFault(err)
	}
	limits := bundle.Limits{Files: intree.MaxMembers, Bytes: l.Bytes}
	files, err := inputsIn(ctx, dir, limits)
	if err != nil {
		return bundle.File{}, err
	}
	slices.SortFunc(files, func(a, b bundle.File) int { return bytes.Compare([]byte(a.Rel), []byte(b.Rel)) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: f.Rel, Typeflag: tar.TypeReg, Mode: 0o644, Size: f.Size})
		if err == nil {
			err = bundle.Read(ctx, f, w)
		}
		if err != nil {
			return bundle.File{}, inputFault(err)
		}
	}
	if err := w.Close(); err != nil {
		return bundle.File{}, inputFault(err)
	}
	f := bundle.File{Rel: filepath.Base(whole), Size: int64(b.Len()), SHA256: schemas.SHA256(b.Bytes()),
		Data: b.Bytes()}
	if _, err := intree.Check(bytes.NewReader(f.Data)); err != nil {
		return f, treeFault(f, err)
	}
	return f, nil
}

// treeFault is the verdict on a tar, or trouble.
func treeFault(f bundle.File, err error) error {
	if bad, ok := errors.AsType[*intree.Fault](err); ok {
		r, _ := schemas.RuleByID(admission.RuleTree)
		return cli.Rejectf(r.ID, r.Hint, "the folder tree %s can't be unpacked: %v", f.Path(), bad)
	}
	return inputFault(err)
}
