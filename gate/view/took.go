package view

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/spool"
)

// Took finds the admitted requests that had the result of an event, or a file that its run made, as input: by
// the digests on record, and by those that the seals of both jobs have.
func Took(cfg *config.Node, e ledger.Event) (*ledger.Took, error) {
	made := map[string]bool{e.ResultSHA256: true}
	t := &ledger.Took{}
	dirs, err := spool.Archived(cfg.Dir, e.RunID)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		files, err := seal.Files(dir, e.Seal)
		if err != nil {
			return nil, err
		}
		for path, sum := range files {
			if ofResult(path) {
				made[sum] = true
			}
		}
	}
	t.Unlisted = len(made) == 1
	_, _, err = ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(by ledger.Event) error {
		if by.Inputs == nil || by.RunID == e.RunID || slices.Contains(t.IDs, by.RequestID) {
			return nil
		}
		inputs, err := inputsOf(cfg, by)
		if err == nil && slices.ContainsFunc(inputs, func(sum string) bool { return made[sum] }) {
			t.IDs = append(t.IDs, by.RequestID)
		}
		return err
	})
	slices.Sort(t.IDs)
	t.Requests, t.IDs = len(t.IDs), t.IDs[:min(len(t.IDs), ledger.MaxTook)]
	return t, err
}

// ofResult says whether a file of a job's folder is what its run made, or what CORE got of that.
func ofResult(path string) bool {
	return strings.HasPrefix(path, ledger.DirOut+"/") || strings.HasSuffix(path, ledger.ShownSuffix) ||
		slices.Contains([]string{ledger.FileStdout, ledger.FileStderr, ledger.FileSpans}, path)
}

// inputsOf are the digests of the inputs of a request. The record has the first of them, the job all.
func inputsOf(cfg *config.Node, e ledger.Event) ([]string, error) {
	if e.Inputs.Files <= len(e.Inputs.SHA256) {
		return e.Inputs.SHA256, nil
	}
	dir, err := JobDir(cfg, e.RunID)
	if errors.Is(err, fs.ErrNotExist) { // it was pruned
		return e.Inputs.SHA256, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := spool.ReadClaim(dir)
	sums := slices.Clone(e.Inputs.SHA256)
	for _, in := range c.InputFiles {
		sums = append(sums, in.SHA256)
	}
	return sums, err
}
