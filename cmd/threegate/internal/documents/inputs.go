package documents

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// InputLimits bound the inputs of a request by a policy.
func InputLimits(p validate.Policy) bundle.Limits {
	return bundle.Limits{Files: p.MaxInputs, Bytes: p.MaxInputBytes}
}

// inputsIn lists and hashes the inputs in a folder; there are none if there is no such folder.
func inputsIn(ctx context.Context, dir string, l bundle.Limits) ([]bundle.File, error) {
	files, err := bundle.Folder(dir, l)
	return hashed(ctx, files, err, l)
}

func hashed(ctx context.Context, files []bundle.File, err error, l bundle.Limits) ([]bundle.File, error) {
	if err == nil {
		err = bundle.Hash(ctx, files, l)
	}
	if err != nil {
		return nil, inputFault(err)
	}
	return files, nil
}

// approvalInputs lists and hashes the inputs, after copying those that were named.
func (a *app) approvalInputs(ctx context.Context, p *approval, f approveFlags) ([]bundle.File, error) {
	limits := InputLimits(p.policy)
	dir := bundle.Dir(p.file)
	if len(f.inputs) > 0 {
		named, err := hashNamed(ctx, f.inputs, limits)
		if err != nil {
			return nil, err
		}
		err = p.place.CopyFolder(ctx, filepath.Base(dir), named, limits)
		if errors.Is(err, fs.ErrExist) {
			return nil, cli.Troublef(err, "remove that folder, or leave out --input to approve what lies in it",
				"the inputs of this request lie in %s already", dir)
		}
		if err != nil {
			return nil, inputFault(err)
		}
		a.UI.Say("inputs copied to %s", dir)
	}
	return inputsIn(ctx, dir, limits)
}

// matchInputs compares declared inputs with the files. Declared inputs keep their order;
// files that are not declared are added at the end.
func (p *approval) matchInputs(rehash bool) error {
	byPath := map[string]bundle.File{}
	for _, f := range p.inputs {
		byPath[f.Path()] = f
	}
	var list []frontmatter.Input
	var missing, changed []string
	for _, in := range p.doc.Inputs {
		f, ok := byPath[in.Path]
		if !ok {
			missing = append(missing, in.Path)
			continue
		}
		delete(byPath, in.Path)
		if in.SHA256 != "" && in.SHA256 != f.SHA256 {
			changed = append(changed, in.Path)
			p.notes = append(p.notes, fmt.Sprintf("%s is not the file that the request was written for: sha256 was %s",
				in.Path, in.SHA256))
		}
		list = append(list, frontmatter.Input{Path: in.Path, SHA256: f.SHA256, Unpack: in.Unpack,
			CopyTo: in.CopyTo})
	}
	if len(missing) > 0 {
		return cli.Rejectf(ruleInputs, "put them into "+bundle.Dir(p.file)+", or name them with --input",
			"declared inputs are not there: %s", strings.Join(missing, ", "))
	}
	if len(changed) > 0 && !rehash {
		return cli.Rejectf(ruleInputs,
			"find out which of the two was changed; --update-hashes approves the files as they are now",
			"the hash in the request does not match the file: %s", strings.Join(changed, ", "))
	}
	for _, f := range p.inputs {
		if _, ok := byPath[f.Path()]; ok {
			list = append(list, frontmatter.Input{Path: f.Path(), SHA256: f.SHA256})
			p.notes = append(p.notes, f.Path()+" was not listed in the front matter; it is added")
		}
	}
	p.doc.SetInputs(list)
	return nil
}

// ruleInputs is the rule that the inputs of a request break when they are not
// what the request says.
const ruleInputs = "request.inputs.hash"

// hashNamed lists and hashes the files that a person named.
func hashNamed(ctx context.Context, paths []string, l bundle.Limits) ([]bundle.File, error) {
	files, err := bundle.Named(paths, l)
	return hashed(ctx, files, err, l)
}

func inputFault(err error) *cli.Fault {
	if errors.Is(err, bundle.ErrChanged) {
		return cli.Troublef(err, "do it again", "an input was changed meanwhile")
	}
	hint := "inputs must be regular files, or folders of them"
	if errors.Is(err, bundle.ErrTooMuch) {
		hint = "leave out what the run does not need, or raise limits.inputs_mb and limits.input_files of the node"
	}
	return cli.Troublef(err, hint, "can't take the inputs")
}

// packTree makes the folder dir one input: a tar of its empty folders and its files, sorted, without dates and owners,
// so the same tree makes the same tar.
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
	empty, err := emptyFolders(dir)
	if err != nil {
		return bundle.File{}, inputFault(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range empty {
		if err := w.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return bundle.File{}, inputFault(err)
		}
	}
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

// emptyFolders are those below dir in which nothing is, by name.
func emptyFolders(dir string) (empty []string, err error) {
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		entries, err := fs.ReadDir(files, name)
		if len(entries) == 0 {
			empty = append(empty, name)
		}
		return err
	})
	return empty, err
}

// treeFault is the verdict on a tar, or trouble.
func treeFault(f bundle.File, err error) error {
	if bad, ok := errors.AsType[*intree.Fault](err); ok {
		r, _ := schemas.RuleByID(admission.RuleTree)
		return cli.Rejectf(r.ID, r.Hint, "the folder tree %s can't be unpacked: %v", f.Path(), bad)
	}
	return inputFault(err)
}
