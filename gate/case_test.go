package gate_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
)

// proved is the case file of a request or a job.
func (a *audited) proved(t *testing.T, id string, without ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := audit.Prove(t.Context(), a.cfg, a.checkpoints(), id, without, &b)
	must(t, err)
	return b.Bytes()
}

// checked is what a case file proves to somebody who knows the notary and the approvers.
func checked(t *testing.T, file []byte, signers ...person) (*audit.CaseReport, error) {
	t.Helper()
	keys, err := audit.ParseKeys([]byte(notary.public()))
	must(t, err)
	var text string
	for _, p := range signers {
		text += p.line()
	}
	return audit.CheckCase(bytes.NewReader(file), t.TempDir(), keys, []byte(text))
}

// packed is an archive as a list, and archive its reverse.
type packed struct {
	name string
	data []byte
}

func unpacked(t *testing.T, file []byte) (list []packed) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	must(t, err)
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		list = append(list, packed{h.Name, data})
	}
}

func archive(t *testing.T, list []packed, odd ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, p := range list {
		must(t, w.WriteHeader(&tar.Header{Name: p.name, Mode: 0o644, Size: int64(len(p.data))}))
		_, err := w.Write(p.data)
		must(t, err)
	}
	for _, h := range odd {
		must(t, w.WriteHeader(h))
	}
	must(t, errors.Join(w.Close(), z.Close()))
	return b.Bytes()
}

// TestCaseFiles: a case of each end proves what it says; each changed byte of what it proves is found, and what was left
// out is named.
func TestCaseFiles(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	everybody := []person{operator, alice, carol}
	for k, want := range map[int]ledger.Type{2: ledger.QuarantineRejected, 7: ledger.ResultDelivered, 4: ledger.ResultDelivered,
		9: ledger.DeliveryAttempted} {
		id := requestID(k)
		file := a.proved(t, id)
		r, err := checked(t, file, everybody...)
		must(t, err)
		if len(r.Findings) > 0 || len(r.LeftOut) > 0 || len(r.Unchecked) != 1 || r.Outcome != want || r.RequestID != id {
			t.Errorf("%s: %+v", id, r)
		}
		for i, p := range unpacked(t, file) {
			if strings.HasPrefix(p.name, "approvals/") || len(p.data) == 0 {
				continue // copies of what is checked elsewhere
			}
			for _, at := range []int{0, len(p.data) / 2} {
				list := unpacked(t, file)
				list[i].data[at] ^= 1
				if strings.HasSuffix(p.name, ".spicy") && at > bytes.Index(p.data, []byte("\n\n")) {
					continue // the checkpoint once more
				}
				if r, err := checked(t, archive(t, list), everybody...); err == nil && len(r.Findings) == 0 && len(r.Unchecked) == 1 {
					t.Errorf("%s: a changed byte %d of %s is not found", id, at, p.name)
				}
			}
			gone := slices.Delete(unpacked(t, file), i, i+1)
			r, err := checked(t, archive(t, gone), everybody...)
			if left := strings.TrimPrefix(p.name, "job/"); err == nil && len(r.Findings) == 0 && len(r.Unchecked) == 1 &&
				(left == p.name || left != ledger.FileStagedIn && !slices.Contains(r.LeftOut, left)) {
				t.Errorf("%s: nobody says that %s is missing: %+v", id, p.name, r)
			}
		}
	}

	file := a.proved(t, requestID(7), "inputs")
	r, err := checked(t, file, everybody...)
	must(t, err)
	if len(r.Findings) > 0 || !slices.Equal(r.LeftOut, []string{"inputs/x.csv"}) {
		t.Errorf("%+v", r)
	}
	if r, err = checked(t, file, alice, carol); err != nil || len(r.Findings) == 0 {
		t.Errorf("somebody who does not know the approver: %+v, %v", r, err)
	}
	if _, err := audit.Prove(t.Context(), a.cfg, a.checkpoints(), "TR-none", nil, io.Discard); !errors.Is(err, audit.ErrNoCase) {
		t.Errorf("an unknown request: %v", err)
	}
}

// TestStatements: each delivered result has one, made of what is sealed; a job whose files were changed gets none, and
// holds up no other.
func TestStatements(t *testing.T) {
	a := newAudited(t)
	changed := a.job(t, requestID(8))
	was, err := os.ReadFile(filepath.Join(changed, ledger.FileAdmission))
	must(t, errors.Join(err, os.WriteFile(filepath.Join(changed, ledger.FileAdmission), append(was, ' '), 0o600)))
	if err := a.checkpoint(notary); !errors.Is(err, audit.ErrUnstated) || !strings.Contains(err.Error(), filepath.Base(changed)) {
		t.Errorf("%v", err)
	}
	delivered := len(a.glob(inArchive))
	if n := len(a.glob("checkpoints/statements/*")); n != delivered { // and one of the job that was pruned
		t.Errorf("%d statements of %d results", n, delivered)
	}
	if r := a.verdict(t); r.Signed != r.Events {
		t.Errorf("%d of %d events are signed", r.Signed, r.Events)
	}
	must(t, os.WriteFile(filepath.Join(changed, ledger.FileAdmission), was, 0o600))
	must(t, a.checkpoint(notary))
	var b struct {
		Envelope struct {
			Payload []byte `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	raw, err := os.ReadFile(a.one(t, "checkpoints/statements/"+filepath.Base(changed)+".sigstore.json"))
	must(t, errors.Join(err, schemas.DecodeOpen(raw, &b)))
	var s audit.Statement
	must(t, schemas.DecodeOpen(b.Envelope.Payload, &s))
	result, err := os.ReadFile(filepath.Join(changed, ledger.FileResult))
	must(t, err)
	def := s.Predicate.BuildDefinition
	if len(s.Subject) != 3 || s.Subject[0].Digest["sha256"] != schemas.SHA256(result) ||
		!strings.HasSuffix(s.Subject[1].Name, ".artifacts/d/x.csv") || def.ExternalParameters.RequestID != requestID(8) ||
		len(def.ExternalParameters.Approvers) != 1 || def.ExternalParameters.Plan == nil || def.InternalParameters.Rules == "" ||
		def.InternalParameters.Limits.MemoryBytes == 0 || def.InternalParameters.Config == "" ||
		len(def.Dependencies) != 2 || s.Predicate.RunDetails.Metadata.InvocationID != filepath.Base(changed) {
		t.Errorf("%s", b.Envelope.Payload)
	}
}

// TestCaseOfAReissue: the case of a result that was issued again holds its rendering, and each changed byte of that is
// found.
func TestCaseOfAReissue(t *testing.T) {
	a := newAudited(t)
	a.at(0)
	id := requestID(11)
	a.request(id, "order")
	a.until(t)
	a.ordered(orders.Order{Kind: orders.Reissue, Subject: id, ResultSHA256: a.status(t, id).ResultSHA256,
		Released: a.withheld(t, id)})
	must(t, a.checkpoint(notary))
	file := a.proved(t, id)
	everybody := []person{operator, alice, carol}
	r, err := checked(t, file, everybody...)
	must(t, err)
	if len(r.Findings) > 0 || len(r.LeftOut) > 0 || r.Outcome != ledger.ResultReissued {
		t.Errorf("%+v", r)
	}
	again := 0
	for i, p := range unpacked(t, file) {
		if !strings.HasPrefix(p.name, "reissues/") || strings.HasSuffix(p.name, "/"+ledger.FileStagedIn) {
			continue
		}
		again++
		list := unpacked(t, file)
		list[i].data[len(p.data)/2] ^= 1
		if r, err := checked(t, archive(t, list), everybody...); err == nil && len(r.Findings) == 0 {
			t.Errorf("a changed byte of %s is not found", p.name)
		}
	}
	if again < 4 {
		t.Errorf("%d files of the rendering", again)
	}
}
