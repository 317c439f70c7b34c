package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Artifact is one file to be delivered with a result.
type Artifact struct {
	// RelPath is relative to the artifacts folder.
	RelPath string
	// SourcePath is the file to copy, SHA256 (lower-case hex) what it must be.
	SourcePath string
	SHA256     string
}

// Publisher delivers results into CORE's folder, which may be another mount.
// Delivery has two steps, so that it happens exactly once:
//
//	Stage   copies everything; nothing of it is a result yet
//	        (the caller now records the delivery, durably)
//	Commit  one rename makes the result appear
//
// After a crash a caller that did not record it stages again. One that did calls
// Commit, which does nothing if the result appeared: CORE may have taken it away.
type Publisher struct {
	// Seam is for fault injection.
	Seam Seam
	// Access is who may do what with a delivery.
	Access Access

	coreFolder
}

// Access is to whom what CORE gets belongs. Folders are like files, and can be entered by whoever
// may read them.
type Access struct {
	// UID and GID are owner and group; -1 leaves what the system gives.
	UID, GID int
	// Mode is that of files.
	Mode fs.FileMode
}

// DefaultAccess is for the group of CORE's folder to read.
func DefaultAccess() Access { return Access{UID: -1, GID: -1, Mode: modeOutboundFile} }

func (a Access) owner() *durable.Owner { return &durable.Owner{UID: a.UID, GID: a.GID} }

// dirMode is that of folders: x where there is r.
func (a Access) dirMode() fs.FileMode { return a.Mode | a.Mode&0o444>>2 }

// coreFolder is a folder that CORE reads. It may be another mount.
type coreFolder struct {
	dir string
	// mounted is set if dir was a mount when it was last checked.
	mounted atomic.Bool
}

// ErrAway means that CORE's folder was a mount and is none now. What is put below
// the mount point CORE never sees, and what lies in the mount seems to be gone.
var ErrAway = errors.New("CORE's folder is no longer mounted; mount it again, " +
	"or restart the node if it is to be an ordinary folder from now on")

// present fails while the folder is away.
func (c *coreFolder) present() error {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, c.dir, 0, unix.STATX_BASIC_STATS, &st); err != nil {
		return fmt.Errorf("CORE's folder: %w", &fs.PathError{Op: "statx", Path: c.dir, Err: err})
	}
	switch {
	case st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
		c.mounted.Store(true)
	case c.mounted.Load():
		return fmt.Errorf("%w: %q", ErrAway, c.dir)
	}
	return nil
}

// ErrMoved means that a result was staged in another folder than the one that is
// CORE's now.
var ErrMoved = errors.New("CORE's folder is another one now")

// Bounds of a delivery.
const (
	maxResultBytes   = 64 << 20
	maxArtifactBytes = 1 << 40 // the caller bounds artifacts when it collects them
)

// NewPublisher delivers into dir, for the group of that folder to read. The
// folder need not be there yet: a mount may come later, or hang now.
func NewPublisher(dir string) (*Publisher, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p := &Publisher{Access: DefaultAccess(), coreFolder: coreFolder{dir: abs}}
	go p.present() // notes whether it is a mount
	return p, nil
}

func (p *Publisher) disk() durable.Disk { return durable.Disk{Seam: p.Seam, Owner: p.Access.owner()} }

// Names in CORE's folder.
const (
	ResultPrefix    = "TS-"
	ResultSuffix    = ".md"
	ArtifactsSuffix = ".artifacts"
	StagedSuffix    = ".staged"
)

var resultNameRE = regexp.MustCompile(`^TS-[A-Za-z0-9][A-Za-z0-9._-]{0,220}\.md$`)

func artifactsName(name string) string {
	return strings.TrimSuffix(name, ResultSuffix) + ArtifactsSuffix
}

// check refuses a name that is none of a result, and a folder that is away.
func (p *Publisher) check(name string) error {
	if !resultNameRE.MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("%s is no name of a result", Quote(name))
	}
	return p.present()
}

// ResultPath is where Commit makes the result appear.
func (p *Publisher) ResultPath(name string) string { return filepath.Join(p.dir, name) }

// artifactsPath is where the artifacts of a result lie.
func (p *Publisher) artifactsPath(name string) string {
	return filepath.Join(p.dir, artifactsName(name))
}

func (p *Publisher) stagedPath(name string) string {
	return filepath.Join(p.dir, "."+name+StagedSuffix)
}

// Stage writes the artifacts of the result name ("TS-....md") to their folder
// and the result next to it under a hidden name, all durably. Every artifact must
// have its digest. What an earlier try left is replaced. A result that appeared
// already is an error that matches ErrConflict. After an error nothing is left.
func (p *Publisher) Stage(name string, result []byte, artifacts []Artifact) error {
	if err := p.check(name); err != nil {
		return err
	}
	if len(result) > maxResultBytes {
		return fmt.Errorf("result %s has %d bytes, at most %d can be delivered", name, len(result),
			int64(maxResultBytes))
	}
	if err := p.Discard(name); err != nil {
		return err
	}
	if err := p.stage(name, result, artifacts); err != nil {
		return errors.Join(fmt.Errorf("result %s: %w", name, err), p.Discard(name))
	}
	return nil
}

func (p *Publisher) stage(name string, result []byte, artifacts []Artifact) error {
	var b durable.Batch
	d := p.disk()
	if len(artifacts) > 0 {
		tmp := p.artifactsTemporary(name)
		if err := d.Mkdir("publish.artifacts", tmp, modePrivateDir); err != nil {
			return err
		}
		var err error
		if d.Pinned, err = durable.Pin(tmp); err != nil {
			return err
		}
		defer d.Pinned.Close()
		if err := p.stageArtifacts(d, p.artifactsPath(name), artifacts, &b); err != nil {
			return err
		}
	}
	staged := filepath.Base(p.stagedPath(name))
	if err := d.Write("publish.stage", p.dir, staged, result, p.Access.Mode, &b); err != nil {
		return err
	}
	return d.Sync(&b)
}

// Place tells one folder of CORE's from another: its path and inode.
func (p *Publisher) Place() (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(p.dir, &st); err != nil {
		return "", fmt.Errorf("CORE's folder: %w", &fs.PathError{Op: "stat", Path: p.dir, Err: err})
	}
	return fmt.Sprintf("%s, inode %d", p.dir, st.Ino), nil
}

// Commit makes the result appear, durably, that was staged in place (see Place; ""
// if that is not known). One that appeared already is fine. If there is nothing to
// commit because CORE's folder is another one now, that is ErrMoved: nobody knows
// whether the result appeared in the other.
func (p *Publisher) Commit(name, place string) error {
	if err := p.check(name); err != nil {
		return err
	}
	staged, final := p.stagedPath(name), p.ResultPath(name)
	err := p.disk().Move("publish.commit", staged, final, false)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it appeared before, and whoever made it may have died then
		if here, err := p.Place(); err != nil {
			return err
		} else if place != "" && place != here {
			return fmt.Errorf("%w: result %s was staged in %s; the folder is %s", ErrMoved, name, place, here)
		}
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("result %s: %w: %q", name, ErrConflict, final)
	case err != nil:
		return err
	}
	return durable.Uncertain(p.disk().SyncDir("publish.commit", p.dir))
}

// Discard removes what Stage made of a result that was never committed. One that
// appeared already is an error that matches ErrConflict: its artifacts are CORE's.
func (p *Publisher) Discard(name string) error {
	if err := p.check(name); err != nil {
		return err
	}
	if there, err := exists(p.ResultPath(name)); err != nil || there {
		return errors.Join(fmt.Errorf("result %s: %w: it was delivered", name, ErrConflict), err)
	}
	some := false
	for _, path := range []string{p.artifactsTemporary(name), p.artifactsPath(name), p.stagedPath(name)} {
		if there, err := exists(path); err != nil {
			return err
		} else if !there {
			continue
		}
		some = true
		if err := p.disk().RemoveTree("publish.discard", path); err != nil {
			return err
		}
	}
	if !some {
		return nil
	}
	return p.disk().SyncDir("publish.discard", p.dir)
}

func (p *Publisher) artifactsTemporary(name string) string {
	return filepath.Join(p.dir, durable.Temporary(artifactsName(name)))
}

// stageArtifacts copies the artifacts to the folder that d holds, gives that to CORE and its name to it.
func (p *Publisher) stageArtifacts(d durable.Disk, final string, artifacts []Artifact, b *durable.Batch) error {
	tmp := d.Pinned.Path
	made := []string{tmp}
	for i, a := range artifacts {
		same := func(b Artifact) bool { return b.RelPath == a.RelPath }
		if !fs.ValidPath(a.RelPath) || a.RelPath == "." || slices.ContainsFunc(artifacts[:i], same) {
			return fmt.Errorf("artifact %s: not a path of its own below the artifacts folder", Quote(a.RelPath))
		}
		for _, dir := range parents(a.RelPath) {
			full := filepath.Join(tmp, dir)
			if slices.Contains(made, full) {
				continue
			}
			if err := d.Mkdir("publish.artifacts", full, modePrivateDir); err != nil {
				return err
			}
			made = append(made, full)
		}
		if err := p.copyArtifact(d, filepath.Join(tmp, a.RelPath), a); err != nil {
			return fmt.Errorf("artifact %s: %w", Quote(a.RelPath), err)
		}
		b.File("publish.artifact", filepath.Join(final, a.RelPath))
	}
	for _, dir := range slices.Backward(made) { // inner ones first: nobody can reach them yet
		if err := d.Give("publish.artifacts", dir, p.Access.dirMode()); err != nil {
			return err
		}
		b.Dir("publish.artifacts", final+strings.TrimPrefix(dir, tmp))
	}
	if err := d.Move("publish.artifacts", tmp, final, false); err != nil {
		return err
	}
	d.Pinned.Path = final
	return nil
}

func (p *Publisher) copyArtifact(d durable.Disk, dst string, a Artifact) error {
	f, err := durable.OpenRegular(a.SourcePath)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := d.Copy("publish.artifact", dst, p.Access.Mode, f, maxArtifactBytes)
	if err == nil && c.SHA256 != a.SHA256 {
		err = fmt.Errorf("%w: its source has digest %s instead of %s", ErrDamaged, c.SHA256, a.SHA256)
	}
	return err
}

// parents are the folders above a path, outermost first.
func parents(rel string) []string {
	var ps []string
	for d := path.Dir(rel); d != "."; d = path.Dir(d) {
		ps = append(ps, d)
	}
	slices.Reverse(ps)
	return ps
}

// Probe makes a file and a folder with a file in CORE's folder as a delivery has them, under hidden
// names, and calls try with their paths. It removes what try leaves.
func (p *Publisher) Probe(try func(file, folder, inner string)) error {
	if err := p.present(); err != nil {
		return err
	}
	name := "threegate-doctor-" + rand.Text()
	file, folder := filepath.Join(p.dir, durable.Temporary(name)), filepath.Join(p.dir, durable.Temporary(name+".d"))
	inner := filepath.Join(folder, "file")
	d := p.disk()
	_, err := d.Copy("probe", file, p.Access.Mode, strings.NewReader("probe\n"), 64)
	if err == nil {
		err = d.Mkdir("probe", folder, modePrivateDir)
	}
	if err == nil {
		d.Pinned, err = durable.Pin(folder)
	}
	if err == nil {
		defer d.Pinned.Close()
		_, err = d.Copy("probe", inner, p.Access.Mode, strings.NewReader("probe\n"), 64)
	}
	if err == nil {
		err = d.Give("probe", folder, p.Access.dirMode())
	}
	if err == nil {
		try(file, folder, inner)
	}
	return errors.Join(err, p.disk().Remove("probe", file), p.disk().RemoveTree("probe", folder))
}
