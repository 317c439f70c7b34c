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

// Took finds the admitted requests that had a result of a job, or a file that its run made, as input: by the digests on
// record, and by those that the seals of both jobs have. e is the event of the result that is in force.
func Took(cfg *config.Node, e ledger.Event) (*ledger.Took, error) {
	record := filepath.Join(cfg.Dir, spool.DirLedger)
	made, files := map[string]bool{}, 0
	err := ledger.FollowJob(record, e.RunID).Read(func(of ledger.Event) error {
		if of.RunID != e.RunID || ledger.Announces(of) != spool.StateDelivered && !ledger.Reissues(of) {
			return nil
		}
		made[of.ResultSHA256] = true
		dir, err := ResultDir(cfg, of.RunID, of.ResultID)
		if errors.Is(err, fs.ErrNotExist) { // it was pruned
			return nil
		}
		if err != nil {
			return err
		}
		sealed, err := seal.Files(dir, of.Seal)
		for path, sum := range sealed {
			if ofResult(path) {
				made[sum], files = true, files+1
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &ledger.Took{Unlisted: files == 0}
	_, _, err = ledger.Read(record, func(by ledger.Event) error {
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
