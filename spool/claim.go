package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// An unfinished claim is the hidden folder spool/claimed/.JOB:
//
//	intent        which request is meant; made first
//	raw/          what was renamed out of the inbox, untouched
//	request.md request.sig inputs/   copies on fresh inodes
//	job.json      what was found; written last
//
// Renaming .JOB to JOB ends the claim, once all of it is durable and the request
// is durably gone from its inbox. Until that rename is durable raw/ is whole, so a
// claim that was cut off at any point is finished by making the copies again. Then
// the intent and whatever of raw/ was copied whole go to the trash.
const (
	rawRequest = "request.md"
	rawInputs  = "inputs"
	rawSig     = "request.sig"
)

// Arrival is a request that waits to be claimed.
type Arrival struct {
	Inbox Inbox
	// Name is the name in the inbox, any bytes. An unfinished claim
	// has a dot and its job id here, which no request can have.
	Name string
}

// Claim takes one request out of its inbox, copies its bytes to files of the
// node's own and returns it as a job in StateClaimed. All of that is durable on
// return. What is wrong with its files does not fail the claim: the job carries
// it as findings.
//
// It fails with ErrGone if the request is no longer there. An error that matches
// ErrStuck concerns this one alone: it is still open for writing (ErrBusy too), or
// can't be taken in now (a ClaimError); Stuck lists it and Pending offers it again
// when its time has come. Any other error, ErrNoSpace first of all, is trouble of
// the node: the request waits, and the caller should too. After one that matches
// ErrUncertain the caller must stop.
func (s *Spool) Claim(in Inbox, name string) (*Job, error) {
	a := Arrival{in, name}
	if isHidden(name) {
		return s.goOn(name[1:], a)
	}
	if err := s.room(); err != nil {
		s.putBack(a)
		return nil, err
	}
	id, err := s.begin(a)
	switch {
	case errors.Is(err, ErrGone):
		s.forget(a)
		return nil, err
	case unmovable(err):
		return nil, s.noteStuck(a, err)
	case err != nil: // trouble of the node's own
		s.putBack(a)
		return nil, err
	}
	return s.goOn(id, a)
}

// begin makes .JOB with its intent and renames the request into it. On return
// without an error the request is the node's; with one it is where it was, or,
// if that is unknown, recovery finds out.
func (s *Spool) begin(a Arrival) (id string, err error) {
	if strings.ContainsAny(a.Name, "/\x00") || !isRequestName(a.Name) {
		return "", fmt.Errorf("%s is no name of a request", Quote(a.Name))
	}
	from := filepath.Join(a.Inbox.Dir, a.Name)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return "", ErrGone // cheap for the loser of a race
	}
	now := time.Now().UTC()
	id = s.ids.next(now)
	hidden := s.hidden(id)
	taken := filepath.Join(hidden, DirRaw, rawRequest)
	err = s.makeFolder(hidden, &intent{a.Inbox, a.Name, now})
	if err == nil {
		err = s.disk.Move("claim.request", from, taken, false)
	}
	if err == nil || errors.Is(err, ErrUncertain) {
		return id, err
	}
	if there, lookErr := exists(taken); there || lookErr != nil {
		return id, nil // it may have happened: going on finds out
	}
	// A folder that can't be removed holds nothing; recovery removes it.
	undo := s.disk.RemoveTree("claim.undo", hidden)
	if errors.Is(err, fs.ErrNotExist) {
		if there, lookErr := exists(from); lookErr == nil && !there {
			return "", ErrGone
		}
	}
	return "", errors.Join(err, undo)
}

// makeFolder makes the folder of a claim with its intent, durably.
func (s *Spool) makeFolder(hidden string, in *intent) error {
	if err := s.disk.Mkdir("claim.job", hidden, modeGroupDir); err != nil {
		return err
	}
	if err := s.disk.Mkdir("claim.raw", filepath.Join(hidden, DirRaw), modePrivateDir); err != nil {
		return err
	}
	if err := s.disk.Symlink("claim.intent", in.text(), filepath.Join(hidden, intentLink)); err != nil {
		return err
	}
	var b durable.Batch
	b.Dir("claim.begin", hidden)
	b.Dir("claim.begin.parent", filepath.Dir(hidden))
	return durable.Uncertain(s.disk.Sync(&b))
}

func (s *Spool) hidden(id string) string {
	return filepath.Join(s.stateDir(StateClaimed), "."+id)
}

// complete goes on with an unfinished claim from wherever it stands. It is the end
// of every claim, and of recovery. With timeUp set, a file that is still open for
// writing is waited for no longer.
func (s *Spool) complete(h *openClaim, timeUp bool) (*Job, error) {
	done, err := exists(filepath.Join(s.stateDir(StateClaimed), h.id))
	if err == nil && !done { // else an earlier try did it
		err = s.commit(h, timeUp)
	}
	if err != nil {
		return nil, err
	}
	j, err := s.load(StateClaimed, h.id)
	if err == nil {
		_ = j.Tidy() // Move tries again
	}
	return j, err
}

// commit makes .JOB whole and renames it to JOB.
func (s *Spool) commit(h *openClaim, timeUp bool) error {
	hidden := s.hidden(h.id)
	if taken, err := exists(filepath.Join(hidden, DirRaw, rawRequest)); err != nil {
		return err
	} else if !taken {
		return s.dropEmpty(h.id)
	}
	in, err := readIntent(hidden)
	if err != nil {
		return err
	}
	found := Claim{Version: claimVersion, ID: h.id}
	if in == nil {
		found.refuse(RuleDamaged, "the node's own note of where the request came from can't be read", "")
		found.Origin.ClaimedAt = time.Now().UTC()
	} else {
		s.mu.Lock()
		if isHidden(h.Name) {
			h.Arrival = in.arrival()
		}
		s.mu.Unlock()
		if err := s.pull(in, hidden, &found); err != nil {
			return err
		}
	}
	if err := s.copy(hidden, &found, timeUp); err != nil {
		return err
	}
	if in != nil {
		if err := s.syncInbox(in.inbox.Dir); err != nil {
			return err
		}
	}
	return s.disk.Rename("claim.commit", hidden, filepath.Join(s.stateDir(StateClaimed), h.id))
}

// copy makes the copies and the record of what was found, durably.
func (s *Spool) copy(hidden string, found *Claim, timeUp bool) error {
	if err := s.dropCopies(hidden); err != nil {
		return err
	}
	var b durable.Batch
	if err := s.takeIn(hidden, found, timeUp, &b); err != nil {
		return err
	}
	data, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	if err := s.disk.Write("claim.record", hidden, FileClaim, append(data, '\n'), modeGroupFile, &b); err != nil {
		return err
	}
	b.Dir("claim.raw", filepath.Join(hidden, DirRaw))
	return durable.Uncertain(s.disk.Sync(&b))
}

// syncInbox makes durable that a request is gone from its inbox. An inbox that
// others removed holds it no more; one that can't be opened is tried again.
func (s *Spool) syncInbox(dir string) error {
	err := s.disk.SyncDir("claim.inbox", dir)
	switch notOpened := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil
	case errors.As(err, &notOpened):
		return err
	}
	return durable.Uncertain(err)
}

// Tidy moves to the trash what a job no longer needs of its claim. The job's next
// Sync makes that durable. Move calls it, too.
func (j *Job) Tidy() error {
	if j.Damage != nil {
		return nil
	}
	drop := []string{intentLink}
	if j.rec.RawKept {
		for _, name := range j.rec.RawDrop {
			drop = append(drop, filepath.Join(DirRaw, filepath.Base(name)))
		}
	} else {
		drop = append(drop, DirRaw)
	}
	for _, name := range drop {
		path := j.Path(name)
		if there, err := exists(path); err != nil {
			return err
		} else if !there {
			continue
		}
		j.batch.Dir("claim.tidy", filepath.Dir(path))
		j.batch.Dir("claim.trash", j.s.path(DirTrash))
		if err := j.s.discard(path); err != nil {
			return err
		}
	}
	return nil
}

// dropEmpty ends a claim that never got its request: it is still in the inbox
// or another node has it.
func (s *Spool) dropEmpty(id string) error {
	raw := filepath.Join(s.hidden(id), DirRaw)
	for _, name := range []string{rawInputs, rawSig} {
		if there, err := exists(filepath.Join(raw, name)); err != nil || there {
			return errors.Join(fmt.Errorf("%w: the unfinished claim %s holds %s but no request; look into %q",
				ErrDamaged, id, name, raw), err)
		}
	}
	if err := s.disk.RemoveTree("claim.drop", s.hidden(id)); err != nil {
		return err
	}
	if err := s.disk.SyncDir("claim.drop", s.stateDir(StateClaimed)); err != nil {
		return durable.Uncertain(err)
	}
	return ErrGone
}

// pull renames what belongs to the request out of the inbox. What another user put there under such a name is none of
// it, and stays.
func (s *Spool) pull(in *intent, hidden string, found *Claim) error {
	name := in.name
	stem := strings.TrimSuffix(name, requestSuffix)
	found.Origin = Origin{Inbox: in.inbox.Name, Name: name, ClaimedAt: in.claimedAt}
	if why := badStem(stem); why != "" {
		found.Origin.Name = Quote(name)
		found.Origin.BadName = true
		found.refuse("spool.name", "the name of the request file is not valid: "+why, found.Origin.Name)
	}
	if strings.ContainsAny(name, "/\x00") {
		return nil // no name of a file: nothing belongs to it
	}
	sender, err := s.ownerOf("claim.sender", filepath.Join(hidden, DirRaw), rawRequest)
	if err != nil {
		return err
	}
	for _, c := range []struct{ step, suffix, to, rule string }{
		{"claim.inputs", inputsSuffix, rawInputs, "spool.inputs"},
		{"claim.signature", sigSuffix, rawSig, "spool.signature"},
	} {
		owner, err := s.ownerOf(c.step, in.inbox.Dir, stem+c.suffix)
		if err == nil && !mayAccompany(owner, sender) {
			found.setAside(c.rule, Quote(stem+c.suffix), owner, sender)
			continue
		}
		from := filepath.Join(in.inbox.Dir, stem+c.suffix)
		err = s.disk.Move(c.step, from, filepath.Join(hidden, DirRaw, c.to), false)
		switch {
		case err == nil,
			errors.Is(err, fs.ErrNotExist),
			errors.Is(err, unix.ENAMETOOLONG),
			errors.Is(err, unix.ENOTDIR):
		case errors.Is(err, fs.ErrExist): // taken by an earlier try
		case unmovable(err):
			found.refuse(c.rule, fmt.Sprintf("%s can't be taken out of the inbox: %v",
				Quote(stem+c.suffix), reason(err)), "")
		default:
			return err
		}
	}
	return nil
}

// mayAccompany says whether a file of owner can belong to a request of sender: it is the same user's, or the node's.
func mayAccompany(owner, sender uint32) bool { return owner == sender || int(owner) == os.Geteuid() }

// nobodysUID owns what something else is mounted on.
const nobodysUID = ^uint32(0)

// ownerOf is who owns an entry of a folder.
func (s *Spool) ownerOf(step, dir, name string) (uint32, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	pin, in, err := look(s.disk, step, int(f.Fd()), name)
	if err == nil {
		_ = unix.Close(pin) // it was only looked at
	}
	if in.foreign {
		return nobodysUID, err
	}
	return in.uid, err
}

// unmovable reports whether a rename is refused because of what is to be renamed,
// not for want of something that may come back.
func unmovable(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.EBUSY, unix.EXDEV, unix.EINVAL, unix.ELOOP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reason is the error below the step that failed.
func reason(err error) error {
	var se *durable.StepError
	if errors.As(err, &se) {
		return se.Err
	}
	return err
}
