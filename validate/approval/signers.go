package approval

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signers is a parsed allowed_signers file.
type Signers struct{ list []signer }

type signer struct {
	line       int
	principals []string
	namespaces []string // nil means any
	after      time.Time
	before     time.Time
	authority  bool
	key        ssh.PublicKey
}

// ParseSigners reads the allowed_signers format of ssh-keygen: principals,
// options, key type, key. A time without "Z" means UTC here, since the package
// knows no other zone. An error names the line.
func ParseSigners(text []byte) (*Signers, error) {
	out := &Signers{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseSigner(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrSigners, i+1, err)
		}
		s.line = i + 1
		out.list = append(out.list, s)
	}
	return out, nil
}

// principalsAndKey matches the principals of a line, and what the file has in common with
// authorized_keys of sshd.
var principalsAndKey = regexp.MustCompile(`^("[^"]*"|[^\s"]+)\s+(.+)$`)

func parseSigner(line string) (signer, error) {
	m := principalsAndKey.FindStringSubmatch(line)
	if m == nil {
		return signer{}, errors.New("a line must have principals, options, key type and key")
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(m[2]))
	if err != nil {
		return signer{}, fmt.Errorf("options, key type and key must follow the principals: %w", err)
	}
	s := signer{principals: strings.Split(strings.Trim(m[1], `"`), ","), key: key}
	return s, s.options(options)
}

func (s *signer) options(list []string) error {
	for _, o := range list {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		var err error
		switch strings.ToLower(name) {
		case "cert-authority":
			s.authority = true
		case "namespaces":
			s.namespaces = strings.Split(value, ",")
		case "valid-after":
			s.after, err = parseTime(value)
		case "valid-before":
			s.before, err = parseTime(value)
		default:
			err = fmt.Errorf("unknown option %q", bounded(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.Parse(layout, strings.TrimRight(s, "Zz")); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time like 20260209 or 20260209160501Z", bounded(s))
}

// allow says why key may not sign for approver at that time; nil if it may.
func (s *Signers) allow(namespace, approver string, key ssh.PublicKey, at time.Time) error {
	wire := key.Marshal()
	var why error
	for _, e := range s.list {
		if e.authority || !bytes.Equal(e.key.Marshal(), wire) {
			continue // certificates are not read
		}
		switch {
		case !e.names(approver):
			if why == nil {
				why = fmt.Errorf("%w: the key is listed for somebody else", ErrSigner)
			}
		case e.namespaces != nil && !match(e.namespaces, namespace):
			why = fmt.Errorf("%w: line %d allows the key for other namespaces only", ErrSigner, e.line)
		case !e.after.IsZero() && at.Before(e.after):
			why = fmt.Errorf("%w: the key is valid only after %s", ErrSigner, e.after.Format(time.RFC3339))
		case !e.before.IsZero() && !at.Before(e.before):
			why = fmt.Errorf("%w: the key was valid only before %s", ErrSigner, e.before.Format(time.RFC3339))
		default:
			return nil
		}
	}
	if why == nil {
		why = fmt.Errorf("%w: the key %s is not listed", ErrSigner, ssh.FingerprintSHA256(key))
	}
	return why
}

// names says whether the principals of a line name approver. Patterns are OpenSSH's; a principal without
// wildcards also stands for other spellings of the same person, and what is excluded stays so in each.
func (s *signer) names(approver string) bool {
	found := false
	for _, p := range s.principals {
		p, negated := strings.CutPrefix(strings.TrimSpace(p), "!")
		same := wildcard(p, approver) || !strings.ContainsAny(p, "*?") && Same(p, approver)
		if negated && (same || wildcard(folded(p), folded(approver))) {
			return false
		}
		found = found || same && !negated
	}
	return found
}

// match applies OpenSSH's pattern lists: * and ?, and ! to exclude.
func match(patterns []string, s string) bool {
	found := false
	for _, p := range patterns {
		p = strings.TrimSpace(p)
		negated := strings.HasPrefix(p, "!")
		if wildcard(strings.TrimPrefix(p, "!"), s) {
			if negated {
				return false
			}
			found = true
		}
	}
	return found
}

// wildcard matches * and ? only: brackets and backslashes stand for themselves,
// and a slash is an ordinary character.
func wildcard(pattern, s string) bool {
	hide := strings.NewReplacer(`\`, `\\`, "[", `\[`, "/", "\x01")
	ok, err := path.Match(hide.Replace(pattern), strings.ReplaceAll(s, "/", "\x01"))
	return err == nil && ok && s != ""
}
