// Package orders is how people order something of a node that is served: the form of an order and of
// its answer, whose name and signature count, and why one is refused. spool.Orders is the folder; the gate checks the
// user's group (mayOrder) and carries them out.
package orders

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// Kind is what a person orders of a node.
type Kind string

// The kinds. The gate does what each asks for.
const (
	// Reject ends a quarantined item for good.
	Reject Kind = "quarantine.reject"
	// Release has a quarantined item judged again without the findings that Order.Released names.
	Release Kind = "quarantine.release"
	// Refused notes that a request was not approved or not promoted; the gate only records it.
	Refused Kind = "request.refused"
	// Recall takes back the result that Order.ResultSHA256 names; its subject is the request id.
	Recall Kind = "result.recall"
	// Reissue has the result that Order.ResultSHA256 names rendered again without what Order.Released names; its
	// subject is the request id.
	Reissue Kind = "result.reissue"
	// Cancel ends a request that is not over; its subject is the request id.
	Cancel Kind = "request.cancel"
)

// Namespace is what the signature of an order must be made for.
const Namespace = "threegate-order"

// version is the version of the form of orders and answers.
const version = 1

// Order is one order of a person. Its file is a JSON object of exactly these keys. The sha256 of
// its bytes names it in the ledger, and where it is kept.
type Order struct {
	Version int `json:"order_version"`
	// Name is that of its file while it waits, so that no order can be given under two names.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Subject is the id of what it is about.
	Subject string `json:"subject"`
	// By is the person's name, Reason their words.
	By         string    `json:"by"`
	Reason     string    `json:"reason"`
	OrderedUTC time.Time `json:"ordered_utc"`
	// Released is what a Release says are false alarms.
	Released []schemas.Release `json:"released,omitempty"`
	// ResultSHA256 is the digest of the result that a Recall or Reissue ends.
	ResultSHA256 string `json:"result_sha256,omitempty"`
	// RequestSHA256 is the digest of the request that a Refused is about, Rules are those that refused it. Without
	// a rule a person did.
	RequestSHA256 string   `json:"request_sha256,omitempty"`
	Rules         []string `json:"rules,omitempty"`
}

// Bounds of an order.
const (
	maxName   = 200
	maxReason = 2000
	// MaxReleased is how much one order releases.
	MaxReleased = 200
)

// check says what is wrong with an order, or "".
func (o *Order) check() string {
	switch {
	case o.Version != version:
		return fmt.Sprintf("it has version %d; this node knows %d", o.Version, version)
	case o.Kind == Refused && o.checkRefused() != "":
		return o.checkRefused()
	case o.OfResult() != sha256Hex.MatchString(o.ResultSHA256):
		return "an order about a result, and no other, has the result_sha256 that it ends"
	case o.Kind != Refused && (o.RequestSHA256 != "" || len(o.Rules) > 0):
		return "only the order request.refused has request_sha256 and rules"
	case o.byRules():
		return ""
	case WhoAndWhy(o.By, o.Reason) != "":
		return WhoAndWhy(o.By, o.Reason)
	case (o.Kind == Release || o.Kind == Reissue) != (len(o.Released) > 0):
		return "only an order of release or reissue names findings, and it names one at least"
	case len(o.Released) > MaxReleased:
		return fmt.Sprintf("it releases more than %d findings", MaxReleased)
	}
	return ""
}

// OfResult says whether an order is about a result that CORE got.
func (o *Order) OfResult() bool { return o.Kind == Recall || o.Kind == Reissue }

// WhoAndWhy says what is wrong with the name and the reason of a person who decides something, or "".
func WhoAndWhy(by, reason string) string {
	switch {
	case !plainText(by) || by == "" || len(by) > maxName:
		return "it does not say who gives it: --as is one line of 1 to 200 bytes"
	case !plainText(reason) || strings.TrimSpace(reason) == "" || len(reason) > maxReason:
		return "it does not say why: --reason is one line of 1 to 2000 bytes"
	}
	return ""
}

// plainText reports whether a text is one line without hidden characters.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Answer is what came of an order.
type Answer struct {
	Version int    `json:"answer_version"`
	Order   string `json:"order"`
	// SHA256 is the digest of the order's bytes, as in the ledger.
	SHA256 string `json:"order_sha256,omitempty"`
	// Refused says why nothing was done; it is empty if the order was carried out.
	Refused     string    `json:"refused,omitempty"`
	AnsweredUTC time.Time `json:"answered_utc"`
}

// Receipt tells an order that was given from all others: the name of its file, and the sha256 of its bytes.
type Receipt struct{ Name, SHA256 string }

// maxTries is how many names Give tries: somebody may put things there under the next ones.
const maxTries = 1000

// Give puts an order into the folder of the node in dir. Name, version and time are
// set here. sign makes a signature for Namespace; it may be nil. The file gets the group of the
// quarantine if the caller is in it, else that of an inbox: that shows the node an auditor or an approver.
func Give(dir string, o Order, now time.Time, sign func(order []byte) ([]byte, error), inboxes ...string) (Receipt,
	error) {
	folder := spool.NewOrders(dir, nil)
	folder.Group = memberOf(append([]string{filepath.Join(dir, spool.DirQuarantine)}, inboxes...))
	for tries := 0; ; tries++ {
		var err error
		if o.Name, err = folder.NextName(now, tries); err != nil {
			return Receipt{}, err
		}
		o.Version, o.OrderedUTC = version, now.UTC()
		if why := o.check(); why != "" {
			return Receipt{}, fmt.Errorf("the order: %s", why)
		}
		raw, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			return Receipt{}, err
		}
		raw = append(raw, '\n')
		var sig []byte
		if sign != nil {
			if sig, err = sign(raw); err != nil {
				return Receipt{}, err
			}
		}
		err = folder.Put(o.Name, raw, sig)
		if err == nil || tries == maxTries || !inTheWay(err) {
			return Receipt{o.Name, schemas.SHA256(raw)}, err
		}
	}
}

// inTheWay says whether something lies under a name that an order was to have.
func inTheWay(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrExist, unix.ENOTEMPTY, unix.EISDIR, unix.EPERM},
		func(e error) bool { return errors.Is(err, e) })
}

// memberOf is the group of the first of the folders in whose group the caller is, or 0. Only a member can give a
// file to a group, so that of an order proves it. Root proves nothing by a group.
func memberOf(folders []string) int {
	groups, err := os.Getgroups()
	if err != nil || os.Geteuid() == 0 {
		return 0
	}
	groups = append(groups, os.Getegid())
	for _, folder := range folders {
		fi, err := os.Stat(folder)
		if err != nil {
			continue
		}
		if gid := int(fi.Sys().(*syscall.Stat_t).Gid); slices.Contains(groups, gid) {
			return gid
		}
	}
	return 0
}

// Bytes is the answer as a file.
func (a *Answer) Bytes() ([]byte, error) {
	a.Version = version
	b, err := json.MarshalIndent(a, "", "  ")
	return append(b, '\n'), err
}

// AnswerOf is what came of the order of a digest, or nil while it waits.
func AnswerOf(dir, digest string) (*Answer, error) {
	raw, err := spool.NewOrders(dir, nil).Answer(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var a Answer
	if err == nil {
		err = schemas.DecodeStrict(raw, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer to order %s: %w", digest, err)
	}
	return &a, nil
}

// ReasonOf is the reason of the order of a digest, or "" if the node in dir no longer has the order.
func ReasonOf(dir, digest string) (string, error) {
	raw, err := spool.NewOrders(dir, nil).Kept(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	o, err := Decode(raw)
	return o.Reason, err
}

// Refusal is why an order is not carried out, in words for the person who gave it. It is an error.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// OtherName is why the copy of an order is none.
const OtherName Refusal = "it is the copy of an order that was given under another name"

// Refusef makes a Refusal.
func Refusef(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// Read reads an order that was given. An error is a Refusal.
func Read(given spool.Given) (Order, error) {
	if given.Why != "" {
		return Order{}, Refusef("this is no order: it %s", given.Why)
	}
	o, err := Decode(given.Data)
	if err == nil && o.Name != given.Name {
		return o, OtherName
	}
	return o, err
}

// Decode reads the bytes of an order, under whatever name they lie. An error is a Refusal.
func Decode(raw []byte) (Order, error) {
	var o Order
	if err := schemas.DecodeStrict(raw, &o); err != nil {
		return o, Refusef("it can't be read: %v", err)
	}
	if why := o.check(); why != "" {
		return o, Refusal(why)
	}
	return o, nil
}

// Allowed finds whether a person may give an order, and has signed its bytes where the node wants that.
// An error is a Refusal.
func Allowed(p validate.Policy, by string, raw, sig []byte) error {
	if _, why := p.Forbids(by); why != "" {
		return Refusef("%s %s", spool.Quote(by), why)
	}
	if !p.RequireSignature {
		return nil
	}
	if len(sig) == 0 {
		return Refusef("this node requires a signature of %s, and there is none", spool.Quote(by))
	}
	if err := approval.VerifyFor(Namespace, p.AllowedSigners, by, raw, sig, p.Now); err != nil {
		return Refusef("the signature is not valid for %s: %v", spool.Quote(by), err)
	}
	return nil
}
