// Package reach finds what a request must not reach for: the paths and devices that a host has and
// a sandbox has not, and installations of software packages. It looks into command line words,
// string literals of code and prose. A run must be reproducible from its image and its inputs, and
// code that nobody approved must not arrive on the way.
//
// Its input is hostile; it never touches a file system. It errs on the side of a finding where a
// text is used as a path, and of no finding where it is a pattern, a route of a URL or a fraction.
package reach

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Kind says what is wrong with a path.
type Kind string

// The kinds.
const (
	Host   Kind = "host"   // a file or folder outside of /in, /out and /tmp
	Device Kind = "device" // a device that a sandbox does not give
	Escape Kind = "escape" // ".." that may lead out
	Home   Kind = "home"   // "~"
	Socket Kind = "socket" // a socket of the host
)

// Ref is a path that must not be named.
type Ref struct {
	Kind Kind
	// Offset and End bound it in the text.
	Offset, End int
	Path        string
}

// Context says how a text is used.
type Context int

// The contexts, from strict to lenient.
const (
	// Argument is a word of a command line: any absolute path counts.
	Argument Context = iota
	// Used is a string literal that is handed to something that opens files.
	Used
	// Literal is any other string literal: routes and units look like paths
	// there, so only what begins like a folder of a host counts.
	Literal
	// Prose is text for people.
	Prose
)

// MaxRefs bounds what Paths returns.
const MaxRefs = 50

// roots are the folders at the top of a Unix host; a path below one of them is a
// host path in any context. Roots in deepRoots are also usual in URLs, so they
// count only with something below them.
var roots = set(`bin boot dev etc lib32 lib64 libx32 lost+found mnt opt proc root sbin srv sys usr var
	gate gate-init gate-payload Applications Volumes efi initrd afs nix selinux vmlinuz cdrom hostfs rootfs
	.ssh .aws .kube .docker .gnupg .netrc .pgpass`)
var deepRoots = set(`home lib media run Users Library System private snap net nfs cores host data`)

var harmlessDevices = set(`null zero random urandom stdin stdout stderr`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Allowed says whether an absolute path lies in what a sandbox has.
func Allowed(p string) bool {
	if slices.Contains(strings.Split(p, "/"), "..") {
		return false
	}
	p = path.Clean(p)
	for _, top := range []string{"/in", "/out", "/tmp"} {
		if p == top || strings.HasPrefix(p, top+"/") {
			return true
		}
	}
	dev, ok := strings.CutPrefix(p, "/dev/")
	return ok && harmlessDevices[dev]
}

var (
	// A URL of any scheme, up to what can't be part of it.
	urlRe = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]{1,30}:/{1,5}[^\\s'\"`<>]*")
	// Where a path may begin: not behind a letter, a digit, a dot or another
	// path, since "a/b", "2026/02" and "./x" are relative.
	startRe = regexp.MustCompile("(^|[\\s=:,;@'\"`(\\[{<>|&!+])" +
		"(/+[A-Za-z0-9._%@+$*?{}~-][^\\s'\"`,;:()\\[\\]<>|&]*|/)")
	escapeRe  = regexp.MustCompile(`(^|[\s=:,;@'"(\[/\\])(\.\.)($|[/\\])`)
	homeRe    = regexp.MustCompile(`(^|[\s=:,;@'"(\[])(~(?:[A-Za-z_][A-Za-z0-9_-]*)?/[^\s'"]*|~$)`)
	homeVarRe = regexp.MustCompile(`\$(?:HOME|\{HOME\})/|%USERPROFILE%|%SYSTEMROOT%`)
	windowsRe = regexp.MustCompile(`(?:^|[\s=:,;@'"(\[])` +
		`([A-Za-z]:\\[A-Za-z0-9_.$ \\-]*|\\\\[A-Za-z0-9_.-]+\\[A-Za-z0-9_.$-]+)`)
	// "x:\x0A", ":\d": an escape, and no drive.
	escapedRe = regexp.MustCompile(`^[A-Za-z]:\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{2,3}` +
		`|[0nrtbfvdswDSWB](?:[^\w.-]|$))`)
	socketRe = regexp.MustCompile(`(?i)\bunix:/*[^\s'"]*|[\w/.-]*\b(?:docker|containerd|podman|crio)\.sock\b`)
	driveRe  = regexp.MustCompile(`^[A-Za-z]:/`)
	nameRe   = regexp.MustCompile(`^[A-Za-z0-9.]`)
)

// Paths returns the paths in text that must not be named, in order.
func Paths(text string, ctx Context) []Ref {
	f := &finder{text: text, ctx: ctx}
	f.sockets()
	f.masked = f.maskURLs()
	f.absolute()
	f.escapes()
	f.homes()
	f.windows()
	if ctx == Prose {
		f.spokenDevices()
		f.spokenPaths()
		f.refs = slices.DeleteFunc(f.refs, f.denied)
	}
	slices.SortFunc(f.refs, func(a, b Ref) int { return a.Offset - b.Offset })
	return f.refs
}

type finder struct {
	text string
	// masked is the text with its URLs blanked out.
	masked string
	ctx    Context
	refs   []Ref
}

func (f *finder) add(kind Kind, from, to int) {
	overlaps := func(r Ref) bool { return from < r.End && r.Offset < to }
	if len(f.refs) < MaxRefs && !slices.ContainsFunc(f.refs, overlaps) {
		f.refs = append(f.refs, Ref{kind, from, to, f.text[from:to]})
	}
}

func (f *finder) sockets() {
	for _, m := range socketRe.FindAllStringIndex(f.text, MaxRefs) {
		found := f.text[m[0]:m[1]]
		if f.ctx == Literal && found != f.text && !strings.ContainsAny(found, "/:") {
			continue // a word among others
		}
		f.add(Socket, m[0], m[1])
	}
}

// absolute looks for paths that begin with a slash.
func (f *finder) absolute() {
	option := len(f.masked) // the end of what may be an option's name: none is behind a blank or a quote
	if i := strings.IndexAny(f.masked, notInOption); i >= 0 {
		option = i
	}
	for _, m := range startRe.FindAllStringSubmatchIndex(f.masked, -1) {
		from, to := m[4], m[5]
		p := strings.TrimRight(f.masked[from:to], ".")
		value := from == m[2]+1 && from <= option && optionValue(f.masked[:from])
		if kind := judge(p, from == 0 || value, from == 0, f.ctx); kind != "" {
			f.add(kind, from, from+len(p))
		}
	}
	if m := shortOption.FindStringSubmatchIndex(f.masked); m != nil && f.ctx == Argument {
		if kind := judge(f.masked[m[2]:m[3]], true, false, f.ctx); kind != "" {
			f.add(kind, m[2], m[3])
		}
	}
}

func (f *finder) escapes() {
	if f.ctx == Prose && !strings.Contains(f.masked, "../../") {
		return
	}
	for _, m := range escapeRe.FindAllStringSubmatchIndex(f.masked, MaxRefs) {
		if f.ctx == Literal && (m[7] == m[6] || staysBelow(f.masked, m[4], m[5])) { // ".." alone is punctuation
			continue
		}
		f.add(Escape, m[4], m[5])
	}
}

func (f *finder) homes() {
	for _, m := range homeRe.FindAllStringSubmatchIndex(f.masked, MaxRefs) {
		if f.masked[m[4]:m[5]] == "~" && (f.ctx == Prose || m[4] > 0) {
			continue
		}
		f.add(Home, m[4], m[5])
	}
	for _, m := range homeVarRe.FindAllStringIndex(f.masked, MaxRefs) {
		f.add(Home, m[0], m[1])
	}
}

func (f *finder) windows() {
	for _, m := range windowsRe.FindAllStringSubmatchIndex(f.masked, MaxRefs) {
		if f.ctx == Literal && strings.HasPrefix(f.masked[m[2]:], `\\`) || escapedRe.MatchString(f.masked[m[2]:]) {
			continue // an escaped backslash in a pattern
		}
		f.add(Host, m[2], m[3])
	}
	if driveRe.MatchString(f.masked) && f.ctx != Prose {
		f.add(Host, 0, len(f.masked))
	}
}

var shortOption = regexp.MustCompile(`^-[A-Za-z](/[^\s]+)`)

// optionValue says whether what precedes a path is an option's name and "=".
func optionValue(before string) bool {
	name, ok := strings.CutSuffix(before, "=")
	return ok && !strings.ContainsAny(name, notInOption)
}

// notInOption are characters that end an option's name.
const notInOption = " \t'\"/"

// maskURLs reports URLs that name files, and blanks out all of them.
func (f *finder) maskURLs() string {
	if !strings.Contains(f.text, ":/") {
		return f.text
	}
	b := []byte(f.text)
	for _, m := range urlRe.FindAllStringIndex(f.text, -1) {
		scheme, rest, _ := strings.Cut(f.text[m[0]:m[1]], ":")
		p := strings.TrimLeft(rest, "/")
		slashes := len(rest) - len(p)
		switch s := strings.ToLower(scheme); {
		case s == "file" || strings.HasSuffix(s, "+file"):
			if slashes == 2 { // file://HOST/path
				_, p, _ = strings.Cut(p, "/")
			}
			if decoded, err := url.PathUnescape(p); err == nil {
				p = decoded
			}
			if !Allowed("/" + p) {
				f.add(Host, m[0], m[1])
			}
		case slashes == 1:
			continue // not a URL: "jdbc:sqlite:/etc/x", "host:/path"
		case slashes >= 4 && strings.HasPrefix(s, "sqlite") && !Allowed("/"+p):
			f.add(Host, m[0], m[1])
		}
		for i := m[0]; i < m[1]; i++ {
			b[i] = 'x'
		}
	}
	return string(b)
}

// unknown are the bytes that stand for what a path only gets later.
const unknown = "{}$%*?"

// staysBelow says whether the path around the ".." between two places holds no other one,
// and does not leave the folder that it begins in, such as a/../b or /in/a/../b. A literal
// can be cut up before it is used, so what follows must be no folder of a host's root.
func staysBelow(text string, from, to int) bool {
	const ends = " \t\n'\"`,;:()[]<>|&="
	start := strings.LastIndexAny(text[:from], ends) + 1
	end := len(text)
	if i := strings.IndexAny(text[to:], ends); i >= 0 {
		end = to + i
	}
	p := text[start:end]
	if strings.ContainsAny(p, unknown+`\`) {
		return false
	}
	clean := path.Clean(p)
	before, after, _ := strings.Cut(p, "..")
	next, _, _ := strings.Cut(strings.TrimLeft(after, "/"), "/")
	switch {
	case strings.Contains(after, "..") || roots[next]:
		return false
	case path.IsAbs(p):
		return Allowed(before) && Allowed(clean)
	}
	return clean != ".." && !strings.HasPrefix(clean, "../")
}

// judge decides about one candidate that begins with a slash. whole says that it is
// all of a word or of an option's value, first that nothing stands before it.
func judge(p string, whole, first bool, ctx Context) Kind {
	clean := path.Clean("/" + strings.TrimLeft(p, "/"))
	if Allowed(clean) && Allowed("/"+strings.TrimLeft(p, "/")) {
		return ""
	}
	top, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	switch {
	case top == "dev" && rest == "" && ctx >= Literal:
		return ""
	case top == "dev":
		return Device
	case (roots[top] || deepRoots[top] && rest != "") && strings.HasSuffix(clean, ".sock"):
		return Socket
	case roots[top], deepRoots[top] && rest != "":
		return Host
	case slices.Contains(strings.Split(p, "/"), ".."):
		if i := strings.Index(p, ".."); ctx == Literal && staysBelow(p, i, i+2) {
			return ""
		}
		return Escape
	case otherPath(p, clean, whole, first, ctx):
		return Host
	}
	return ""
}

// otherPath says whether an absolute path that begins like no folder of a host is
// one all the same, by how the text is used.
func otherPath(p, clean string, whole, first bool, ctx Context) bool {
	isData, isWeb := dataFile.MatchString(p), webFile.MatchString(p)
	switch ctx {
	case Argument:
		return whole && !strings.HasPrefix(p, "//") && (clean != "/" || first) && (isData || !isWeb)
	case Used:
		top, _, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
		return first && (clean == "/" || isName(top))
	case Literal:
		return first && isData && !isWeb
	}
	return false
}

// isName says whether the first part of a path is a name, or a pattern of names, and
// not a place for one: "{item}" in a template.
func isName(top string) bool {
	if strings.Contains(top, "{") {
		return strings.Contains(top, ",") || !strings.Contains(top, "}")
	}
	return nameRe.MatchString(top) || strings.ContainsAny(top, "*?[")
}

// Names that are files and not routes of a web site.
var (
	dataFile = regexp.MustCompile(`(?i)^/[\w.-]+/[\w./-]*` +
		`\.(csv|tsv|json|jsonl|txt|pem|key|crt|db|sqlite3?|log|conf|cfg|ini|ya?ml|toml|env|sh|py|rb` +
		`|pl|so|xlsx?|parquet|bak|sql|pkl|npy)$`)
	webFile = regexp.MustCompile(`(?i)^/(api|v[0-9]+|static|assets|public|docs|wp-[a-z]+|\.well-known)/`)
)
