// Package paths tells the paths that a sandbox has from those of a host: in
// command line words, in string literals of code and in prose. Its input is
// hostile; it never touches a file system. It errs on the side of a finding
// where a text is used as a path, and on the side of silence where it is a
// pattern, a route of a URL or a fraction.
package paths

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

// MaxRefs bounds what Find returns.
const MaxRefs = 50

// roots are the folders at the top of a Unix host; a path below one of them is a
// host path in any context. Roots in deepRoots are also usual in URLs, so they
// count only with something below them.
var roots = set(`bin boot dev etc lib32 lib64 libx32 lost+found mnt opt proc root sbin srv sys usr var gate gate-init Applications Volumes
	efi initrd afs nix selinux vmlinuz cdrom hostfs rootfs .ssh .aws .kube .docker .gnupg .netrc .pgpass`)
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
	startRe   = regexp.MustCompile("(^|[\\s=:,;@'\"`(\\[{<>|&!+])(/+[A-Za-z0-9._%@+$*?{}~-][^\\s'\"`,;:()\\[\\]<>|&]*|/)")
	escapeRe  = regexp.MustCompile(`(^|[\s=:,;@'"(\[/\\])(\.\.)($|[/\\])`)
	homeRe    = regexp.MustCompile(`(^|[\s=:,;@'"(\[])(~(?:[A-Za-z_][A-Za-z0-9_-]*)?/[^\s'"]*|~$)`)
	homeVarRe = regexp.MustCompile(`\$(?:HOME|\{HOME\})/|%USERPROFILE%|%SYSTEMROOT%`)
	windowsRe = regexp.MustCompile(`(?:^|[\s=:,;@'"(\[])([A-Za-z]:\\[A-Za-z0-9_.$ \\-]*|\\\\[A-Za-z0-9_.-]+\\[A-Za-z0-9_.$-]+)`)
	socketRe  = regexp.MustCompile(`(?i)\bunix:/*[^\s'"]*|\babstract-(?:connect|listen|client|sendto|recvfrom):[^\s'"]*|[\w/.-]*\b(?:docker|containerd|podman|crio)\.sock\b`)
	driveRe   = regexp.MustCompile(`^[A-Za-z]:/`)
	nameRe    = regexp.MustCompile(`^[A-Za-z0-9]`)
)

// Find returns the paths in text that must not be named, in order.
func Find(text string, ctx Context) []Ref {
	var refs []Ref
	add := func(kind Kind, from, to int) {
		for _, r := range refs {
			if from < r.End && r.Offset < to {
				return
			}
		}
		if len(refs) < MaxRefs {
			refs = append(refs, Ref{kind, from, to, text[from:to]})
		}
	}
	if marked(text) {
		find(text, ctx, add)
	}
	if ctx == Prose {
		spokenDevices(text, add)
		spokenPaths(text, add)
	}
	slices.SortFunc(refs, func(a, b Ref) int { return a.Offset - b.Offset })
	return refs
}

// marked says whether text holds anything that a path is known by.
func marked(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '/', '\\', '~', '%', '$':
			return true
		case '.':
			if rest := text[i+1:]; strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "sock") {
				return true
			}
		}
	}
	return false
}

// find calls add for each path in text that must not be named.
func find(text string, ctx Context, add func(kind Kind, from, to int)) {
	for _, m := range socketRe.FindAllStringIndex(text, MaxRefs) {
		if m := text[m[0]:m[1]]; ctx == Literal && m != text && !strings.ContainsAny(m, "/:") {
			continue // a word among others
		}
		add(Socket, m[0], m[1])
	}
	masked := maskURLs(text, add)
	option := len(masked) // the end of what may be an option's name: none is behind a blank or a quote
	if i := strings.IndexAny(masked, notInOption); i >= 0 {
		option = i
	}
	for _, m := range startRe.FindAllStringSubmatchIndex(masked, -1) {
		from, to := m[4], m[5]
		p := strings.TrimRight(masked[from:to], ".")
		to = from + len(p)
		whole := from == 0 || from == m[2]+1 && from <= option && optionValue(masked[:from])
		if kind := judge(p, whole, from == 0, ctx); kind != "" {
			add(kind, from, to)
		}
	}
	if optionPath := shortOption.FindStringSubmatchIndex(masked); optionPath != nil && ctx == Argument {
		from, to := optionPath[2], optionPath[3]
		if kind := judge(masked[from:to], true, false, ctx); kind != "" {
			add(kind, from, to)
		}
	}
	if ctx != Prose || strings.Contains(masked, "../../") {
		for _, m := range escapeRe.FindAllStringSubmatchIndex(masked, MaxRefs) {
			if ctx == Literal && (m[7] == m[6] || staysBelow(masked, m[4], m[5])) { // ".." alone is punctuation
				continue
			}
			add(Escape, m[4], m[5])
		}
	}
	for _, m := range homeRe.FindAllStringSubmatchIndex(masked, MaxRefs) {
		if masked[m[4]:m[5]] == "~" && (ctx == Prose || m[4] > 0) {
			continue
		}
		add(Home, m[4], m[5])
	}
	for _, m := range homeVarRe.FindAllStringIndex(masked, MaxRefs) {
		add(Home, m[0], m[1])
	}
	for _, m := range windowsRe.FindAllStringSubmatchIndex(masked, MaxRefs) {
		if ctx == Literal && strings.HasPrefix(masked[m[2]:], `\\`) {
			continue // an escaped backslash in a pattern
		}
		add(Host, m[2], m[3])
	}
	if driveRe.MatchString(masked) && ctx != Prose {
		add(Host, 0, len(masked))
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

// maskURLs blanks out URLs, having looked at those that name files.
func maskURLs(text string, add func(Kind, int, int)) string {
	if !strings.Contains(text, ":/") {
		return text
	}
	b := []byte(text)
	for _, m := range urlRe.FindAllStringIndex(text, -1) {
		u := text[m[0]:m[1]]
		scheme, rest, _ := strings.Cut(u, ":")
		slashes := len(rest) - len(strings.TrimLeft(rest, "/"))
		switch s := strings.ToLower(scheme); {
		case s == "file" || strings.HasSuffix(s, "+file") || s == "fd":
			p := "/" + strings.TrimLeft(rest, "/")
			if slashes == 2 { // file://HOST/path
				_, after, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
				p = "/" + after
			}
			if decoded, err := url.PathUnescape(p); err == nil {
				p = decoded
			}
			if !Allowed(p) {
				add(Host, m[0], m[1])
			}
		case s == "php" || s == "phar" || s == "glob" || s == "zip":
			if _, p, ok := strings.Cut(u, "=/"); ok && !Allowed("/"+p) { // a wrapper of PHP around a path
				add(Host, m[0], m[1])
			}
		case slashes == 1:
			continue // not a URL: "jdbc:sqlite:/etc/x", "host:/path"
		case s == "sqlite" || strings.HasPrefix(s, "sqlite+") || s == "duckdb":
			if slashes >= 4 && !Allowed("/"+strings.TrimLeft(rest, "/")) {
				add(Host, m[0], m[1])
			}
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

// judge decides about one candidate that begins with a slash.
func judge(p string, whole, first bool, ctx Context) Kind {
	clean := path.Clean("/" + strings.TrimLeft(p, "/"))
	if Allowed(clean) && Allowed("/"+strings.TrimLeft(p, "/")) {
		return ""
	}
	top, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	if top == "dev" {
		if rest == "" && ctx >= Literal {
			return ""
		}
		return Device
	}
	if roots[top] || deepRoots[top] && rest != "" {
		if strings.HasSuffix(clean, ".sock") {
			return Socket
		}
		if ctx == Prose && rest == "" && !strings.HasSuffix(p, "/") && !roots[top] {
			return ""
		}
		return Host
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		if ctx == Literal && staysBelow(p, strings.Index(p, ".."), strings.Index(p, "..")+2) {
			return ""
		}
		return Escape
	}
	switch ctx {
	case Argument:
		if !whole || strings.HasPrefix(p, "//") {
			return ""
		}
		if webFile.MatchString(p) && !dataFile.MatchString(p) {
			return ""
		}
		if clean == "/" {
			if first {
				return Host
			}
			return ""
		}
		return Host
	case Used:
		if first && (clean == "/" || nameRe.MatchString(top) || strings.HasPrefix(top, ".") || strings.ContainsAny(top, "*?[") || strings.Contains(top, "{") && (strings.Contains(top, ",") || !strings.Contains(top, "}"))) {
			return Host
		}
	case Literal:
		if first && dataFile.MatchString(p) && !webFile.MatchString(p) {
			return Host
		}
	}
	return ""
}

// Names that are files and not routes of a web site.
var (
	dataFile = regexp.MustCompile(`(?i)^/[\w.-]+/[\w./-]*\.(csv|tsv|json|jsonl|txt|pem|key|crt|db|sqlite3?|log|conf|cfg|ini|ya?ml|toml|env|sh|py|rb|pl|so|xlsx?|parquet|bak|sql|pkl|npy)$`)
	webFile  = regexp.MustCompile(`(?i)^/(api|v[0-9]+|static|assets|public|docs|wp-[a-z]+|\.well-known)/`)
)
