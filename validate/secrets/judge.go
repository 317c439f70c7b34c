package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// checks are the judgements that a rule may name: they return whether m is a secret.
var checks = map[string]func(m found) bool{
	"password":        plausiblePassword,
	"strong-password": strongPassword,
	"url-password":    urlPassword,
	"device":          devicePassword,
	"generic":         plausibleValue,
	"labelled":        labelledValue,
	"named":           namedCredential,
	"pair":            holdsPair,
	"wallet":          walletKey,
}

// placeholder says whether s stands for a secret without being one.
func placeholder(s string) bool {
	s = strings.Trim(s, " \t\"'`\\")
	if len(s) < 3 || entropy(s) <= fewCharacters {
		return true
	}
	if _, password, ok := pairIn(s); ok && placeholder(password) {
		return true
	}
	list := own().Allowlist
	if len(s) > maxFiller {
		list.StopWords = nil // a long value is no filler because it holds one somewhere
	}
	return list.allows(found{secret: s})
}

const (
	// fewCharacters is the entropy of up to three characters, or of one group of them, over and over.
	fewCharacters = 1.585
	maxFiller     = 256
)

// entropy is Shannon's, in bits a character.
func entropy(s string) float64 {
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	e, total := 0.0, float64(len(s))
	for _, c := range n {
		if c > 0 {
			f := float64(c) / total
			e -= f * math.Log2(f)
		}
	}
	return e
}

// kind is 1 for a small letter, 2 for a capital, 3 for a digit, else 0.
func kind(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 1
	case c >= 'A' && c <= 'Z':
		return 2
	case c >= '0' && c <= '9':
		return 3
	}
	return 0
}

// classes counts the kinds of characters in s.
func classes(s string) (n int) {
	var seen [4]bool
	for i := range len(s) {
		if k := kind(s[i]); !seen[k] {
			seen[k] = true
			n++
		}
	}
	return n
}

// hasDigits says whether s has n digits at least.
func hasDigits(s string, n int) bool {
	for i := 0; i < len(s) && n > 0; i++ {
		if kind(s[i]) == 3 {
			n--
		}
	}
	return n <= 0
}

// turns counts where letters change to digits or small letters to capitals, or
// back: words have few of these, random characters many.
func turns(s string) (n int) {
	last := 0
	for i := range len(s) {
		k := kind(s[i])
		if k != 0 && last != 0 && k != last {
			n++
		}
		last = k
	}
	return n
}

var (
	// codeLike is an expression, a path or an address in place of a value.
	codeLike = regexp.MustCompile(`^[$%@&]|\(|^[a-z_]+(?:\.[a-z_]+)+$|^/|^https?://|^\\` +
		`|^(?:os|process|env|config|settings|self|this|args|options|secrets|vault|var|data|local)\.`)
	// member is what an object or a module holds: System.getenv, Settings::DB_PASSWORD.
	member = regexp.MustCompile(`^[A-Za-z_]+(?:(?:\.|->|::)[A-Za-z_]+)+$`)
	// passphrase is four words or more, as password managers make them.
	passphrase = regexp.MustCompile(`^[a-z]{3,9}(?:-[a-z]{3,9}){3,7}$`)
	digestLike = regexp.MustCompile(`(?i)^(?:sha\d+[:=-])?(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{56}` +
		`|[\da-f]{64}|[\da-f]{96}|[\da-f]{128})$`)
	uuidLike = regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	dateLike = regexp.MustCompile(`^\d{4}-\d\d-\d\d|^[\d.,:_-]+$|^\d+\.\d+\.\d+`)
	pathLike = regexp.MustCompile(`^[\w.-]*/[\w./-]*\.\w{1,5}$|^/`)

	strongName = regexp.MustCompile(`(?i)(?:api|auth|access|secret|private|client|signing|encryption|master)` +
		`[_.\s-]?(?:key|token|secret)|password|passwd|bearer|credential|(?:^|[^a-z])secret`)
	publicName = regexp.MustCompile(`(?i)pub(?:lic)?[_.\s-]?key(?: [\w-]{1,20})?["'\s]{0,3}[:=]\s*["']?$`)
	// harmlessToken and harmlessKey are names of tokens and keys that let nobody in.
	harmlessToken = regexp.MustCompile(`(?i)(?:page|next|continuation|csrf|xsrf|request|cancel\w*|idempotency` +
		`|correlation|sync|resume|cursor)[ _-]?token`)
	harmlessKey = regexp.MustCompile(`(?:^|_|\b)(?:PUB(?:LIC)?|CACHE|PRIMARY|FOREIGN|PARTITION|SORT|ROUTING|OBJECT` +
		`|GROUP|SHARD|NEXT|PAGE|CURSOR|CSRF|XSRF|IDEMPOTENCY|CORRELATION|SYNC|RESUME|VERIFY|PUBLISHABLE|SITE|LOOKUP` +
		`|INDEX|MERGE|DEDUP)_`)
)

// digestLabel stands in front of a digest.
const digestLabel = `(?:sha-?\d*|md5|digest|checksum)["']?\s?[:=]\s?`

var (
	// ofFile ends what stands in front of the digest of a file, whatever the file's name promises, and
	// moduleSum what stands in front of a line's digest in go.sum.
	ofFile = regexp.MustCompile(`(?i)(?:[\w-]\.(?:[ct]sv|jsonl?|txt|md|ya?ml|toml|xml|html?|log|py|js|ts|go|zip|t?gz|pdf` +
		`|png|jpe?g|xlsx?|docx?|parquet|db|sqlite|pem|key|crt)["']?[\s:=,]{1,4}|/[\w.-]+["']?\s{1,4}` + digestLabel + `)` +
		`(?:` + digestLabel + `)?["']?$`)
	moduleSum = regexp.MustCompile(`\sv\d[\w.+-]*(?:/go\.mod)? h1:$`)
	// ofDigest ends the name of a digest, nextLine one that has no value: what follows is the next line's assignment.
	ofDigest = regexp.MustCompile(`(?i)(?:sha-?\d{1,3}|md5|hash|digest|checksum|fingerprint)["'\s]{0,3}[:=]{1,2}>?\s*["']?$`)
	nextLine = regexp.MustCompile(`^[A-Za-z_]\w*=`)
	// resource is a path in a service, or a file.
	resource = regexp.MustCompile(`^[a-z][a-z0-9.-]*(?:/[a-z0-9._-]+){2,}$|^[\w.-]+\.(?:json|ya?ml|toml|txt|pem|ini|cfg|conf|xml` +
		`|csv|key|crt|md)$`)
	// chord is a combination of keys of a keyboard.
	chord = regexp.MustCompile(`(?i)^(?:(?:ctrl|control|alt|option|shift|cmd|command|meta|super|win|fn)[+-]){1,4}[\w.]+$`)
	// aboutAccess ends a name that says how or where one gets in, or what is unique, and not with what.
	aboutAccess = regexp.MustCompile(`(?i)(?:auth|access|api|token|credentials?|secret)[_.-](?:provider|url|uri|endpoint` +
		`|host|type|method|mode|scheme|realm|domain|algorithm|region|issuer|audience)["'\s]{0,3}[:=]{1,2}>?\s*["']?$` +
		`|(?:unique|primary|foreign|partition|sort|index|cache)_?key["'\s]{0,3}[:=]{1,2}>?\s*["']?$`)
)

// maxName is how far in front of a password its name is looked for.
const maxName = 40

// fieldNames are the names of the fields of a record, as in the manual of passwd, or of a constant.
var fieldNames = regexp.MustCompile(`^[A-Za-z_]+(?::[A-Za-z_-]+){3,}$|^[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+$`)

// plausiblePassword tells a password from prose, code and types.
func plausiblePassword(m found) bool {
	s := m.secret
	before, _, _ := strings.Cut(m.line, s)
	quoted := strings.HasSuffix(m.match, `"`) || strings.HasSuffix(m.match, "'")
	switch {
	case codeLike.MatchString(s), fieldNames.MatchString(s), !quoted && member.MatchString(s),
		harmlessToken.MatchString(before[max(0, len(before)-maxName):]),
		strings.Contains(s, "://"), strings.Contains(s, " ") && classes(s) < 4:
		return false
	}
	return passphrase.MatchString(s) || classes(s) >= 3 ||
		classes(s) == 2 && hasDigits(s, 1) && len(s) >= 8 && entropy(s) > 2.5
}

// strongPassword tells a password from the words of a sentence.
func strongPassword(m found) bool {
	s := strings.TrimRight(m.secret, ".,;!?")
	return len(s) >= 8 && classes(s) >= 3 && hasDigits(s, 1) &&
		plausiblePassword(found{secret: s})
}

// urlPassword leaves out defaults that everybody knows, such as guest:guest@.
func urlPassword(m found) bool {
	_, rest, _ := strings.Cut(m.match, "://")
	user, _, _ := strings.Cut(rest, ":")
	return m.secret != user && !codeLike.MatchString(m.secret)
}

// devicePassword also takes hashes and long numbers, as devices print them.
func devicePassword(m found) bool {
	hash := strings.HasPrefix(m.secret, "$") && len(m.secret) > 20
	return plausiblePassword(m) || hash || hasDigits(m.secret, 3) && len(m.secret) >= 12
}

// plausibleValue tells a credential from digests, UUIDs, dates, versions and file names,
// which stand next to words like "key" in ordinary data.
func plausibleValue(m found) bool {
	name := m.match
	if i := strings.LastIndex(m.match, m.secret); i >= 0 {
		name = m.match[:i]
	}
	before, _, _ := strings.Cut(m.line, m.secret)
	if publicName.MatchString(before) || moduleSum.MatchString(before) || aboutAccess.MatchString(before) ||
		chord.MatchString(m.secret) || digestLike.MatchString(m.secret) && ofFile.MatchString(before) ||
		ofDigest.MatchString(name) || nextLine.MatchString(m.secret) && strings.Contains(name, "\n") ||
		resource.MatchString(m.secret) {
		return false
	}
	if digestLike.MatchString(m.secret) || uuidLike.MatchString(m.secret) {
		return strongName.MatchString(name)
	}
	return !harmlessToken.MatchString(name) && !dateLike.MatchString(m.secret) &&
		!pathLike.MatchString(m.secret) && !codeLike.MatchString(m.secret)
}

// labelledValue is a random value, since its label is an ordinary word.
func labelledValue(m found) bool {
	s := m.secret
	random := classes(s) >= 3 && hasDigits(s, 1) || hasDigits(s, 4) && turns(s) > 7
	return random && plausibleValue(m)
}

// namedCredential tells what a name in capitals promises from a path, a date or words.
func namedCredential(m found) bool {
	s := m.secret
	name, _, _ := strings.Cut(m.match, s)
	switch {
	case harmlessKey.MatchString(name), nextLine.MatchString(s) && strings.Contains(name, "\n"),
		strings.Contains(s, "://"), uuidLike.MatchString(s),
		dateLike.MatchString(s), pathLike.MatchString(s), codeLike.MatchString(s):
		return false
	case digestLike.MatchString(s):
		return true
	}
	return hasDigits(s, 2) && entropy(s) > 3.3 && turns(s) > 4
}

// holdsPair says whether base64 holds a name and a password, or for npm a password.
func holdsPair(m found) bool {
	text, _, pair := pairIn(m.secret)
	return len(text) >= 8 && (pair || strings.Contains(m.match, "_password"))
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// walletKey says whether the last four bytes of a key in base58 are the checksum of the others.
func walletKey(m found) bool {
	n := new(big.Int)
	for _, c := range m.secret {
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(strings.IndexRune(base58, c))))
	}
	b := n.Bytes()
	if len(b) < 8 {
		return false
	}
	once := sha256.Sum256(b[:len(b)-4])
	twice := sha256.Sum256(once[:])
	return bytes.Equal(twice[:4], b[len(b)-4:])
}

// pairIn is what s spells in base64, and what stands behind its first colon.
func pairIn(s string) (text, password string, ok bool) {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", "", false
	}
	_, password, ok = strings.Cut(string(b), ":")
	return string(b), password, ok
}

// prefixes are public beginnings that may be shown of a secret.
var prefixes = []string{
	"AKIA", "ASIA", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-",
	"xoxa-", "xapp-", "sk_live_", "sk_test_", "rk_live_", "sk-", "AIza", "ya29.", "eyJ", "npm_",
	"pypi-", "hf_", "dop_v1_", "SG.", "key-", "shpat_", "AGE-SECRET-KEY-1", "ops_", "hvs.", "$6$",
	"$2b$", "$y$",
}

func publicPrefix(secret string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(secret, p) {
			return p
		}
	}
	return ""
}
