package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate"
)

const (
	// dirStatements is where statements lie in a folder of checkpoints, a file for each job.
	dirStatements   = "statements"
	suffixStatement = ".sigstore.json"

	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	// buildType says how the fields of a statement are meant: docs/proof.md.
	buildType   = "https://github.com/threegate/tool-exec/run/v1"
	payloadType = "application/vnd.in-toto+json"
	bundleType  = "application/vnd.dev.sigstore.bundle.v0.3+json"

	maxRecord = 64 << 20
)

// Statement is an in-toto statement with SLSA provenance of a delivered result.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Provenance `json:"predicate"`
}

// Resource is something with a digest.
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// Provenance is SLSA's, version 1. docs/proof.md has a table of its fields.
type Provenance struct {
	BuildDefinition struct {
		BuildType          string     `json:"buildType"`
		ExternalParameters External   `json:"externalParameters"`
		InternalParameters Internal   `json:"internalParameters"`
		Dependencies       []Resource `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
		Metadata struct {
			InvocationID string    `json:"invocationId"`
			StartedOn    time.Time `json:"startedOn"`
			FinishedOn   time.Time `json:"finishedOn"`
		} `json:"metadata"`
		Byproducts []Resource `json:"byproducts"`
	} `json:"runDetails"`
}

// External is what people asked for and approved.
type External struct {
	RequestID   string     `json:"requestId"`
	Request     Resource   `json:"request"`
	RequestedBy string     `json:"requestedBy"`
	Approvers   []approver `json:"approvers"`
	Plan        *Resource  `json:"plan,omitempty"`
	Backend     string     `json:"backend"`
	Language    string     `json:"language,omitempty"`
}

type approver struct {
	Name        string `json:"name"`
	How         string `json:"how"`
	Fingerprint string `json:"keyFingerprint,omitempty"`
}

// Internal is what the node decided by.
type Internal struct {
	Config  string           `json:"configSha256"`
	Rules   string           `json:"rules"`
	Runtime string           `json:"runtime"`
	Limits  executors.Limits `json:"limits"`
	Network string           `json:"network"`
	Domains []string         `json:"allowedDomains,omitempty"`
	// Event is the number of the event of the delivery.
	Event int64 `json:"event"`
}

// run is what the record has of a job that was delivered.
type run struct {
	node                *ledger.Node // that admitted it
	admitted, delivered ledger.Event
	released            []schemas.Release
}

// runs follows the jobs of a record.
type runs struct {
	node *ledger.Node
	open map[string]*run
}

// note takes in the next event, and returns the run that it delivers.
func (r *runs) note(e ledger.Event) *run {
	if e.Node != nil {
		r.node = e.Node
	}
	job, admits := r.open[e.RunID], e.Type == ledger.DeliveryAttempted && e.Outcome == ledger.OutcomeAdmitted
	if r.open == nil {
		r.open = map[string]*run{}
	}
	switch {
	case e.Type == ledger.QuarantineReleased || admits:
		if job == nil {
			job = &run{}
			r.open[e.RunID] = job
		}
		if job.released = append(job.released, e.Released...); admits {
			job.node, job.admitted = r.node, e
		}
	case e.Type == ledger.ResultDelivered && job != nil:
		delete(r.open, e.RunID)
		job.delivered = e
		return job
	}
	return nil
}

// folderOf is where a delivered job lies: it may be on its way.
func folderOf(cfg *config.Node, e ledger.Event) (string, error) {
	month := e.Time.UTC().Format("2006/01")
	archived := filepath.Join(cfg.Dir, spool.DirArchive, filepath.FromSlash(month), e.RunID)
	finished := filepath.Join(cfg.Dir, spool.DirSpool, string(spool.StateFinished), e.RunID)
	for _, dir := range []string{finished, archived} {
		if _, err := os.Lstat(dir); err == nil {
			return dir, nil
		}
	}
	return archived, fs.ErrNotExist
}

// statement makes a statement of a job that lies in dir. It goes by the record, and by files that are as the seal on
// record says.
func (r *run) statement(origin, dir string) (*Statement, error) {
	broken, err := seal.Check(dir, r.delivered.Seal, ledger.FileStagedIn)
	if err != nil {
		return nil, err
	}
	if len(broken) > 0 {
		return nil, fmt.Errorf("%w: %s: %s", openwop.ErrBroken, spool.Quote(broken[0].Path), broken[0].What)
	}
	var admission struct {
		Task  executors.Task `json:"task"`
		Rules string         `json:"rules"`
	}
	var outcome result.Outcome
	text, err := durable.ReadRegular(filepath.Join(dir, ledger.FileResult), maxRecord)
	err = errors.Join(err, decode(dir, ledger.FileAdmission, &admission), decode(dir, ledger.FileOutcome, &outcome))
	if err != nil {
		return nil, err
	}
	if schemas.SHA256(text) != r.delivered.ResultSHA256 {
		return nil, fmt.Errorf("%w: the result is not the one on record", openwop.ErrBroken)
	}
	name := r.delivered.ResultID + spool.ResultSuffix
	// A released passage is a finding, and no reason to say nothing of the artifacts.
	policy := validate.DefaultPolicy(r.delivered.Time)
	policy.Released = r.released
	parsed, findings := validate.Result(name, text, policy)
	if parsed == nil {
		return nil, fmt.Errorf("the result can't be read: %v", findings)
	}
	s := &Statement{Type: statementType, PredicateType: provenanceType,
		Subject: []Resource{sha(name, r.delivered.ResultSHA256)}}
	for _, a := range parsed.Artifacts {
		s.Subject = append(s.Subject, sha(r.delivered.ResultID+spool.ArtifactsSuffix+"/"+a.Path, a.SHA256))
	}
	e, task := r.admitted, admission.Task
	def := &s.Predicate.BuildDefinition
	def.BuildType = buildType
	def.ExternalParameters = External{RequestID: e.RequestID, Request: sha(e.RequestID+".md", e.RequestSHA256),
		RequestedBy: e.Requester, Approvers: []approver{}, Backend: string(e.Backend), Language: task.Language}
	external := &def.ExternalParameters
	for _, a := range e.Approvers {
		external.Approvers = append(external.Approvers, approver{a.Name, a.How, a.Fingerprint})
	}
	if e.Plan != "" {
		plan := sha("plan.json", e.Plan)
		external.Plan = &plan
	}
	ran := outcome.Outcome
	def.InternalParameters = Internal{Rules: admission.Rules, Runtime: ran.Identity.Runtime, Limits: task.Limits,
		Network: string(task.Network), Domains: task.Domains, Event: r.delivered.Seq}
	def.Dependencies = []Resource{{Name: "image", URI: "oci:" + task.Language, Digest: digestOf(ran.Identity.Image)}}
	if e.Inputs != nil {
		def.Dependencies = append(def.Dependencies, sha("inputs", e.Inputs.List))
	}
	details := &s.Predicate.RunDetails
	details.Builder.ID = "https://" + origin
	if r.node != nil {
		def.InternalParameters.Config = r.node.Config
		details.Builder.Version = map[string]string{"threegate": cmp.Or(r.node.Version, "unknown")}
	}
	details.Metadata.InvocationID = e.RunID
	details.Metadata.StartedOn, details.Metadata.FinishedOn = ran.StartedAt, ran.FinishedAt
	details.Byproducts = []Resource{sha(seal.File, r.delivered.Seal)}
	return s, nil
}

func sha(name, sum string) Resource {
	return Resource{Name: name, Digest: map[string]string{"sha256": sum}}
}

// digestOf takes the digest of an image apart.
func digestOf(image string) map[string]string {
	if len(image) > 7 && image[:7] == "sha256:" {
		return map[string]string{"sha256": image[7:]}
	}
	return map[string]string{}
}

func decode(dir, name string, to any) error {
	raw, err := durable.ReadRegular(filepath.Join(dir, name), maxRecord)
	if err == nil {
		err = schemas.DecodeOpen(raw, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// bundle is a Sigstore bundle of a signature by a key.
type bundle struct {
	MediaType    string `json:"mediaType"`
	Verification struct {
		PublicKey struct {
			Hint string `json:"hint"`
		} `json:"publicKey"`
		Entries    []struct{} `json:"tlogEntries"`
		Timestamps struct{}   `json:"timestampVerificationData"`
	} `json:"verificationMaterial"`
	Envelope struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []struct {
			Sig   []byte `json:"sig"`
			KeyID string `json:"keyid"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
}

// preAuth is what is signed of a payload (DSSE).
func preAuth(payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// signStatement is a statement in a Sigstore bundle.
func signStatement(s *Statement, by openwop.Signer) ([]byte, error) {
	var b bundle
	var err error
	b.MediaType, b.Verification.Entries = bundleType, []struct{}{}
	b.Verification.PublicKey.Hint = by.Fingerprint
	b.Envelope.PayloadType = payloadType
	b.Envelope.Signatures = make([]struct {
		Sig   []byte `json:"sig"`
		KeyID string `json:"keyid"`
	}, 1)
	if b.Envelope.Payload, err = json.Marshal(s); err != nil {
		return nil, err
	}
	if b.Envelope.Signatures[0].Sig, err = by.Sign(preAuth(b.Envelope.Payload)); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(b, "", "  ")
	return append(data, '\n'), err
}

// statementFile is where the statement of a job lies in a folder of checkpoints.
func statementFile(dir, job string) string {
	return filepath.Join(dir, dirStatements, job+suffixStatement)
}

// unstated says whether a delivered job has no statement in a folder of checkpoints, and was not pruned.
func (r *run) unstated(cfg *config.Node, dir string) bool {
	if _, err := os.Lstat(statementFile(dir, r.delivered.RunID)); err == nil {
		return false
	}
	_, err := folderOf(cfg, r.delivered)
	return err == nil
}

// state writes a statement of a delivered job into a folder of checkpoints.
func (r *run) state(cfg *config.Node, dir string, by openwop.Signer) error {
	job, err := folderOf(cfg, r.delivered)
	if err != nil {
		return nil // it was pruned meanwhile
	}
	s, err := r.statement(cfg.LogOrigin(), job)
	if errors.Is(err, fs.ErrNotExist) { // it was just moved
		if job, err = folderOf(cfg, r.delivered); err == nil {
			s, err = r.statement(cfg.LogOrigin(), job)
		}
	}
	var data []byte
	if err == nil {
		data, err = signStatement(s, by)
	}
	file := statementFile(dir, r.delivered.RunID)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = durable.WriteFile(filepath.Dir(file), filepath.Base(file), data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("no statement of job %s: %w", r.delivered.RunID, err)
	}
	return nil
}
