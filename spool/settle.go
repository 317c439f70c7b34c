package spool

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/threegate/tool-exec/spool/internal/durable"
)

// making is what a job has whose claim is not settled.
type making struct {
	held   *held
	copies durable.Unsynced
	inbox  string // the folder that the request came from, or ""
	once   sync.Once
	err    error
}

// Secure makes durable that the request was claimed, once: the copies, then that it
// is gone from its inbox. It changes nothing of the job, so that its bytes can be
// read meanwhile; only if it fails the copies are gone.
func (j *Job) Secure() error {
	m := j.making
	if m == nil {
		return nil
	}
	m.once.Do(func() {
		if m.err = j.s.disk.SyncNew(&m.copies); m.err != nil || m.inbox == "" {
			return
		}
		// A vanished inbox has nothing left to be made durable.
		if err := j.s.disk.SyncDir("claim.inbox", m.inbox); !errors.Is(err, fs.ErrNotExist) {
			m.err = err
		}
	})
	return m.err
}

// Settle is the second half of a claim: it is made durable and the job gets its
// name. After an error, as Take returns it, there is no job; the claim is tried again.
func (j *Job) Settle() error {
	m := j.making
	if m == nil {
		return nil
	}
	err := j.Secure()
	dst := filepath.Join(j.s.stateDir(StateClaimed), j.ID)
	if err == nil {
		err = j.s.disk.Move("claim.commit", j.dir, dst, false)
	}
	if err == nil {
		j.dir, j.making = dst, nil
		j.around.Dir("claim.commit", filepath.Dir(dst))
	}
	return j.s.tried(m.held, err)
}

// claimed returns a job whose claim was settled by an earlier try; its last rename
// may not be durable yet.
func (s *Spool) claimed(id string) (*Job, error) {
	j, err := s.load(StateClaimed, id)
	if err == nil {
		j.around.Dir("claim.commit", s.stateDir(StateClaimed))
	}
	return j, err
}
