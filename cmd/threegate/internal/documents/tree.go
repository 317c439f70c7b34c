package documents

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// ruleTree is the rule that a tar breaks which can't be unpacked.
const ruleTree = "request.inputs.tree"

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
	files, err := bundle.Folder(dir, limits)
	if err == nil {
		err = bundle.Hash(ctx, files, limits)
	}
	if err != nil {
		return bundle.File{}, inputFault(err)
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
	sum := sha256.Sum256(b.Bytes())
	f := bundle.File{Rel: filepath.Base(whole), Size: int64(b.Len()), SHA256: hex.EncodeToString(sum[:]),
		Data: b.Bytes()}
	if _, err := intree.Check(bytes.NewReader(f.Data)); err != nil {
		return f, treeFault(f, err)
	}
	return f, nil
}

// treeFault is the verdict on a tar, or trouble.
func treeFault(f bundle.File, err error) error {
	if bad, ok := errors.AsType[*intree.Fault](err); ok {
		return cli.Rejectf(ruleTree, treeFix(), "the folder tree %s can't be unpacked: %v", f.Path(), bad)
	}
	return inputFault(err)
}

func treeFix() string {
	r, _ := schemas.RuleByID(ruleTree)
	return r.Hint
}

// treeFindings looks into the inputs that are folder trees, as the gate does.
func treeFindings(ctx context.Context, req *schemas.Request, files []bundle.File) ([]schemas.Finding, error) {
	faults, err := intree.Verdict(req.Trees(), opener(ctx, files))
	if err != nil {
		return nil, inputFault(err)
	}
	var found []schemas.Finding
	for _, text := range faults {
		found = append(found, schemas.Finding{Rule: ruleTree, Severity: schemas.SeverityBlocking, Message: text,
			Hint: treeFix()})
	}
	return found, nil
}

// opener opens files by their paths below /in, with the bytes that were hashed.
func opener(ctx context.Context, files []bundle.File) func(name string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		i := slices.IndexFunc(files, func(f bundle.File) bool { return f.Rel == name })
		if i < 0 {
			return nil, fs.ErrNotExist
		}
		var b bytes.Buffer
		err := bundle.Read(ctx, files[i], &b)
		return io.NopCloser(&b), err
	}
}

// planFindings holds the plan of a run of tools, if it is among the inputs, to the rules about names, as the gate does.
func planFindings(ctx context.Context, node *config.Node, req *schemas.Request, files []bundle.File,
	policy *validate.Policy) ([]schemas.Finding, error) {
	if req == nil {
		return nil, nil
	}
	run := patchpolicy.Run{Argv: patchpolicy.Argv(req), Trees: req.Trees(), Work: req.Work(), Open: opener(ctx, files),
		Hashes: hashesOf(files)}
	if node != nil {
		run.Given = node.Registry(req)
	}
	found, err := run.OfPlan(policy)
	if err != nil {
		return nil, inputFault(err)
	}
	return found, nil
}

// hashesOf are the digests of files by their paths in the sandbox.
func hashesOf(files []bundle.File) map[string]string {
	hashes := map[string]string{}
	for _, f := range files {
		hashes[f.Path()] = f.SHA256
	}
	return hashes
}
