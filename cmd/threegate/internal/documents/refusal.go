package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/schemas"
)

// RefusalReason is what a person said who refused a request, in the file that review left next to it.
func RefusalReason(data []byte) (string, error) {
	r, err := parseRefusal(data)
	return fmt.Sprintf("%.*s", maxReason, r.Reason), err
}

// refusedSuffix is what the name of a refusal has behind that of its request.
const refusedSuffix = ".refused"

// Bounds of a refusal.
const (
	maxRefusalBytes = 64 << 10
	maxReason       = 2000
)

// refusal says that a person read a request and does not approve it.
type refusal struct {
	Version       int       `json:"version"`
	RequestID     string    `json:"request_id"`
	RequestSHA256 string    `json:"request_sha256"` // of the bytes that were read
	RefusedBy     string    `json:"refused_by"`
	RefusedUTC    time.Time `json:"refused_utc"`
	Reason        string    `json:"reason"`
}

func (r refusal) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(r)
	return b.Bytes(), err
}

func parseRefusal(data []byte) (refusal, error) {
	var r refusal
	if len(data) > maxRefusalBytes {
		return r, errors.New("it is too long")
	}
	if err := schemas.DecodeStrict(data, &r); err != nil || r.Version != 1 || r.RefusedUTC.IsZero() {
		return r, errors.Join(errors.New("it is not a refusal as review writes it"), err)
	}
	return r, nil
}

// refusedAfterApproval is a fault if a person refused the request of a file after it was approved. What
// can't be read counts as a refusal.
func refusedAfterApproval(file string, request *schemas.Request) error {
	data, err := bundle.ReadDocument(file+refusedSuffix, false, maxRefusalBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	const hint = "review it again; an approval that is later than the refusal counts: threegate review FILE"
	if err != nil {
		return cli.Troublef(err, hint, "can't read the refusal %s", file+refusedSuffix)
	}
	r, err := parseRefusal(data)
	if err != nil {
		return cli.Troublef(err, hint, "can't read the refusal %s", file+refusedSuffix)
	}
	if request.ApprovedUTC.After(r.RefusedUTC) {
		return nil
	}
	return cli.Rejectf("", hint, "%s was refused by %s after its approval, on %s: %s", file, r.RefusedBy,
		r.RefusedUTC.Format(time.RFC3339), fmt.Sprintf("%.*s", maxReason, r.Reason))
}
