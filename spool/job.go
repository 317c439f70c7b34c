package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// Files of a job that the spool writes.
const (
	FileClaim     = "job.json" // what the claim found; see Claim
	FileRequest   = "request.md"
	FileSignature = "request.sig"
	DirInputs     = "inputs"
	// DirRaw holds what could not be copied whole, as it came. It is hostile.
	DirRaw = "raw"
)

// RuleDamaged is the rule about a folder that is no sound job.
const RuleDamaged = "spool.job.damaged"

// Job is one job: a folder of the node's own. It belongs to one goroutine at a time.
type Job struct {
	// ID is 27 characters that sort by time of claim.
	ID    string
	State State
	// Origin tells where the job came from.
	Origin Origin
	// SHA256 is the lower-case hex digest of the request, or "" if there is no
	// whole copy of it.
	SHA256 string
	// Damage is set if the folder is not as the node writes it. Such a job can
	// only be quarantined; nothing but ID, State and Path counts.
	Damage error

	rec   Claim
	s     *Spool
	dir   string
	batch durable.Batch // what was written and is not durable yet
}

func (s *Spool) newJob(st State, r Claim) *Job {
	dir := filepath.Join(s.stateDir(st), r.ID)
	return &Job{ID: r.ID, State: st, Origin: r.Origin, SHA256: r.SHA256, rec: r, s: s, dir: dir}
}

// Findings is what was wrong with the files in the inbox. Any of them refuses
// the request.
func (j *Job) Findings() []schemas.Finding { return slices.Clone(j.rec.Defects) }

// Inputs are the files that came along, sorted by path. They lie below
// Path("inputs") under their path without "/in".
func (j *Job) Inputs() []InputFile { return slices.Clone(j.rec.InputFiles) }

// Bytes is how much of the request and its inputs was copied.
func (j *Job) Bytes() int64 { return j.rec.Bytes() }

// InputHashes maps "/in/..." to its lower-case hex SHA-256.
func (j *Job) InputHashes() map[string]string {
	m := make(map[string]string, len(j.rec.InputFiles))
	for _, f := range j.rec.InputFiles {
		m[f.Path] = f.SHA256
	}
	return m
}

// Request returns the bytes of the request. They are checked against the digest
// taken at the claim; an error that matches ErrDamaged means that they changed,
// or that there was no whole copy (Findings tells why).
func (j *Job) Request() ([]byte, error) {
	if j.Damage != nil {
		return nil, j.Damage
	}
	if !j.rec.HasRequest {
		return nil, fmt.Errorf("%w: %s holds no copy of the request", ErrDamaged, j.ID)
	}
	data, err := j.ReadFile(FileRequest, j.rec.Size)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != j.SHA256 {
		return nil, fmt.Errorf("%w: %s of %s is not what was claimed", ErrDamaged, FileRequest, j.ID)
	}
	return data, nil
}

// Signature returns the detached signature, or nil if none came along.
func (j *Job) Signature() ([]byte, error) {
	if !j.rec.HasSignature {
		return nil, nil
	}
	return j.ReadFile(FileSignature, MaxSignatureBytes)
}

// Path is the path of the job's folder, or of something in it.
func (j *Job) Path(elem ...string) string {
	return filepath.Join(append([]string{j.dir}, elem...)...)
}

// ReadFile reads a file of the job of at most limit bytes. One that is not there
// is an error that matches fs.ErrNotExist.
func (j *Job) ReadFile(name string, limit int64) ([]byte, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(j.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s of %s has more than %d bytes", name, j.ID, limit)
	}
	return data, nil
}

// WriteFile writes a file of the job, replacing one of that name in one step. It
// is durable after Sync; until then a power cut may leave it empty or torn.
func (j *Job) WriteFile(name string, data []byte) error {
	if err := plainName(name); err != nil {
		return err
	}
	if name == FileClaim || name == FileRequest {
		return fmt.Errorf("%s of a job never changes", name)
	}
	return j.s.disk.Write("job."+name, j.dir, name, data, modeGroupFile, &j.batch)
}

// Wrote notes that somebody else wrote files or trees of these names into the
// job's folder, or nothing: Sync makes them durable too.
func (j *Job) Wrote(names ...string) error {
	j.batch.Dir("job.wrote", j.dir)
	for _, name := range names {
		err := filepath.WalkDir(j.Path(name), func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.IsDir():
				j.batch.Dir("job."+name, path)
			case e.Type().IsRegular():
				j.batch.File("job."+name, path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file or tree of the job.
func (j *Job) Remove(name string) error {
	if err := plainName(name); err != nil {
		return err
	}
	j.batch.Dir("job.remove", j.dir)
	return j.s.disk.RemoveTree("job."+name, j.Path(name))
}

// Sync makes durable what was written into the job's folder. Whoever tells anybody
// of it, the ledger first of all, calls Sync before. An error matches ErrUncertain:
// the caller must stop.
func (j *Job) Sync() error { return durable.Uncertain(j.s.disk.Sync(&j.batch)) }

// Move takes the job one step further, to the state to: Sync, one rename, and a
// sync of both folders. On return it is durable, or the error says that it did not
// happen. After an error that matches ErrUncertain the caller must stop.
func (j *Job) Move(to State) error {
	if to == StateDelivered {
		return fmt.Errorf("%w: a job is archived by Archive", ErrTransition)
	}
	return j.move(to, j.s.stateDir(to))
}

// Archive is Move to archive/YYYY/MM, by the UTC month of at.
func (j *Job) Archive(at time.Time) error {
	if j.Damage != nil {
		return j.Damage
	}
	dir := j.s.path(DirArchive)
	for _, part := range []string{at.UTC().Format("2006"), at.UTC().Format("01")} {
		if err := j.s.ensureDir(dir, part); err != nil {
			return err
		}
		dir = filepath.Join(dir, part)
	}
	return j.move(StateDelivered, dir)
}

func (j *Job) move(to State, dir string) error {
	legal := j.State.MayBecome(to)
	if j.Damage != nil {
		legal = to == StateRequestRefused || to == StateResultRefused
	}
	if !legal {
		return fmt.Errorf("%w: job %s can't go from %s to %q", ErrTransition, j.ID, j.State, string(to))
	}
	if err := j.Tidy(); err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return err
	}
	dst := filepath.Join(dir, j.ID)
	if err := j.s.disk.Rename("move."+string(to), j.dir, dst); err != nil {
		return err
	}
	j.dir, j.State = dst, to
	return nil
}

// ensureDir makes a folder durably unless it is there.
func (s *Spool) ensureDir(parent, name string) error {
	p := filepath.Join(parent, name)
	s.mu.Lock()
	made := s.months[p]
	s.mu.Unlock()
	if there, err := exists(p); err != nil || there && made {
		return err
	} else if !there {
		if err := s.disk.Mkdir("archive.month", p, modeGroupDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// One that an earlier process made may not be durable.
	if err := s.disk.SyncDir("archive.month", parent); err != nil {
		return durable.Uncertain(err)
	}
	s.mu.Lock()
	s.months[p] = true
	s.mu.Unlock()
	return nil
}

func plainName(name string) error {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%s is no name of a file of a job", Quote(name))
	}
	return nil
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Jobs returns the jobs in a state in order of arrival. What lies there and is no
// sound job is returned with Damage set, never skipped; what is no folder of a
// job at all becomes the entry "found" of a new one.
func (s *Spool) Jobs(st State) ([]*Job, error) {
	names, err := s.entries(st)
	if err != nil {
		return nil, err
	}
	jobs := make([]*Job, 0, len(names))
	for _, n := range names {
		fi, err := os.Lstat(filepath.Join(s.stateDir(st), n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went on meanwhile
		}
		if err == nil && (!ValidID(n) || !fi.IsDir()) {
			n, err = s.wrap(st, n)
		}
		if err != nil {
			return nil, err
		}
		j, err := s.load(st, n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Refused returns a job in quarantine; fs.ErrNotExist if it is not there. What is no sound job has
// Damage set.
func (s *Spool) Refused(id string) (*Job, error) {
	for _, st := range []State{StateRequestRefused, StateResultRefused} {
		if j, err := s.load(st, id); ValidID(id) && !errors.Is(err, fs.ErrNotExist) {
			return j, err
		}
	}
	return nil, fs.ErrNotExist
}

// entries lists the names in the folder of a state, without claims in progress.
func (s *Spool) entries(st State) ([]string, error) {
	if !slices.Contains(States, st) {
		return nil, fmt.Errorf("%q is no state of a job in progress", string(st))
	}
	es, err := os.ReadDir(s.stateDir(st))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range es {
		if st == StateClaimed && isHidden(e.Name()) {
			continue
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// isHidden reports whether name is that of a claim in progress.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") && ValidID(name[1:]) }

// load reads a job. Only trouble that may pass is an error.
func (s *Spool) load(st State, name string) (*Job, error) {
	r, err := ReadClaim(filepath.Join(s.stateDir(st), name))
	if errors.Is(err, ErrDamaged) {
		j := s.newJob(st, Claim{ID: name})
		j.Damage = err
		return j, nil
	}
	if err != nil {
		return nil, err
	}
	return s.newJob(st, r), nil
}

// wrapped is the name of an entry that was found where only jobs may lie.
const wrapped = "found"

// wrap makes a stray entry of a state folder the content of a new, damaged job,
// so that it can be handled as one. A crash in between leaves an empty one.
func (s *Spool) wrap(st State, name string) (id string, err error) {
	id = s.ids.next(time.Now())
	dir := filepath.Join(s.stateDir(st), id)
	if err := s.disk.Mkdir("stray", dir, modePrivateDir); err != nil {
		return "", err
	}
	if err := s.disk.Rename("stray", filepath.Join(s.stateDir(st), name), filepath.Join(dir, wrapped)); err != nil {
		return "", err
	}
	s.log.Warn("something that is no job lay among the jobs",
		"state", st, "name", fmt.Sprint(Quote(name)), "now", id)
	return id, nil
}
