package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Bounds on what comes along with a request.
const (
	// MaxSignatureBytes bounds a detached signature.
	MaxSignatureBytes = 64 << 10
	// MaxInputDepth bounds how deep folders of inputs nest.
	MaxInputDepth = 8
	// MaxInputName bounds one path element of an input.
	MaxInputName = 200
	// extraEntries is how many folders and specials are read below an
	// inputs folder, above the most inputs that are allowed.
	extraEntries = 256
)

// dropCopies removes what an earlier try of takeIn left.
func (s *Spool) dropCopies(hidden string) error {
	for _, name := range []string{FileRequest, FileSignature, FileClaim} {
		if err := s.disk.Remove("claim.again", filepath.Join(hidden, name)); err != nil {
			return err
		}
	}
	return s.disk.RemoveTree("claim.again", filepath.Join(hidden, DirInputs))
}

// takeIn copies what raw holds to fresh files next to it and notes what it found.
// With timeUp set, a file that is still open for writing is refused; otherwise it
// is ErrBusy. What it wrote is noted in b.
func (s *Spool) takeIn(hidden string, found *Claim, timeUp bool, b *durable.Batch) error {
	raw, err := openDir(filepath.Join(hidden, DirRaw))
	if err != nil {
		return err
	}
	defer unix.Close(raw)
	t := taker{s: s, timeUp: timeUp, found: found, batch: b}
	if err := t.request(raw, hidden); err != nil {
		return err
	}
	if err := t.signature(raw, hidden); err != nil {
		return err
	}
	if err := t.inputs(raw, hidden); err != nil {
		return err
	}
	return t.seizeKept(raw)
}

// seizeKept closes the folders of the raw files that stay, and lists those to drop.
func (t *taker) seizeKept(raw int) error {
	for _, name := range []string{rawRequest, rawInputs, rawSig} {
		if slices.Contains(t.keep, name) {
			left := t.s.o.MaxInputs + extraEntries
			err := t.s.seize(raw, name, &left)
			if err == nil {
				t.found.RawKept = true
				continue
			}
			if !errors.Is(err, errTooMany) {
				return err
			}
			t.found.refuse("spool.inputs.limit",
				fmt.Sprintf("what came along as %s holds more than %d entries, too many to be kept: "+
					"the node removed it", name, t.s.o.MaxInputs+extraEntries), "")
		}
		t.found.RawDrop = append(t.found.RawDrop, name)
	}
	if !t.found.RawKept {
		t.found.RawDrop = nil // all of raw is removed
	}
	return nil
}

// taker takes in one claim.
type taker struct {
	s      *Spool
	timeUp bool
	found  *Claim
	batch  *durable.Batch
	// keep names entries of raw that were not copied whole.
	keep []string
}

func (t *taker) request(raw int, hidden string) error {
	c, in, err := t.copyIn("claim.copy", raw, rawRequest, filepath.Join(hidden, FileRequest), t.s.o.MaxRequestBytes)
	if err != nil {
		return err
	}
	t.found.Origin.UID, t.found.Origin.Size, t.found.Origin.ModTime = in.uid, in.size, in.modTime
	t.found.Size, t.found.SHA256, t.found.HasRequest = c.Size, c.SHA256, in.copied
	for _, d := range in.defects {
		t.found.refuse(d.rule("spool.request."), "the request file "+d.text, in.excerpt)
	}
	t.leftover(in, rawRequest)
	return nil
}

func (t *taker) signature(raw int, hidden string) error {
	if !t.own(raw, rawSig, "spool.signature") {
		return nil
	}
	_, in, err := t.copyIn("claim.copysig", raw, rawSig, filepath.Join(hidden, FileSignature), MaxSignatureBytes)
	if err != nil {
		return err
	}
	t.found.HasSignature = in.copied
	for _, d := range in.defects {
		t.found.refuse("spool.signature", "the signature file "+d.text, in.excerpt)
	}
	t.leftover(in, rawSig)
	return nil
}

// own says whether an entry came along with the request. One that another user put in the place of what was claimed
// does not count.
func (t *taker) own(raw int, name, rule string) bool {
	pin, in, err := look(t.s.disk, "claim.own", raw, name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = unix.Close(pin) // it was only looked at
	if mayAccompany(in.uid, t.found.Origin.UID) {
		return true
	}
	t.found.setAside(rule, name, in.uid, t.found.Origin.UID)
	return false
}

// leftover keeps an entry that was not copied whole as it came. A special is only
// described: whoever looks at it later would hang on it or follow it.
func (t *taker) leftover(in entry, name string) {
	if !in.copied && !in.special {
		t.keep = append(t.keep, name)
	}
}

func openDir(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}
