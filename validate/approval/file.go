package approval

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"
)

// Blocks of an approval, as it lies next to a request in an inbox: the signature of the request as
// ssh-keygen writes it; if there is a plan, that and its signature; for each further approver their name and
// their signature of the request.
const (
	blockSignature = "SSH SIGNATURE"
	blockPlan      = "THREEGATE PLAN"
	blockApprover  = "THREEGATE APPROVER"
)

// MaxApprovers bounds how many persons approve one request.
const MaxApprovers = 16

// Approval is what a signature file of an inbox holds.
type Approval struct {
	Signature []byte
	// Plan and PlanSignature are both there, or neither.
	Plan, PlanSignature []byte
	// Also are the approvers after the first one, in the order of the file.
	Also []Cosigner
}

// Cosigner is an approver whom the request itself does not name, with a signature over its bytes.
type Cosigner struct {
	Name      string
	Signature []byte
}

var cosignerName = regexp.MustCompile(`^[\pL\pN][\pL\pN\pM._@+-]*$`)

// maxCosignerName leaves room in the name of a file for that of its request.
const maxCosignerName = 80

// CosignerName says whether name can be that of a Cosigner: it is part of a file's name. That of a plan's signature
// has the same form.
func CosignerName(name string) bool {
	return len(name) <= maxCosignerName && cosignerName.MatchString(name) && name != "plan.json"
}

// Join is the signature file of an approval.
func (a Approval) Join() []byte {
	if a.Plan == nil && len(a.Also) == 0 {
		return a.Signature
	}
	var b bytes.Buffer
	add := func(part []byte) { b.Write(append(bytes.TrimSpace(part), '\n')) }
	add(a.Signature)
	if a.Plan != nil {
		add(pem.EncodeToMemory(&pem.Block{Type: blockPlan, Bytes: a.Plan}))
		add(a.PlanSignature)
	}
	for _, c := range a.Also {
		add(pem.EncodeToMemory(&pem.Block{Type: blockApprover, Bytes: []byte(c.Name)}))
		add(c.Signature)
	}
	return b.Bytes()
}

// Split takes a signature file apart. One that holds no more than one signature is that, as it is.
func Split(file []byte) (Approval, error) {
	if !bytes.Contains(file, []byte("-----BEGIN THREEGATE ")) {
		return Approval{Signature: file}, nil
	}
	s := splitter{rest: bytes.TrimSpace(file)}
	a := Approval{Signature: s.raw()}
	if s.next(blockPlan) {
		a.Plan = s.content()
		a.PlanSignature = s.raw()
	}
	for s.err == nil && s.next(blockApprover) {
		c := Cosigner{Name: string(s.content())}
		c.Signature = s.raw()
		a.Also = append(a.Also, c)
		switch {
		case s.err != nil:
		case !CosignerName(c.Name):
			s.err = fmt.Errorf("%w: an approver has a name that nobody can have", ErrSignature)
		case len(a.Also) >= MaxApprovers:
			s.err = fmt.Errorf("%w: it has more than %d approvers", ErrSignature, MaxApprovers)
		}
	}
	if s.err == nil && len(s.rest) > 0 {
		s.err = fmt.Errorf("%w: the file must hold a signature, then perhaps a plan and its signature, then the "+
			"names and signatures of further approvers", ErrSignature)
	}
	if s.err != nil {
		return Approval{}, s.err
	}
	return a, nil
}

// splitter takes one block after the other.
type splitter struct {
	rest []byte
	err  error
}

func (s *splitter) next(kind string) bool {
	return bytes.HasPrefix(s.rest, []byte("-----BEGIN "+kind+"-----\n"))
}

// raw is a signature, armoured as it is.
func (s *splitter) raw() []byte {
	before := s.rest
	if s.take(blockSignature) == nil {
		return nil
	}
	return before[:len(before)-len(s.rest)]
}

// content is what the next block holds; its kind was looked at.
func (s *splitter) content() []byte {
	kind := blockPlan
	if s.next(blockApprover) {
		kind = blockApprover
	}
	if block := s.take(kind); block != nil {
		return block.Bytes
	}
	return nil
}

func (s *splitter) take(kind string) *pem.Block {
	if s.err != nil {
		return nil
	}
	if s.next(kind) {
		block, after := pem.Decode(s.rest)
		if block != nil && block.Type == kind && len(block.Headers) == 0 {
			s.rest = bytes.TrimSpace(after)
			return block
		}
	}
	s.err = fmt.Errorf("%w: part of the file can't be read", ErrSignature)
	return nil
}

// How an approver was shown to be one.
const (
	Named  = "named"     // the request says so, and nothing proves it
	Signed = "signature" // a signature over the request, by a key that the node lists for that name
)

// Approver is a person who approved a request.
type Approver struct {
	Name string `json:"name"`
	How  string `json:"how"`
	// Fingerprint is that of the key of a signature.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Verified reports whether a signature of the approver was verified.
func (a Approver) Verified() bool { return a.How == Signed }

// String names the approver, and how that was shown.
func (a Approver) String() string {
	if a.Fingerprint == "" {
		return a.Name + " (" + a.How + ")"
	}
	return a.Name + " (" + a.How + ", " + a.Fingerprint + ")"
}

// Listed names approvers in one line, each as String does.
func Listed(who []Approver) string {
	names := make([]string, len(who))
	for i, a := range who {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}
