package validate

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
)

// requestKeys are the front matter keys of a request.
var requestKeys = []string{"request_type", "schema_version", "request_id", "created_utc", "requested_by", "approved_by",
	"approved_utc",
	"purpose", "backend", "language", "network", "cpu_limit", "memory_limit_mb", "time_limit_sec", "inputs"}

// Keys whose absence is reported by the approval gate, and keys that may be absent.
var (
	approvalKeys = []string{"requested_by", "approved_by", "approved_utc"}
	optionalKeys = []string{"backend", "inputs"}
)

// Bounds of single values of a request.
const (
	maxRequestID    = 100
	maxPersonBytes  = 200
	maxPurposeBytes = 4000
	minMemoryMB     = 1
	maxInputPath    = 512
)

var (
	recommendedID = regexp.MustCompile(`^TR-[0-9]{8}-[0-9]{6}Z-[A-Za-z0-9][A-Za-z0-9._-]*$`)
	languageRe    = regexp.MustCompile(`^[a-z0-9][a-z0-9+#._-]{0,31}$`)
	// shellWords are names of shells as a language, in addition to those of programs.
	shellWords = regexp.MustCompile(`(?i)^(?:shell|shellscript|shell-?session|sh-session|console|terminal|bat|batch` +
		`|batchfile|dos|posix|bourne(?:-again)?(?: shell)?|.*\bshell(?:script)?|unix shell|zsh.*|bash.*)$`)
)

func (rr *requestReader) front() {
	m := rr.doc.Front
	if m == nil {
		return
	}
	rep, req := rr.rep, rr.req
	m.Known(rep, requestKeys...)
	m.Require(rep, slices.DeleteFunc(slices.Clone(requestKeys), func(k string) bool {
		return slices.Contains(approvalKeys, k) || slices.Contains(optionalKeys, k)
	})...)
	var ok bool
	req.RequestType, req.SchemaVersion = rr.schema("request", schemas.RequestType, schemas.RequestVersions)
	rr.id()
	req.CreatedUTC, _ = m.Time(rep, "created_utc")
	if req.Purpose, ok = m.Text(rep, "purpose"); ok {
		if len(req.Purpose) > maxPurposeBytes {
			rr.key("request.purpose", "purpose", "say in a few sentences what the run is for",
				"purpose has %d bytes, %d are allowed", len(req.Purpose), maxPurposeBytes)
		}
		v, _ := m.Get("purpose")
		rr.stated = append(rr.stated, statement{text: req.Purpose, line: v.Line, column: v.Column})
	}
	rr.approval()
	rr.backend()
	rr.language()
	rr.network()
	rr.limits()
	rr.inputs()
}

func (rr *requestReader) id() {
	id, ok := rr.doc.Front.String(rr.rep, "request_id")
	rr.req.RequestID = id
	if !ok {
		return
	}
	if len(id) > maxRequestID || !safeID.MatchString(id) {
		rr.key("request.id", "request_id",
			"use at most 100 letters, digits, dashes, underscores and single dots, and begin with a letter or digit",
			"request_id %s can't be used as a file name", document.Quote(id))
		return
	}
	if !recommendedID.MatchString(id) {
		rr.key("request.id.recommended", "request_id",
			"recommended is TR-YYYYMMDD-HHMMSSZ-<slug>, such as TR-20260209-160501Z-python-stats",
			"request_id %s has not the recommended form", document.Quote(id))
	}
	if base := path.Base(rr.name); rr.name != "" && base != id+".md" {
		rr.key("request.name", "request_id", "name the file "+id+".md",
			"the file is named %s, not after its request_id", document.Quote(base))
	}
}

func (rr *requestReader) backend() {
	v, there := rr.doc.Front.Get("backend")
	if !there {
		rr.req.Backend = schemas.BackendERA // a missing backend means ERA
		return
	}
	b, ok := rr.doc.Front.String(rr.rep, "backend")
	switch {
	case b == string(schemas.BackendERA), b == string(schemas.BackendMonty):
		rr.req.Backend = schemas.Backend(b)
	case ok, v.Empty():
		rr.key("request.backend", "backend", "write backend: ERA or backend: monty", "backend is %s, not ERA or monty",
			document.Quote(b))
	}
}

func (rr *requestReader) language() {
	lang, ok := rr.doc.Front.String(rr.rep, "language")
	rr.req.Language = lang
	if !ok {
		return
	}
	lower := strings.ToLower(strings.TrimSpace(lang))
	switch {
	case code.IsShell(lower) || shellWords.MatchString(lower):
		rr.key("sec.shell.language", "language", "choose the language that the program is written in",
			"language %s is a shell", document.Quote(lang))
	case rr.req.Backend == schemas.BackendMonty && schemas.PlainMonty(lang):
	case rr.req.Backend == schemas.BackendMonty && !rr.p.AnyNode && !slices.Contains(rr.p.ToolLanguages(), lang):
		rr.key("request.language", "language", montyHint(rr.p.ToolLanguages()), "monty runs python, not %s",
			document.Quote(lang))
	case !languageRe.MatchString(lang):
		rr.key("request.language", "language", "write its name in small letters, such as python",
			"%s can't be the name of a language", document.Quote(lang))
	case len(rr.p.Languages) > 0 && !slices.Contains(rr.p.Languages, lang):
		f := rr.keyFinding("request.language", "language", "use one of: "+strings.Join(rr.p.Languages, ", "),
			"the node has no image for the language %s", document.Quote(lang))
		if rr.p.AnyNode {
			f.Severity = schemas.SeverityWarning
		}
		rr.rep.Add(f)
	}
}

// montyHint says what can be the language of a Monty request.
func montyHint(withTools []string) string {
	if len(withTools) == 0 {
		return "write language: python"
	}
	return "write language: python, or, for a program that calls tools, " + strings.Join(withTools, ", ")
}

func (rr *requestReader) network() {
	n, ok := rr.doc.Front.String(rr.rep, "network")
	rr.req.Network = schemas.Network(n)
	switch {
	case !ok:
	case rr.req.Network == schemas.NetworkNone:
	case rr.req.Network != schemas.NetworkAllowlist:
		rr.key("request.network", "network", "write network: none or network: allowlist",
			"network is %s, not none or allowlist", document.Quote(n))
	case !rr.p.Egress:
		f := rr.keyFinding("request.network", "network",
			"write network: none, or ask the node's operator for an allowlist of domains",
			"this node gives no network to runs")
		if rr.p.AnyNode {
			f.Severity = schemas.SeverityWarning
			f.Message = "only a node with an allowlist of domains runs this"
		}
		rr.rep.Add(f)
	}
}

func (rr *requestReader) limits() {
	m, req := rr.doc.Front, rr.req
	if s, ok := m.Scalar(rr.rep, "cpu_limit"); ok {
		milli, err := ParseCPU(s)
		req.MilliCPU = milli
		switch {
		case err != nil:
			rr.key("request.limits", "cpu_limit",
				`write cores ("0.5", "2") or thousandths of a core ("500m"), above zero`,
				"cpu_limit %s is not a number of cores", document.Quote(s))
		case rr.p.MaxMilliCPU > 0 && milli > rr.p.MaxMilliCPU:
			rr.key("request.limits", "cpu_limit", "ask for less",
				"cpu_limit %s is above the node's maximum of %g cores", document.Quote(s),
				float64(rr.p.MaxMilliCPU)/1000)
		}
	}
	for _, l := range []struct {
		key, unit string
		to        *int
		min, max  int
	}{{"memory_limit_mb", "MB", &req.MemoryLimitMB, minMemoryMB, rr.p.MaxMemoryMB}, {"time_limit_sec", "seconds",
		&req.TimeLimitSec, 1, rr.p.MaxTimeSec}} {
		n, ok := m.Int(rr.rep, l.key)
		*l.to = n
		switch {
		case !ok:
		case n < l.min:
			rr.key("request.limits", l.key, "ask for more than nothing", "%s is %d, which is less than %d %s", l.key, n,
				l.min, l.unit)
		case l.max > 0 && n > l.max:
			rr.key("request.limits", l.key, "ask for less", "%s is %d, above the node's maximum of %d %s", l.key, n,
				l.max, l.unit)
		}
	}
}

// What paths of inputs and outputs are made of. A part of an output begins with a letter, a digit or an underscore:
// names that begin with a dot are the node's own in CORE's folder. That of an input may have one dot or @ before
// it, for settings of tools and packages of npm. So no part is "." or ".." or reads as an option.
var (
	inPath  = regexp.MustCompile(`^/in(?:/[.@]?[A-Za-z0-9_][A-Za-z0-9._@+=-]*)+$`)
	outPath = regexp.MustCompile(`^/out(?:/[A-Za-z0-9_][A-Za-z0-9._@+=-]*)+$`)
)

// badPath says what is wrong with a path below top ("/in" or "/out"), or "".
func badPath(p, top string) string {
	switch {
	case !strings.HasPrefix(p, top+"/"):
		return "does not lie below " + top + "/"
	case len(p) > maxInputPath:
		return "is too long"
	case strings.HasSuffix(p, "/"):
		return "names a folder, not a file"
	case top == "/in" && !inPath.MatchString(p):
		return badPart + ", after at most one . or @"
	case top == "/out" && !outPath.MatchString(p):
		return badPart
	}
	for _, part := range strings.Split(p, "/") {
		if len(part) > 200 {
			return "has a part that is too long"
		}
	}
	return ""
}

const badPart = "has a part that holds other characters than letters, digits and . _ @ + = -, or that does not begin " +
	"with a letter, a digit or _"

// overlap finds a path that is the same as an earlier one, or a folder of it; or "".
func overlap(p string, earlier []string) string {
	for _, e := range earlier {
		if strings.EqualFold(e, p) || strings.HasPrefix(e, p+"/") || strings.HasPrefix(p, e+"/") {
			return e
		}
	}
	return ""
}

// inputs reads the declared inputs with their hashes.
func (rr *requestReader) inputs() {
	v, ok := rr.doc.Front.Get("inputs")
	if !ok {
		return
	}
	if v.Empty() {
		rr.key("request.inputs", "inputs", "write inputs: [], or remove the key", "inputs has no value")
		return
	}
	list, ok := v.List(rr.rep)
	if !ok {
		return
	}
	if limit := rr.p.MaxInputs; limit > 0 && len(list) > limit {
		rr.key("request.inputs", "inputs",
			"pack small files into fewer ones, or ask the node's operator to raise the limit",
			"there are %d inputs, the node takes %d", len(list), limit)
		list = list[:limit]
	}
	var earlier []string
	for _, e := range list {
		m, ok := e.Mapping(rr.rep)
		if !ok {
			continue
		}
		m.Known(rr.rep, "path", "sha256", "unpack", "copy_to")
		m.Require(rr.rep, "path", "sha256")
		hash, hashOK := m.String(rr.rep, "sha256")
		if hashOK && !sha256Hex.MatchString(hash) {
			h, _ := m.Get("sha256")
			rr.rep.AtLine("request.inputs", h.Line, h.Column, document.Quote(hash)+" is no SHA-256",
				"write the 64 small hex digits that sha256sum prints; threegate approve fills them in")
		}
		unpack := rr.inputOption(m, "unpack", schemas.UnpackTar)
		copyTo := rr.inputOption(m, "copy_to", schemas.WorkDir)
		p, ok := m.String(rr.rep, "path")
		if !ok {
			continue
		}
		at, _ := m.Get("path")
		if why := badPath(p, "/in"); why != "" {
			rr.badInput = true
			rr.rep.AtLine("request.inputs", at.Line, at.Column, "the input path "+document.Quote(p)+" "+why,
				"write it like /in/data.csv")
		} else if other := overlap(p, earlier); other != "" {
			rr.rep.AtLine("request.inputs", at.Line, at.Column,
				"the input path "+document.Quote(p)+" clashes with "+document.Quote(other),
				"declare every file once, under a path of its own")
		}
		earlier = append(earlier, p)
		rr.req.Inputs = append(rr.req.Inputs, schemas.Input{Path: p, SHA256: hash, Unpack: unpack, CopyTo: copyTo})
	}
}

// inputOption reads a key of an input that has one value only, if it is there.
func (rr *requestReader) inputOption(m *document.Mapping, key, only string) string {
	value, ok := m.String(rr.rep, key)
	at, _ := m.Get(key)
	switch {
	case ok && value != only:
		rr.rep.AtLine("request.inputs", at.Line, at.Column, key+" is "+document.Quote(value),
			"write "+key+": "+only+", or leave the key out")
	case ok && key == "copy_to" && rr.req.Backend == schemas.BackendMonty:
		rr.rep.AtLine("request.inputs", at.Line, at.Column, "Monty has no working folder",
			"leave out copy_to; a Monty program reads /in and writes /out")
	}
	return value
}

var cpuRe = regexp.MustCompile(`^(?:(?:0|[1-9][0-9]{0,4})(?:\.[0-9]{1,3})?|[1-9][0-9]{0,7}m)$`)

// ParseCPU reads a cpu limit, cores ("0.5", "2") or millicores ("500m"), as
// thousandths of a core, above zero.
func ParseCPU(s string) (milli int, err error) {
	number, inMilli := strings.CutSuffix(s, "m")
	n, err := strconv.ParseFloat(number, 64)
	if !inMilli {
		n *= 1000
	}
	if err != nil || n <= 0 || !cpuRe.MatchString(s) {
		return 0, fmt.Errorf("%q is not a cpu limit: write cores (\"0.5\", \"2\") or millicores (\"500m\"), above zero",
			s)
	}
	return int(math.Round(n)), nil
}

// IsShell says whether word names a shell, which no request may run and no
// configuration may offer as a language.
func IsShell(word string) bool { return code.IsShell(word) }
