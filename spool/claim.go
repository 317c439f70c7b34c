package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/internal/durable"
)

// A claim in the making is the hidden folder spool/claimed/.JOB:
//
//	intent.json   which request is meant; written first
//	raw/          what was renamed out of the inbox, untouched
//	request.md request.sig inputs/   copies on fresh inodes
//	job.json      what was found; written last
//
// Renaming .JOB to JOB ends the claim. Until then raw/ is whole, so a claim that
// was cut off at any point is finished by making the copies again.
const (
	intentFile = "intent.json"
	jobFile    = "job.json"
	rawDir     = "raw"
	rawRequest = "request.md"
	rawInputs  = "inputs"
	rawSig     = "request.sig"
)

// Files of a job that the spool writes.
const (
	FileRequest   = "request.md"
	FileSignature = "request.sig"
	DirInputs     = "inputs"
)

// intent says what a half-done claim is about.
type intent struct {
	Version int    `json:"version"`
	Inbox   string `json:"inbox"`
	Dir     string `json:"dir"`
	// Name is quoted: it may hold any byte.
	Name      string    `json:"name"`
	ClaimedAt time.Time `json:"claimed_at"`
}

const intentVersion = 1

func (in *intent) arrival() Arrival {
	name, err := strconv.Unquote(in.Name)
	if err != nil {
		name = in.Name
	}
	return Arrival{Inbox{in.Inbox, in.Dir}, name}
}

// Arrival is a request that waits to be claimed.
type Arrival struct {
	Inbox Inbox
	// Name is the name in the inbox, any bytes. A half-done claim that is to be
	// gone on with has a dot and its job id here, which no request can have.
	Name string
}

// Claim takes one request out of its inbox, copies its bytes to files of the
// node's own and returns it as a job in StateClaimed. What is wrong with its
// files does not fail the claim: the job carries it as findings.
//
// It fails with ErrGone if the request is no longer there. An error that matches
// ErrStuck concerns this one alone: it is still open for writing (ErrBusy too), or
// can't be taken in now (a ClaimError); Stuck lists it and Pending offers it again
// when its time has come. Any other error, ErrNoSpace first of all, is trouble of
// the node: the request waits, and the caller should too.
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
		s.settled(a)
		return nil, err
	case unmovable(err):
		return nil, s.noteStuck(a, err)
	case err != nil: // trouble of the node's own
		s.putBack(a)
		return nil, err
	}
	return s.goOn(id, a)
}

// room says whether a request may be taken in.
func (s *Spool) room() error { return Room(s.stateDir(StateClaimed), s.o.MinFreeBytes) }

// Room says whether the filesystem of dir has room for another request, minFree
// bytes and some inodes; ErrNoSpace says that it has not.
func Room(dir string, minFree uint64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("looking for free space: %w", err)
	}
	if free := st.Bavail * uint64(st.Bsize); free < minFree || (st.Files > 0 && st.Ffree < minFreeInodes) {
		return fmt.Errorf("%w: %d bytes and %d inodes are free, %d bytes and %d inodes must be", ErrNoSpace, free, st.Ffree, minFree, minFreeInodes)
	}
	return nil
}

// minFreeInodes is how many files must still fit for a claim.
const minFreeInodes = 1024

// begin makes .JOB with its intent and renames the request into it. On return
// without an error the request is the node's; with one it is where it was, or,
// if that is unknown, recovery finds out.
func (s *Spool) begin(a Arrival) (string, error) {
	if strings.ContainsAny(a.Name, "/\x00") || !IsRequestName(a.Name) {
		return "", fmt.Errorf("%s is no name of a request", Quote(a.Name))
	}
	from := filepath.Join(a.Inbox.Dir, a.Name)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return "", ErrGone // cheap for the loser of a race
	}
	claimed := time.Now().UTC()
	id := s.ids.next(claimed)
	hidden := s.hidden(id)
	data, err := json.Marshal(intent{intentVersion, a.Inbox.Name, a.Inbox.Dir, strconv.QuoteToASCII(a.Name), claimed})
	if err != nil {
		return "", err
	}
	for _, step := range []func() error{
		func() error { return s.disk.Mkdir("claim.job", hidden, modePrivateDir) },
		func() error { return s.disk.Mkdir("claim.raw", filepath.Join(hidden, rawDir), modePrivateDir) },
		func() error {
			return s.disk.WriteFile("claim.intent", hidden, intentFile, data, modePrivateFile, durable.Keep)
		},
		func() error { return s.disk.SyncDir("claim.job", filepath.Dir(hidden)) },
		func() error {
			return s.disk.Move("claim.request", from, filepath.Join(hidden, rawDir, rawRequest), false)
		},
	} {
		if err = step(); err != nil {
			break
		}
	}
	if err == nil {
		return id, nil
	}
	if taken, lookErr := exists(filepath.Join(hidden, rawDir, rawRequest)); taken || lookErr != nil {
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

func (s *Spool) hidden(id string) string { return filepath.Join(s.stateDir(StateClaimed), "."+id) }

// finish goes on with a half-done claim from wherever it stands. It is the
// second half of every claim, and all of recovery.
func (s *Spool) finish(id string, late bool) (*Job, error) {
	hidden, dst := s.hidden(id), filepath.Join(s.stateDir(StateClaimed), id)
	if done, err := exists(dst); err != nil {
		return nil, err
	} else if done { // only the last sync had failed
		return s.finished(id, dst)
	}
	raw := filepath.Join(hidden, rawDir)
	taken, err := exists(filepath.Join(raw, rawRequest))
	if err != nil {
		return nil, err
	}
	if !taken {
		return s.withoutRaw(id, hidden, dst)
	}
	in, err := readIntent(hidden)
	if err != nil {
		return nil, err
	}
	found := jobRecord{Version: jobVersion, ID: id}
	if in == nil {
		found.refuse("spool.job.damaged", "the node's own note of where the request came from can't be read", "")
		found.Origin.ClaimedAt = time.Now().UTC()
	} else if err := s.pull(in, hidden, &found); err != nil {
		return nil, err
	}
	if err := s.disk.SyncDir("claim.raw", raw); err != nil {
		return nil, err
	}
	if in != nil {
		// A vanished inbox has nothing left to be made durable.
		if err := s.disk.SyncDir("claim.inbox", in.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := s.takeIn(hidden, &found, late); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := s.disk.WriteFile("claim.record", hidden, jobFile, append(data, '\n'), modePrivateFile, durable.Replace); err != nil {
		return nil, err
	}
	if err := s.disk.Rename("claim.commit", hidden, dst, false); err != nil {
		return nil, err
	}
	j := s.newJob(StateClaimed, found)
	s.tryTidy(j)
	return j, nil
}

// finished returns a claim whose last rename had happened before.
func (s *Spool) finished(id, dir string) (*Job, error) {
	if err := s.disk.SyncDir("claim.commit.again", filepath.Dir(dir)); err != nil {
		return nil, err
	}
	j, err := s.load(StateClaimed, id)
	if err == nil && j.Damage == nil {
		s.tryTidy(j)
	}
	return j, err
}

// withoutRaw ends a claim in the making whose raw holds no request. If its record
// is there it was complete, and a power cut took back the last rename but not the
// removal of raw; otherwise it never got its request.
func (s *Spool) withoutRaw(id, hidden, dst string) (*Job, error) {
	there, err := exists(filepath.Join(hidden, jobFile))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, s.dropEmpty(id)
	}
	if err := s.disk.Rename("claim.commit", hidden, dst, false); err != nil {
		return nil, err
	}
	return s.load(StateClaimed, id)
}

// dropEmpty ends a claim that never got its request: it is still in the inbox
// or another node has it.
func (s *Spool) dropEmpty(id string) error {
	raw := filepath.Join(s.hidden(id), rawDir)
	for _, name := range []string{rawInputs, rawSig} {
		if there, err := exists(filepath.Join(raw, name)); err != nil || there {
			return errors.Join(fmt.Errorf("%w: half-done claim %s holds %s but no request; look into %q", ErrDamaged, id, name, raw), err)
		}
	}
	if err := s.disk.RemoveTree("claim.drop", s.hidden(id)); err != nil {
		return err
	}
	if err := s.disk.SyncDir("claim.drop", s.stateDir(StateClaimed)); err != nil {
		return err
	}
	return ErrGone
}

// pull renames what belongs to the request out of the inbox.
func (s *Spool) pull(in *intent, hidden string, found *jobRecord) error {
	name, err := strconv.Unquote(in.Name)
	if err != nil {
		return fmt.Errorf("%w: intent of %s: name: %w", ErrDamaged, found.ID, err)
	}
	stem := strings.TrimSuffix(name, requestSuffix)
	found.Origin = Origin{Inbox: in.Inbox, Name: name, ClaimedAt: in.ClaimedAt}
	if why := badStem(stem); why != "" {
		found.Origin.Name = Quote(name)
		found.Origin.BadName = true
		found.refuse("spool.name", "the name of the request file is not valid: "+why, found.Origin.Name)
	}
	if strings.ContainsAny(name, "/\x00") {
		return nil // no name of a file: nothing belongs to it
	}
	for _, c := range []struct{ step, suffix, to, rule string }{
		{"claim.inputs", inputsSuffix, rawInputs, "spool.inputs"},
		{"claim.signature", sigSuffix, rawSig, "spool.signature"},
	} {
		from := filepath.Join(in.Dir, stem+c.suffix)
		err := s.disk.Move(c.step, from, filepath.Join(hidden, rawDir, c.to), false)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.ENOTDIR):
		case errors.Is(err, fs.ErrExist): // taken by an earlier try
		case unmovable(err):
			found.refuse(c.rule, fmt.Sprintf("%s can't be taken out of the inbox: %v", Quote(stem+c.suffix), reason(err)), "")
		default:
			return err
		}
	}
	return nil
}

// tidy removes what only a claim in the making needs: raw, or, if it is kept,
// what in it needs not be.
func (s *Spool) tidy(j *Job) error {
	raw := j.Path(rawDir)
	targets := []string{raw}
	if j.rec.RawKept {
		targets = nil
		for _, name := range j.rec.RawDrop {
			targets = append(targets, filepath.Join(raw, filepath.Base(name)))
		}
	}
	for _, p := range targets {
		if there, err := exists(p); err == nil && !there {
			continue
		}
		if err := s.disk.RemoveTree("claim.tidy", p); err != nil {
			return err
		}
	}
	return nil
}

// tryTidy leaves to the next step of the job what fails now.
func (s *Spool) tryTidy(j *Job) {
	if err := s.tidy(j); err != nil {
		s.log.Warn("a claimed job keeps for now what it no longer needs", "job", j.ID, "err", err)
	}
}

// readIntent reads the intent of a half-done claim; nil means unreadable.
func readIntent(hidden string) (*intent, error) {
	data, err := os.ReadFile(filepath.Join(hidden, intentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var in intent
	if strictJSON(data, &in) != nil || in.Version != intentVersion {
		return nil, nil
	}
	return &in, nil
}

// unmovable says that a rename is refused because of what is to be renamed, not
// for want of something that may come back.
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

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
