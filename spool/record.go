package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
)

// Origin is where a job came from.
type Origin struct {
	Inbox string `json:"inbox"`
	// Name is the request's file name, Go-quoted and cut if BadName is set.
	Name      string    `json:"name"`
	BadName   bool      `json:"bad_name,omitempty"`
	ClaimedAt time.Time `json:"claimed_at"`
	// UID owned the file, Size and ModTime were the file's when it was claimed.
	UID     uint32    `json:"uid"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`
}

// Claim is FileClaim: what the claim found. It never changes afterwards.
type Claim struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Origin  Origin `json:"origin"`
	// HasRequest means that the whole request was copied; Size and SHA256 are
	// of the copy.
	HasRequest   bool              `json:"has_request"`
	Size         int64             `json:"size"`
	SHA256       string            `json:"sha256"`
	HasSignature bool              `json:"has_signature"`
	InputFiles   []InputFile       `json:"inputs"`
	Defects      []schemas.Finding `json:"findings,omitempty"`
	// RawKept means that raw/ holds things as they came, because they could not
	// be copied whole. RawDrop names the entries of it that are removed all the
	// same: what was copied whole, and special files.
	RawKept bool     `json:"raw_kept,omitempty"`
	RawDrop []string `json:"raw_drop,omitempty"`
}

// setAside notes that what lies next to a request is another user's. It refuses nothing by itself.
func (r *Claim) setAside(rule, name string, owner, sender uint32) {
	r.refuse(rule, fmt.Sprintf("%s was left in the inbox: it belongs to the user %d, and the request to %d", name,
		owner, sender), "")
	r.Defects[len(r.Defects)-1].Severity = schemas.SeverityWarning
}

// Bytes is how much of the request and its inputs was copied.
func (r *Claim) Bytes() int64 {
	n := r.Size
	for _, f := range r.InputFiles {
		n += f.Size
	}
	return n
}

const (
	claimVersion  = 1
	maxClaimBytes = 64 << 20
	// maxDefects bounds how many findings a claim notes about inputs.
	maxDefects = 100
)

// refuse notes a finding of a rule of the catalogue.
func (r *Claim) refuse(rule, message, excerpt string) {
	f := schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, Message: message, Excerpt: excerpt}
	if def, ok := schemas.RuleByID(rule); ok {
		f.Severity, f.Hint = def.Level, def.Hint
	}
	r.Defects = append(r.Defects, f)
}

// ReadClaim reads FileClaim of the job whose folder is dir. An error that matches
// ErrDamaged means that it is not as the node writes it.
func ReadClaim(dir string) (Claim, error) {
	var r Claim
	name := filepath.Base(dir)
	if !ValidID(name) {
		return r, fmt.Errorf("%w: %s is no job id", ErrDamaged, Quote(name))
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return r, err
	}
	if !fi.IsDir() {
		return r, fmt.Errorf("%w: %s is no folder", ErrDamaged, name)
	}
	fi, err = os.Lstat(filepath.Join(dir, FileClaim))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fmt.Errorf("%w: %s has no %s", ErrDamaged, name, FileClaim)
	case err != nil:
		return r, err
	case !fi.Mode().IsRegular() || fi.Size() > maxClaimBytes:
		return r, fmt.Errorf("%w: %s of %s is not a regular file", ErrDamaged, FileClaim, name)
	}
	data, err := os.ReadFile(filepath.Join(dir, FileClaim))
	if err != nil {
		return r, err
	}
	if err := schemas.DecodeStrict(data, &r); err != nil {
		return Claim{}, fmt.Errorf("%w: %s of %s: %w", ErrDamaged, FileClaim, name, err)
	}
	if r.Version != claimVersion || r.ID != name {
		return Claim{}, fmt.Errorf("%w: %s of %s is of version %d and of job %s",
			ErrDamaged, FileClaim, name, r.Version, Quote(r.ID))
	}
	return r, nil
}

// intent notes which request a claim in progress is about. It is the text of a
// symbolic link, which is there whole or not at all.
type intent struct {
	inbox     Inbox
	name      string // any bytes
	claimedAt time.Time
}

const (
	intentLink = "intent"
	// intentVersion begins the text. Then come, each on a line, the time, the name
	// of the inbox and the length of its path, then the path and the name of the
	// request.
	intentVersion = "1"
	// maxInboxPath bounds the path of an inbox: some filesystems take no more than
	// 1023 bytes as the text of a link.
	maxInboxPath = 512
)

func (in *intent) text() string {
	return strings.Join([]string{intentVersion, in.claimedAt.Format(time.RFC3339Nano), in.inbox.Name,
		strconv.Itoa(len(in.inbox.Dir)), in.inbox.Dir + in.name}, "\n")
}

// parseIntent reads the text of an intent; nil means that it can't be read.
func parseIntent(text string) *intent {
	p := strings.SplitN(text, "\n", 5)
	if len(p) != 5 || p[0] != intentVersion {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, p[1])
	n, nerr := strconv.Atoi(p[3])
	if err != nil || nerr != nil || n < 0 || n >= len(p[4]) {
		return nil
	}
	return &intent{Inbox{p[2], p[4][:n]}, p[4][n:], at}
}

func (in *intent) arrival() Arrival { return Arrival{in.inbox, in.name} }

// readIntent reads the intent of a claim in progress; nil means that there is none
// that can be read.
func readIntent(dir string) (*intent, error) {
	text, err := os.Readlink(filepath.Join(dir, intentLink))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) { // it is no link, or there is none
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIntent(text), nil
}
