package patchpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// badRegistry is a verdict: a patch can't be held to this registry.
type badRegistry struct{ why string }

func (b *badRegistry) Error() string { return b.why }

// registry reads the registry that was an input, as it was admitted. A run that had none is held to the rules
// that always hold.
func (r *Run) registry() (*registry.Registry, error) {
	if r.Given != nil { // it was checked with the configuration of then
		rules, err := registry.Parse(r.Given)
		if err != nil {
			return nil, &badRegistry{shorten(err.Error())}
		}
		return rules, nil
	}
	file, named := r.registryPath()
	name, ok := r.input(file)
	if !ok {
		return nil, &badRegistry{"it can't be told from the command which registry the run was held to"}
	}
	raw, err := r.Input(name, registry.MaxSize)
	pack, packErr := r.Input(path.Join(path.Dir(name), registry.PackFile), registry.MaxSize)
	noPack := errors.Is(packErr, os.ErrNotExist)
	if errors.Is(err, os.ErrNotExist) && !named && noPack {
		return registry.Default(), nil
	}
	if packErr != nil && !noPack {
		return nil, packErr
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, &badRegistry{fmt.Sprintf("the registry %s is not among the inputs", shorten(file))}
	}
	if err != nil {
		return nil, err
	}
	rules, err := registry.Parse(raw)
	if err == nil && !noPack {
		err = rules.Raise(pack)
	}
	if err != nil {
		return nil, &badRegistry{shorten(err.Error())}
	}
	return rules, nil
}

// input is the path below /in of a file that a command names.
func (r *Run) input(file string) (string, bool) {
	if file != "" && !path.IsAbs(file) && len(r.Work) > 0 {
		file = path.Join(schemas.WorkDir, file)
	}
	file = path.Clean(file)
	if name, ok := strings.CutPrefix(file, "/in/"); ok {
		return name, true
	}
	name, ok := strings.CutPrefix(file, schemas.WorkDir+"/")
	return name, ok && len(r.Work) > 0
}

// In opens the inputs of a job, which lie in a folder.
func In(dir string) func(name string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		f, err := os.OpenInRoot(dir, name)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", spool.ErrDamaged, err) // it was admitted
		}
		return f, nil
	}
}

// Input reads an input, or a file of one that is a folder tree, with one byte more than most if it is longer. One that
// is not there is an error that matches os.ErrNotExist.
func (r *Run) Input(name string, most int64) (raw []byte, err error) {
	input := name
	if i := slices.IndexFunc(r.Trees, func(t string) bool { return strings.HasPrefix(name, t+"/") }); i >= 0 {
		input = r.Trees[i]
	}
	want, ok := r.Hashes["/in/"+input]
	if !ok {
		return nil, os.ErrNotExist
	}
	f, err := r.Open(input)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	bytes := io.TeeReader(f, sum)
	found := input == name
	if found {
		raw, err = io.ReadAll(io.LimitReader(bytes, most+1))
	} else {
		_, err = intree.Each(bytes, func(m intree.Member, r io.Reader) (err error) {
			if !m.Dir && input+"/"+m.Path == name {
				raw, err = io.ReadAll(io.LimitReader(r, most+1))
				found = true
			}
			return err
		})
	}
	if err == nil {
		_, err = io.Copy(io.Discard, bytes)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the input %s: %w", input, err)
	case hex.EncodeToString(sum.Sum(nil)) != want:
		return nil, fmt.Errorf("%w: the input %s is not what was claimed", spool.ErrDamaged, input)
	case !found:
		return nil, os.ErrNotExist
	}
	return raw, nil
}
