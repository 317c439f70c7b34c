package spool

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/spool/durable"
)

// recover does what an earlier process left undone: it finishes claims, removes
// temporaries, and makes durable where jobs lie and what they hold. The process
// may have died between a rename and its sync, and a power cut must not take back
// what is built upon.
func (s *Spool) recover() error {
	if err := s.takeOver(); err != nil {
		return err
	}
	es, err := os.ReadDir(s.stateDir(StateClaimed))
	if err != nil {
		return err
	}
	for _, e := range es {
		if !isHidden(e.Name()) {
			continue
		}
		id := e.Name()[1:]
		s.ids.seed(id)
		_, err := s.goOn(id, Arrival{Name: e.Name()})
		switch {
		case errors.Is(err, ErrUncertain):
			return err
		case err != nil && !errors.Is(err, ErrGone):
			s.log.Warn("an unfinished claim can't be finished yet", "job", id, "err", err)
		}
	}
	for _, dir := range []string{DirOrdersDone, DirSigners} {
		if err := s.dropTemporaries(s.path(dir)); err != nil {
			return err
		}
	}
	for _, st := range States {
		if err := s.recoverJobs(st); err != nil {
			return err
		}
	}
	return nil
}

// dropTemporaries removes what an earlier process was about to write into a folder.
func (s *Spool) dropTemporaries(dir string) error {
	es, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range es {
		if !durable.IsTemporary(e.Name()) {
			continue
		}
		if err := s.disk.RemoveTree("recover", filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// recoverJobs makes the jobs of a state ready to go on with, and new ids greater
// than theirs, also when the clock was set back.
func (s *Spool) recoverJobs(st State) error {
	names, err := s.entries(st)
	if err != nil {
		return err
	}
	var b durable.Batch
	b.Dir("recover", s.stateDir(st))
	b.Dir("recover.trash", s.path(DirTrash)) // where a job's raw/ may have gone
	for _, n := range names {
		s.ids.seed(n)
		if !ValidID(n) {
			continue
		}
		dir := filepath.Join(s.stateDir(st), n)
		if _, err := os.ReadDir(dir); err != nil {
			continue // Jobs reports it as damaged
		}
		if err := s.dropTemporaries(dir); err != nil {
			return err
		}
		if err := noteJob(&b, dir); err != nil {
			return err
		}
	}
	return durable.Uncertain(s.disk.Sync(&b))
}

// noteJob notes what an earlier process wrote into a job's folder. What came out of
// an inbox was made durable by its claim, and raw is none of ours.
func noteJob(b *durable.Batch, dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return nil // Jobs reports a damaged one
		case err != nil:
			return err
		case e.IsDir() && path != dir && (e.Name() == DirRaw || e.Name() == DirInputs):
			return filepath.SkipDir
		case e.IsDir():
			b.Dir("recover.job", path)
		case e.Type().IsRegular():
			b.File("recover.file", path)
		}
		return nil
	})
}

// Names that the layout before the sequential journal used in spool/claimed.
const (
	oldSparePrefix  = ".spare-"
	oldIntentPrefix = intentLink + ","
)

// takeOver makes a node of an earlier layout one of today's: it lacks some folders,
// holds folders that were made for claims that never came, and notes where a
// request came from as the name of an empty file.
func (s *Spool) takeOver() error {
	for _, dir := range []string{DirTrash, DirOrders, DirOrdersDone, DirSigners} {
		err := s.disk.Mkdir("takeover."+filepath.Base(dir), s.path(dir), modePrivateDir)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := s.Orders().takeOver(); err != nil {
		return err
	}
	for _, st := range States {
		es, err := os.ReadDir(s.stateDir(st))
		if err != nil {
			return err
		}
		for _, e := range es {
			path := filepath.Join(s.stateDir(st), e.Name())
			switch {
			case st == StateClaimed && strings.HasPrefix(e.Name(), oldSparePrefix):
				err = s.disk.RemoveTree("takeover.spare", path)
			case ValidID(strings.TrimPrefix(e.Name(), ".")):
				err = s.takeOverJob(st, path)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOverJob replaces a job's intent of the old kind.
func (s *Spool) takeOverJob(st State, dir string) error {
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil // Jobs reports it as damaged
	}
	for _, e := range es {
		old, found := strings.CutPrefix(e.Name(), oldIntentPrefix)
		if !found {
			continue
		}
		if st == StateClaimed {
			if err := s.takeOverIntent(dir, old); err != nil {
				return err
			}
		}
		if err := s.disk.Remove("takeover.intent", filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		if id := filepath.Base(dir); st == StateClaimed && ValidID(id) {
			return s.takeOverUndone(dir, id)
		}
	}
	return nil
}

// takeOverIntent makes an intent of an escaped text, unless nobody can read it.
func (s *Spool) takeOverIntent(dir, escaped string) error {
	text, err := url.PathUnescape(escaped)
	if err != nil || parseIntent(text) == nil {
		return nil
	}
	err = s.disk.Symlink("takeover.intent", text, filepath.Join(dir, intentLink))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.disk.SyncDir("takeover.intent", dir)
}

// takeOverUndone makes a claimed job without the file that it was claimed from an
// unfinished claim: a power cut put that file back into its inbox.
func (s *Spool) takeOverUndone(dir, id string) error {
	if taken, err := exists(filepath.Join(dir, DirRaw, rawRequest)); err != nil || taken {
		return err
	}
	return s.disk.Rename("takeover.undone", dir, s.hidden(id))
}
