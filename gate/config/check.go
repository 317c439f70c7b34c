package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// maxNodeName leaves room for what makes a node's label unique on its host.
const maxNodeName = 48

// maxOrigin bounds node.origin.
const maxOrigin = 200

// maxLanguageName bounds the name of a language, in bytes.
const maxLanguageName = 64

// The largest limits of a run that no request names.
const (
	maxPids      = 1 << 15
	maxOpenFiles = 1 << 20
	maxFolderMB  = 1 << 16
	maxOutFiles  = 1 << 13 // all their names fit into a record
)

// check verifies every value; it returns all faults, joined.
func (l *Node) check() error {
	c := &checker{Node: l}
	c.node()
	c.inboxes()
	c.rules()
	c.external()
	c.limits()
	c.backends()
	c.metrics()
	c.hooks()
	c.profiles()
	return errors.Join(c.errs...)
}

// checker collects the faults of a configuration.
type checker struct {
	*Node
	errs []error
}

func (c *checker) bad(key, msg, hint string) { c.errs = append(c.errs, c.fault(key, msg, hint)) }

func (c *checker) between(key string, v, low, high int) {
	if v < low || v > high {
		c.bad(key, fmt.Sprintf("is %d; it must be from %d to %d", v, low, high), "")
	}
}

func (c *checker) duration(key string, v, low, high time.Duration) {
	if v < low || v > high {
		c.bad(key, fmt.Sprintf("is %s; it must be from %s to %s", v, low, high), "")
	}
}

func (c *checker) node() {
	if c.Version != Version {
		c.bad("version", fmt.Sprintf("is %d; this build reads version %d", c.Version, Version),
			fmt.Sprintf("write `version: %d`", Version))
	}
	c.between("node.concurrency", c.Config.Node.Concurrency, 1, 256)
	c.duration("node.sweep", c.Config.Node.Sweep, 100*time.Millisecond, time.Hour)
	c.duration("node.wait_for_writers", c.Config.Node.WaitForWriters, 0, time.Hour)
	c.duration("node.drain", c.Config.Node.Drain, 0, 24*time.Hour)
	c.duration("posture.every", c.Posture.Every, 0, 30*24*time.Hour)
	c.duration("approvals.max_age", c.Approvals.MaxAge, 0, 10*365*24*time.Hour)
	name := c.Config.Node.Name
	if name == "" || len(name) > maxNodeName || strings.ContainsFunc(name, notNameRune) {
		c.bad("node.name", "must be 1 to 48 of letters, digits, '.', '_' and '-'", "")
	}
	other := func(r rune) bool { return r != '/' && notNameRune(r) }
	if origin := c.Config.Node.Origin; len(origin) > maxOrigin || strings.ContainsFunc(origin, other) {
		c.bad("node.origin", "must be up to 200 of letters, digits, '.', '_', '-' and '/'",
			"write a name under a domain that is yours: logs.example.org/threegate/lab")
	}
}

// metrics wants an address that only this host reaches.
func (c *checker) metrics() {
	const key, hint = "metrics.listen", "write 127.0.0.1:9464, [::1]:9464 or unix:/run/threegate-metrics.sock"
	at := c.Metrics.Listen
	if path, ok := strings.CutPrefix(at, "unix:"); ok {
		if !filepath.IsAbs(path) {
			c.bad(key, fmt.Sprintf("%q is not an absolute path", path), hint)
		}
		return
	}
	if at == "" {
		return
	}
	if a, err := netip.ParseAddrPort(at); err != nil || !a.Addr().IsLoopback() || a.Addr().Zone() != "" {
		c.bad(key, fmt.Sprintf("%q is not a loopback address with a port", at), hint)
	}
}

func (c *checker) inboxes() {
	if len(c.Inboxes) == 0 {
		c.bad("inboxes", "there is none", "list at least one `- {name: default, path: inbox/default}`")
	}
	names, paths := map[string]bool{}, map[string]bool{}
	for _, in := range c.Inboxes {
		if in.Name == "" || len(in.Name) > 64 || strings.ContainsFunc(in.Name, notNameRune) ||
			strings.HasPrefix(in.Name, ".") {
			c.bad("inboxes", fmt.Sprintf("%q can't be the name of an inbox", in.Name),
				"use 1 to 64 of letters, digits, '.', '_' and '-'")
		}
		if in.Path == "" {
			c.bad("inboxes", fmt.Sprintf("inbox %q has no path", in.Name), "")
		}
		if names[in.Name] || paths[filepath.Clean(in.Path)] {
			c.bad("inboxes", fmt.Sprintf("inbox %q is listed twice, by name or by path", in.Name), "")
		}
		names[in.Name], paths[filepath.Clean(in.Path)] = true, true
	}
	if c.CoreInbound.Path == "" {
		c.bad("core_inbound.path", "is empty", "name the folder that CORE reads")
	}
	if _, err := c.CoreInbound.FileMode(); err != nil {
		c.bad("core_inbound.mode", err.Error(),
			"write octal digits, r and w only, none for others to write: 0640, 0660")
	}
	if a := c.Access; a.People == "" && a.Approvers != "" && a.Auditors != "" && a.Approvers != a.Auditors {
		c.bad("access.people", "is empty",
			"name a group that approvers and auditors are all in: it may read the record")
	}
	if p := filepath.Clean(c.CoreNotices.Path); c.CoreNotices.Enabled {
		switch {
		case c.CoreNotices.Path == "":
			c.bad("core_notices.path", "is empty",
				"name a folder that CORE reads, or set core_notices.enabled: false")
		case p == filepath.Clean(c.CoreInbound.Path), paths[p]:
			c.bad("core_notices.path", "is the folder of results or an inbox, too",
				"give notices a folder of their own")
		}
	}
}

// rules verifies what requests are judged by.
func (c *checker) rules() {
	if _, err := egress.ParseDomains(c.Network.AllowedDomains); err != nil {
		c.bad("network.allowed_domains", err.Error(),
			"list exact hosts (api.example.org), suffixes (*.example.org) or hosts with a port")
	}
	for _, v := range c.Validators {
		c.validator(v)
	}
	var types []string
	for _, t := range schemas.ArtifactTypes() {
		types = append(types, t.Name)
	}
	for _, name := range c.Results.ArtifactTypes {
		if !slices.Contains(types, name) {
			c.bad("results.artifact_types", fmt.Sprintf("there is no type %q", name),
				"the types are "+strings.Join(types, ", "))
		}
	}
	for _, p := range c.Approvals.Forbidden {
		if strings.Trim(p, "*?-. ") == "" || len(p) > 100 {
			c.bad("approvals.forbidden", fmt.Sprintf("%q forbids everybody, or nobody", p),
				"write names as machines have them, with * for any letters: ai, *-bot")
		}
	}
	if c.Approvals.RequireSignature && c.Approvals.AllowedSigners == "" {
		c.bad("approvals.allowed_signers", "is empty although approvals.require_signature is true",
			"name an OpenSSH allowed_signers file")
	}
	m := c.Approvals.MinApprovers
	c.between("approvals.min_approvers.low", m.Low, 1, approval.MaxApprovers)
	c.between("approvals.min_approvers.medium", m.Medium, 1, approval.MaxApprovers)
	c.between("approvals.min_approvers.high", m.High, 1, approval.MaxApprovers)
	if max(m.Low, m.Medium, m.High) > 1 && !c.Approvals.RequireSignature {
		c.bad("approvals.min_approvers", "needs approvals.require_signature: only a signature shows a second person",
			"set approvals.require_signature: true, too")
	}
	if c.Approvals.RequirePlan && !c.Approvals.RequireSignature {
		c.bad("approvals.require_plan", "needs approvals.require_signature",
			"set approvals.require_signature: true, too")
	}
	if j := c.Results.Judgement; j != JudgementDefault && j != JudgementStrict {
		c.bad("results.judgement", fmt.Sprintf("%q is neither default nor strict", j),
			"write default, or strict to refuse a result where a part of it would be withheld")
	}
	if g := c.Containerd.Cgroup; !path.IsAbs(g) || path.Clean(g) != g || g == "/" {
		c.bad("containerd.cgroup", fmt.Sprintf("%q is not the path of a control group", g),
			"write it as below /sys/fs/cgroup, for instance /threegate")
	}
	if ns := c.Containerd.UserNamespace; ns != UserNamespaceRequired && ns != UserNamespaceOptional {
		c.bad("containerd.user_namespace", fmt.Sprintf("%q is neither required nor optional", ns),
			"write required, or optional for a host that gives none")
	}
}

// external verifies what is said about filters, not that they answer: doctor tries them.
func (c *checker) external() {
	const key = "results.external"
	names := map[string]bool{}
	for _, e := range c.Results.External {
		c.name(key, "filter", e.Name, names)
		switch {
		case (e.Socket == "") == (len(e.Command) == 0):
			c.bad(key, fmt.Sprintf("filter %q needs either a socket or a command", e.Name),
				"write socket: /run/NAME.sock, or command: [/path/of/program, argument]")
		case e.Socket != "" && !filepath.IsAbs(e.Socket), len(e.Command) > 0 && !filepath.IsAbs(e.Command[0]):
			path := e.Socket + strings.Join(e.Command, " ")
			c.bad(key, fmt.Sprintf("filter %q: %q is not an absolute path", e.Name, path),
				"write the whole path, from / on")
		}
		if e.Timeout != 0 {
			c.duration(key, e.Timeout, 100*time.Millisecond, 5*time.Minute)
		}
	}
}

// name verifies the name of one of several things.
func (c *checker) name(key, what, name string, seen map[string]bool) {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, notNameRune) {
		c.bad(key, fmt.Sprintf("%q can't be the name of a %s", name, what),
			"use 1 to 64 of letters, digits, '.', '_' and '-'")
	}
	if seen[name] {
		c.bad(key, fmt.Sprintf("%s %q is listed twice", what, name), "give each a name of its own")
	}
	seen[name] = true
}

func (c *checker) backends() {
	for name, lang := range c.Backends.ERA.Languages {
		if validate.IsShell(name) {
			c.bad("backends.era.languages."+name, "is a shell; no shell may be a language", "remove it")
		}
		if len(name) > maxLanguageName { // all of them stand in an event
			c.bad("backends.era.languages", fmt.Sprintf("the name %.20q... has %d bytes, above %d", name, len(name),
				maxLanguageName), "give it a shorter name")
		}
		c.digest("backends.era.languages."+name+".image", lang.Image)
	}
	if c.Backends.Monty.Image != "" {
		c.digest("backends.monty.image", c.Backends.Monty.Image)
	}
}

func (c *checker) limits() {
	m := &c.Limits
	if _, err := validate.ParseCPU(m.CPU); err != nil {
		c.bad("limits.cpu", err.Error(), `write cores ("0.5", "2") or millicores ("500m")`)
	}
	c.between("limits.memory_mb", m.MemoryMB, 16, 1<<20)
	c.between("limits.time_sec", m.TimeSec, 1, 7*24*3600)
	c.between("limits.cpu_time_sec", m.CPUTimeSec, 0, 7*24*3600)
	c.between("limits.pids", m.Pids, 1, maxPids)
	c.between("limits.open_files", m.OpenFiles, 16, maxOpenFiles)
	c.between("limits.out_mb", m.OutMB, 1, maxFolderMB)
	c.between("limits.out_files", m.OutFiles, 1, maxOutFiles)
	c.between("limits.tmp_mb", m.TmpMB, 1, maxFolderMB)
	c.between("limits.stream_kb", m.StreamKB, 1, 1<<20)
	c.between("limits.request_kb", m.RequestKB, 1, 1<<12) // it fits into a record
	c.between("limits.inputs_mb", m.InputsMB, 1, 1<<20)
	c.between("limits.input_files", m.InputFiles, 1, 1<<12)
	c.between("limits.outputs", m.Outputs, 1, 1<<12)
	c.between("slots.memory_mb", c.Slots.MemoryMB, 0, 1<<20)
	c.between("results.stream_lines", c.Results.StreamLines, 0, 200)
}

func (c *checker) validator(v Validator) {
	order := []schemas.Severity{schemas.SeveritySuggestion, schemas.SeverityWarning, schemas.SeverityBlocking}
	want := slices.Index(order, v.Enforcement)
	if want < 0 {
		c.bad("validators", fmt.Sprintf("rule %s: enforcement %q is not one of blocking, warning, suggestion", v.Rule,
			v.Enforcement), "")
		return
	}
	r, ok := schemas.RuleByID(v.Rule)
	if !ok {
		c.bad("validators", fmt.Sprintf("there is no rule %q", v.Rule), "`threegate explain` lists the rules")
		return
	}
	if want < slices.Index(order, r.Level) {
		c.bad("validators", fmt.Sprintf("rule %s is %s and can't be lowered to %s", v.Rule, r.Level, v.Enforcement),
			"a level may be raised, never lowered")
	}
}

func (c *checker) digest(key, digest string) {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		c.bad(key, fmt.Sprintf("%q is not a digest", digest), "pin the image as sha256:..., as `threegate image list` prints it")
	}
}

func notNameRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}
