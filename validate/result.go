package validate

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/text"
)

var (
	sha256Hex   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	safeID      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$`)
	resultID    = regexp.MustCompile(`^TS-\d{8}-\d{6}Z-`)
	drive       = regexp.MustCompile(`^[A-Za-z]:`)
	destination = regexp.MustCompile(`^(?:` + hostLabel + `(?:\.` + hostLabel + `)*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$`)
)

// hostLabel is the form of one part of a host's name.
const hostLabel = `[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?`

// The bounds of single values of a result.
const (
	maxIDBytes      = 200
	maxPathBytes    = 1024
	maxArtifacts    = 10000
	maxDestinations = 1000
)

// resultKeys are the front matter keys of a result. All are required.
var resultKeys = []string{"result_type", "schema_version", "result_id", "created_utc", "request_id", "executor",
	"backend", "exit_code",
	"runtime_sec", "network_used", "network_destinations", "artifacts", "stdout_sha256", "stderr_sha256"}

// Result reads a tool result and judges it. The result is nil exactly if a
// finding blocks. name is the file's name or path, or "" if there is none. For
// any r that RenderResult accepts and that breaks no rule, reading what it
// rendered gives r back, where an empty list is nil.
//
// No finding repeats a secret of the document.
func Result(name string, raw []byte, p Policy) (*schemas.Result, []schemas.Finding) {
	limit := p.MaxResultBytes
	if limit <= 0 {
		limit = DefaultPolicy(p.Now).MaxResultBytes
	}
	doc, found := document.Parse(raw, limit)
	if doc == nil {
		return nil, p.severities(scrub(raw, found))
	}
	rr := &resultReader{reader: reader{name, doc, doc.Report(), p}, res: &schemas.Result{}}
	rr.rep.AddAll(found)
	if doc.Front != nil {
		rr.front()
	}
	rr.sections()
	rr.agreement()
	rr.hidden()
	clean := rr.content()
	found = p.severities(clean(rr.rep.Findings()))
	if schemas.VerdictOf(found) == schemas.VerdictReject {
		return nil, found
	}
	return rr.res, found
}

type resultReader struct {
	reader
	res *schemas.Result
}

func (rr *resultReader) front() {
	m, rep, res := rr.doc.Front, rr.rep, rr.res
	m.Known(rep, resultKeys...)
	// Lists may be empty; whether they are there at all is checked below.
	m.Require(rep, slices.DeleteFunc(slices.Clone(resultKeys),
		func(k string) bool { return k == "network_destinations" || k == "artifacts" })...)
	var ok bool
	res.ResultType, res.SchemaVersion = rr.schema("result", schemas.ResultType, schemas.ResultVersions)
	rr.ids()
	res.CreatedUTC, _ = m.Time(rep, "created_utc")
	if res.Executor, ok = m.String(rep, "executor"); ok && res.Executor != schemas.Executor {
		rr.key("result.executor", "executor", `write executor: "`+schemas.Executor+`"`, "executor is %s",
			document.Quote(res.Executor))
	}
	if b, ok := m.String(rep, "backend"); ok {
		res.Backend = schemas.Backend(b)
		if res.Backend != schemas.BackendERA && res.Backend != schemas.BackendMonty {
			rr.key("result.backend", "backend", "write ERA or monty", "backend is %s", document.Quote(b))
		}
	}
	res.ExitCode, _ = m.Int(rep, "exit_code")
	if res.RuntimeSec, ok = m.Number(rep, "runtime_sec"); ok && res.RuntimeSec < 0 {
		rr.key("result.runtime", "runtime_sec", "write the seconds that the run took, 0 or more",
			"runtime_sec is below zero")
	}
	rr.network()
	rr.artifacts()
	res.StdoutSHA256 = rr.digest("stdout_sha256")
	res.StderrSHA256 = rr.digest("stderr_sha256")
}

func (rr *resultReader) ids() {
	res := rr.res
	for _, k := range []struct {
		key string
		to  *string
	}{{"result_id", &res.ResultID}, {"request_id", &res.RequestID}} {
		id, ok := rr.doc.Front.String(rr.rep, k.key)
		*k.to = id
		if ok && (len(id) > maxIDBytes || !safeID.MatchString(id)) {
			rr.key("result.id", k.key, "use letters, digits, dashes, underscores and single dots",
				"%s %s can't be used as a file name", k.key, document.Quote(id))
		}
	}
	if res.ResultID == "" || res.RequestID == "" {
		return
	}
	if stamp := resultID.FindString(res.ResultID); stamp == "" || res.ResultID[len(stamp):] != res.RequestID {
		rr.key("result.name", "result_id", "write TS-YYYYMMDD-HHMMSSZ- followed by the request_id",
			"result_id %s is not made of a time stamp and the request_id", document.Quote(res.ResultID))
	}
	if rr.name != "" && path.Base(rr.name) != res.ResultID+".md" {
		rr.key("result.name", "result_id", "name the file after its result_id, with .md",
			"the file's name %s is not result_id with .md", document.Quote(path.Base(rr.name)))
	}
}

func (rr *resultReader) list(key string, limit int) []document.Value {
	v, ok := rr.doc.Front.Get(key)
	if !ok {
		rr.key("doc.frontmatter.missing_key", key, "add "+key+": [] to the front matter if there are none",
			"the key %s is missing", key)
		return nil
	}
	vs, ok := v.List(rr.rep)
	if ok && len(vs) > limit {
		rr.key("result.limits", key, fmt.Sprintf("keep to %d entries", limit), "%s has %d entries", key, len(vs))
		return vs[:limit]
	}
	return vs
}

func (rr *resultReader) network() {
	res := rr.res
	n, ok := rr.doc.Front.String(rr.rep, "network_used")
	res.NetworkUsed = schemas.Network(n)
	if ok && res.NetworkUsed != schemas.NetworkNone && res.NetworkUsed != schemas.NetworkAllowlist {
		rr.key("result.network", "network_used", "write none or allowlist", "network_used is %s", document.Quote(n))
	}
	for _, v := range rr.list("network_destinations", maxDestinations) {
		d, ok := v.String(rr.rep)
		if !ok {
			continue
		}
		res.NetworkDestinations = append(res.NetworkDestinations, d)
		if !destination.MatchString(d) || len(d) > 260 {
			rr.rep.AtLine("result.network", v.Line, v.Column,
				"the network destination "+document.Quote(d)+" is not a host with or without a port",
				"write host or host:port, without scheme, path or query")
		}
	}
	if res.NetworkUsed == schemas.NetworkNone && len(res.NetworkDestinations) > 0 {
		rr.key("result.network", "network_destinations", "write network_used: \"allowlist\", or [] here",
			"network_used is none, but there are %d network_destinations", len(res.NetworkDestinations))
	}
}

func (rr *resultReader) artifacts() {
	seen := map[string]bool{}
	for _, v := range rr.list("artifacts", maxArtifacts) {
		m, ok := v.Mapping(rr.rep)
		if !ok {
			continue
		}
		m.Known(rr.rep, "path", "sha256")
		m.Require(rr.rep, "path", "sha256")
		p, ok1 := m.String(rr.rep, "path")
		h, ok2 := m.String(rr.rep, "sha256")
		rr.res.Artifacts = append(rr.res.Artifacts, schemas.Artifact{Path: p, SHA256: h})
		if ok1 {
			if why := badArtifactPath(p); why != "" {
				rr.rep.AtLine("result.artifacts.path", v.Line, v.Column, "the artifact path "+document.Quote(p)+" "+why,
					"name the file relative to the artifacts folder, without . or .. and without invisible characters")
			}
			// File systems that ignore case would let one file replace the other.
			if key := string(text.Fold([]byte(p)).Text); seen[key] {
				rr.rep.AtLine("result.artifacts.path", v.Line, v.Column,
					"the artifact path "+document.Quote(p)+" is given twice, or looks like an earlier one",
					"list every artifact once")
			} else {
				seen[key] = true
			}
		}
		if ok2 && !sha256Hex.MatchString(h) {
			rr.rep.AtLine("result.sha256", v.Line, v.Column, "the artifact's sha256 is "+document.Quote(h),
				"write the 64 lower-case hex digits of the file's SHA-256")
		}
	}
}

// badArtifactPath says what is wrong with a path relative to the artifacts
// folder, or "".
func badArtifactPath(p string) string {
	long := func(part string) bool { return len(part) > 255 }
	switch {
	case !fs.ValidPath(p), p == ".", strings.ContainsAny(p, "\\\n\t"), drive.MatchString(p):
		return "is not a plain path relative to the artifacts folder"
	case len(p) > maxPathBytes, slices.ContainsFunc(strings.Split(p, "/"), long):
		return "is too long"
	case strings.HasPrefix(p, "-"):
		return "begins with a dash"
	}
	for m := range text.Suspects(p) {
		if m.Kind != text.KindConfusable && m.Kind != text.KindSpace {
			return "holds " + m.Name
		}
	}
	return ""
}

func (rr *resultReader) digest(key string) string {
	h, ok := rr.doc.Front.String(rr.rep, key)
	if ok && !sha256Hex.MatchString(h) {
		rr.key("result.sha256", key, "write the 64 lower-case hex digits of the SHA-256", "%s is %s", key,
			document.Quote(h))
	}
	return h
}
