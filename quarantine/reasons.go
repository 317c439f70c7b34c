package quarantine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/threegate/tool-exec/schemas"
)

// Names of the reason files in an item's folder.
const (
	FileJSON     = "reasons.json"
	FileMarkdown = "REASONS.md"
)

// Version is the version of reasons.json that this build writes and reads.
const Version = 1

// Stage says when an item was refused. It is persisted; an unknown one is an
// error.
type Stage string

// The stages.
const (
	StageClaim    Stage = "claim"    // the files in the inbox were not in order
	StageValidate Stage = "validate" // the request broke a rule
	StageResult   Stage = "result"   // it ran; its result broke a rule
	StageRecovery Stage = "recovery" // the node found its own folder damaged
)

func (s Stage) known() bool {
	switch s {
	case StageClaim, StageValidate, StageResult, StageRecovery:
		return true
	}
	return false
}

// Bounds of the reason files.
const (
	maxFindings    = 1000    // written to reasons.json
	maxReasonBytes = 8 << 20 // read back
	maxText        = 1000    // bytes of one hostile text
)

// Reasons is why an item was refused, and what is known of it.
type Reasons struct {
	Version int `json:"version"`
	// Item is the item's id: the name of its folder.
	Item string       `json:"item"`
	Kind schemas.Kind `json:"kind"`
	// Stage is StageValidate for a request and StageResult for a result if it
	// is left empty.
	Stage Stage `json:"stage"`
	// RequestID is empty if the request could not be read so far.
	RequestID string `json:"request_id,omitempty"`
	// OriginalName is the file's name in the inbox; an invalid one is quoted.
	OriginalName string `json:"original_name"`
	Inbox        string `json:"inbox"`
	// SHA256 is the digest of the request, or empty if no whole copy was taken;
	// Size is its size in the inbox.
	SHA256     string    `json:"sha256,omitempty"`
	Size       int64     `json:"size"`
	ApprovedBy string    `json:"approved_by,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
	RefusedAt  time.Time `json:"refused_at"`
	// Findings are all of them, the ones that did not refuse included.
	Findings []schemas.Finding `json:"findings"`
	// Omitted counts findings above the bound, which were left out.
	Omitted int `json:"omitted,omitempty"`
	// Releasable are those of Findings that a person may release.
	Releasable []Releasable `json:"releasable,omitempty"`
}

// Releasable is a finding that a person may release.
type Releasable struct {
	// Finding is its number in Reasons.Findings, from 1.
	Finding int `json:"finding"`
	schemas.Release
}

// MayRelease says whether a person may release an item that these findings refuse.
func MayRelease(fs []schemas.Finding) bool {
	n := 0
	for _, f := range fs {
		if f.Severity == schemas.SeverityBlocking && f.Span == "" {
			return false
		} else if f.Severity == schemas.SeverityBlocking {
			n++
		}
	}
	return n > 0 && len(fs) <= maxFindings
}

// MayRelease says whether a person may release the item: whether each finding that refused it may be.
func (r *Reasons) MayRelease() bool {
	return len(r.Releasable) > 0 && r.Omitted == 0 && r.Unreleasable() == 0
}

// Unreleasable is the number of the first finding that refused the item and can't be released, or 0.
func (r *Reasons) Unreleasable() int {
	may := map[int]bool{}
	for _, x := range r.Releasable {
		may[x.Finding] = true
	}
	for i, f := range r.Findings {
		if f.Severity == schemas.SeverityBlocking && !may[i+1] {
			return i + 1
		}
	}
	return 0
}

// Encode returns the two reason files. Hostile text in them is bounded and
// inert; reasons.json is plain ASCII.
func (r Reasons) Encode() (jsonFile, markdown []byte, err error) {
	r.Version = Version
	if r.Stage == "" {
		r.Stage = StageValidate
		if r.Kind == schemas.KindResult {
			r.Stage = StageResult
		}
	}
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	if n := len(r.Findings); n > maxFindings {
		r.Findings, r.Omitted = r.Findings[:maxFindings:maxFindings], r.Omitted+n-maxFindings
	}
	r.Releasable = nil
	for i, f := range r.Findings {
		if f.Severity == schemas.SeverityBlocking {
			for _, x := range f.Releases() {
				r.Releasable = append(r.Releasable, Releasable{i + 1, x})
			}
		}
	}
	bounded := make([]schemas.Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Message, f.Hint, f.Excerpt = cut(f.Message), cut(f.Hint), cut(f.Excerpt)
		bounded[i] = f
	}
	r.Findings = bounded
	r.OriginalName, r.RequestID, r.ApprovedBy = cut(r.OriginalName), cut(r.RequestID), cut(r.ApprovedBy)
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, nil, fmt.Errorf("encoding reasons of %s: %w", r.Item, err)
	}
	return ascii(append(raw, '\n')), r.markdown(), nil
}

func (r Reasons) check() error {
	if r.Kind != schemas.KindRequest && r.Kind != schemas.KindResult {
		return fmt.Errorf("reasons of %s: unknown kind %q", r.Item, r.Kind)
	}
	if !r.Stage.known() {
		return fmt.Errorf("reasons of %s: unknown stage %q", r.Item, r.Stage)
	}
	if r.Item == "" {
		return errors.New("reasons without an item")
	}
	last := 0
	for _, x := range r.Releasable {
		if x.Finding < max(1, last) || x.Finding > len(r.Findings) || r.Findings[x.Finding-1].Rule != x.Rule {
			return fmt.Errorf("reasons of %s: no finding %d can be released", r.Item, x.Finding)
		}
		last = x.Finding
	}
	return nil
}

// Decode reads a reasons.json strictly: one value, no unknown key, a version
// and values that this build knows.
func Decode(data []byte) (Reasons, error) {
	var r Reasons
	if err := schemas.DecodeStrict(data, &r); err != nil {
		return Reasons{}, fmt.Errorf("%s: %w", FileJSON, err)
	}
	if r.Version != Version {
		return Reasons{}, fmt.Errorf("%s: version %d is not known; this build reads %d", FileJSON, r.Version, Version)
	}
	if err := r.check(); err != nil {
		return Reasons{}, fmt.Errorf("%s: %w", FileJSON, err)
	}
	return r, nil
}

// cut bounds a text at a character's end.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " [cut]"
}

// ascii escapes all that is not ASCII in a JSON text. The encoder has escaped
// control characters and made invalid bytes U+FFFD before.
func ascii(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for _, r := range string(doc) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		}
	}
	return out
}

// NotReleasable says why a person can't release the wanted findings of an item, or "".
func (r *Reasons) NotReleasable(wanted []schemas.Release) string {
	if n := r.Unreleasable(); n > 0 {
		rule, _ := schemas.RuleByID(r.Findings[n-1].Rule)
		why := fmt.Sprintf("finding %d, %s, is none that a person can release", n, r.Findings[n-1].Rule)
		if rule.Hint != "" {
			why += ". To mend it: " + rule.Hint
		}
		return why
	}
	if r.Omitted > 0 {
		return fmt.Sprintf("it has %d findings that are not listed", r.Omitted)
	}
	listed := map[schemas.Release]bool{}
	for _, x := range r.Releasable {
		rule, _ := schemas.RuleByID(x.Rule)
		listed[x.Release] = rule.Release != ""
	}
	for _, w := range wanted {
		if !listed[w] {
			return fmt.Sprintf("the item was not refused by rule %q for bytes of sha256 %q", w.Rule, w.SHA256)
		}
	}
	return ""
}
