package secrets

import (
	"regexp"
	"strings"
)

const genericRule = "generic-api-key"

// replaced lists gitleaks' rules that ours stand in for.
var replaced = map[string]bool{
	"private-key":      true, // wants a closing line: a truncated key is still one
	"jwt":              true, // wants a blank or quote behind it
	"aws-access-token": true, // takes no digits but 2-7
}

// ownRules are the kinds that gitleaks lacks or sees too narrowly. To add one,
// add a row: keywords in lower case, one of which must be near the secret.
func ownRules() []rule {
	re := regexp.MustCompile
	return []rule{
		{id: "private-key", keywords: []string{"private key", "-----begin"},
			re:    re(`-----BEGIN[ A-Z0-9_"'+.&,-]{0,60}PRIVATE["'+.&, ]{1,8}KEY(?:["'+.&, ]{1,8}BLOCK)?["'+.&, ]{0,8}-----((?:[\s\w.:,+/=()\\"'>#]|-[A-Za-z0-9]){24,})`),
			check: func(m found) bool { return keyBody.MatchString(m.secret) }},
		{id: "openssh-private-key", keywords: []string{"b3blbnnzac1rzxktdje"}, re: re(`(b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s\\]{40,})`)},
		{id: "putty-private-key", keywords: []string{"private-lines"}, re: re(`(?s)PuTTY-User-Key-File-\d.{1,1000}?Private-Lines:\s*\d+(?:\s|\\[rn])+([A-Za-z0-9+/=\s]{24,}(?:(?:\\[rn])*(?:Private)?-(?:MAC|Hash):\s*[0-9a-f]+)?)`)},
		{id: "jwt", keywords: []string{"eyj"}, re: re(`\b(eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,})?\.[A-Za-z0-9_-]{16,})`)},
		{id: "url-password", keywords: []string{"://"},
			re:    re(`[a-zA-Z][a-zA-Z0-9+.-]{1,30}://([^\s:/@'"<>]{0,64}):([^\s/@'"<>]{3,200})@[\w.\[-]`),
			group: 2, check: plausibleURLPassword},
		{id: "url-password", keywords: []string{":%s@", ":%v@", "}@"}, re: re(`://[^\s:/@'"]*:(?:\{["']([^"'\n{}]{6,})["']\}|(?:%[sv]|\{\w*\})@[^"'\n]*["']\s{0,3}(?:%|,|\.format)\s{0,3}\(?\s{0,3}["'][^"'\n]*["'],\s{0,3}["']([^"'\n]{6,})["'])`), check: plausiblePassword},
		{id: "connection-string", keywords: []string{"password=", "pwd=", "password ="},
			re:    re(`(?i)(?:server|data source|host|uid|user id|user|database|initial catalog)\s*=[^;\n]{1,100};[^\n]{0,300}?(?:password|pwd)\s*=\s*([^;\s"']{4,128})`),
			check: plausiblePassword},
		{id: "azure-shared-key", keywords: []string{"accountkey=", "sharedaccesskey="}, re: re(`(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,90}={0,2})`)},
		{id: "azure-sas", keywords: []string{"sig="}, re: re(`(?:^|[?&=\s])sv=20[^\s"']{10,400}&sig=([A-Za-z0-9%+/=]{30,100})`)},
		{id: "aws-access-token", keywords: []string{"akia", "asia", "abia", "acca", "a3t"}, re: re(`\b((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b`), entropy: 2.5},
		{id: "aws-secret-key", keywords: []string{"secretaccesskey", "secret_access_key", "aws_secret", "secret-access-key"},
			re: re(`(?i)(?:(?:aws_?)?secret[_-]?(?:access[_-]?)?key|\baws_?secret)["']?\s{0,4}(?:=>|[:=])\s{0,4}["']?([A-Za-z0-9/+=]{40})(?:[^A-Za-z0-9/+=]|$)`)},
		{id: "aws-session-token", keywords: []string{"session_token", "sessiontoken", `"token"`, "security-token"},
			re: re(`(?i)(?:session_?token|security-token|"token")["']?\s{0,4}(?:=>|[:=])\s{0,4}["']?([A-Za-z0-9/+=]{100,})`)},
		{id: "cloud-metadata-token", keywords: []string{"ec2-metadata-token", "ya29.", "identity_header", "x-identity"},
			re: re(`(?i)(?:ec2-metadata-token["']?\s*:\s*["']?([\w=-]{20,100})|\b(ya29\.[\w-]{20,400})|(?:x-identity-header|identity_header)["']?\s*[:=]\s*["']?([\w-]{20,100}))`)},
		{id: "authorization-header", keywords: []string{"authorization"},
			re:    re(`(?i)authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token|apikey)\s{1,4}([A-Za-z0-9+/._~=-]{12,})`),
			check: func(m found) bool { return classes(m.secret) >= 2 && !placeholderPair(m.secret) }},
		{id: "password-assignment", near: assignedNear(5), keywords: []string{"password", "passwd", "passphrase", "passcode", "pwd", "psk"},
			re:    re(`(?i)(?:password|passwd|passphrase|passcode|pwd|\bpsk)["']?\s{0,4}(?:=>|:=|::?|=)\s{0,4}(?:((?:(?:"[^"\n]{1,64}"|'[^'\n]{1,64}')\s{0,3}(?:[+.&]|\.\.|\|\||<>)\s{0,3}){1,6}(?:"[^"\n]{1,64}"|'[^'\n]{1,64}'))|"([^"\n]{6,128})"|'([^'\n]{6,128})'|([^\s"',;<>(){}\[\]]{6,128}))`),
			check: plausiblePassword},
		{id: "docker-pat", keywords: []string{"dckr_pat_"}, re: re(`\b(dckr_pat_[\w-]{20,60})`), entropy: 3},
		{id: "mailgun-key", keywords: []string{"key-"}, re: re(`\b(key-[0-9a-f]{32})\b`), entropy: 3},
		{id: "figma-pat", keywords: []string{"figd_"}, re: re(`\b(figd_[\w-]{30,60})`), entropy: 3},
		{id: "okta-token", keywords: []string{"okta"}, re: re(`(?i)okta[^\n]{0,40}?\b(00[\w-]{40})\b`), entropy: 3},
		{id: "google-refresh-token", keywords: []string{"1//0"}, re: re(`(?:^|[\s"'=:])(1//0[\w-]{40,200})`), entropy: 3},
		{id: "discord-bot-token", keywords: []string{"discord", "bot", ".run(", ".login("}, re: re(`\b([A-Za-z\d_-]{23,28}\.[\w-]{6}\.[\w-]{27,40})\b`), entropy: 4},
		{id: "telegram-token", keywords: []string{":aa"}, re: re(`\b(\d{8,10}:AA[\w-]{32,35})(?:[^\w-]|$)`), entropy: 4},
		{id: "labelled-token", near: valueNear, keywords: []string{"token", "key", "secret", "credential"},
			re: re(`(?i)\b(?:token|(?:api|access|secret|auth|private|account|service|master)[ _-]?key|secret|credential)s?["']?\s{0,2}(?:is\b|:|=>|=)?\s{0,2}["']?([A-Za-z0-9+/][\w.+/=-]{19,200})`), entropy: 3.7,
			check: func(m found) bool {
				return (classes(m.secret) >= 3 && hasDigits(m.secret, 1) || hasDigits(m.secret, 4) && turns(m.secret) > 7 || randomLetters(m.secret)) && plausibleGeneric(m)
			}},
		{id: "netrc", keywords: []string{"machine"}, re: re(`(?i)machine[\s+]+[^\s+]+[\s+]+login[\s+]+[^\s+]+[\s+]+password[\s+]+(\S{4,128})`)},
		{id: "password-hash", keywords: []string{":$"}, re: re(`(?m)\b[a-z_][a-z0-9_.-]{0,31}:(\$(?:1|2[abxy]|5|6|y|7|gy)\$[./A-Za-z0-9$=,]{20,200})`)},
	}
}

var keyBody = regexp.MustCompile(`[A-Za-z0-9+/]{20,}`)

// classes counts the kinds of characters in s: lower, upper, digit, other.
func classes(s string) int {
	var lower, upper, digit, other int
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z':
			lower = 1
		case c >= 'A' && c <= 'Z':
			upper = 1
		case c >= '0' && c <= '9':
			digit = 1
		default:
			other = 1
		}
	}
	return lower + upper + digit + other
}

var codeLike = regexp.MustCompile(`^[$%@&]|\(|^(?:os|process|env|config|settings|self|this|args|options|secrets|vault|var|data|local)\.|^[a-z_]+(?:\.[a-z_]+)+$|^/|^https?://|^\\`)

// member is what an object or a module holds: System.getenv, Settings::DB_PASSWORD.
var member = regexp.MustCompile(`^[A-Za-z_]+(?:(?:\.|->|::)[A-Za-z_]+)+$`)

// quoted says whether the secret stands in quotes.
func quoted(m found) bool {
	return strings.HasSuffix(m.match, `"`) || strings.HasSuffix(m.match, "'")
}

// passphrase is four words or more, as password managers make them.
var passphrase = regexp.MustCompile(`^[a-z]{3,9}(?:-[a-z]{3,9}){3,7}$`)

// plausiblePassword tells a password from prose, code and types.
func plausiblePassword(m found) bool {
	s := m.secret
	if codeLike.MatchString(s) || !quoted(m) && member.MatchString(s) || strings.Contains(s, "://") || strings.ContainsRune(s, ' ') && classes(s) < 4 {
		return false
	}
	if passphrase.MatchString(s) {
		return true
	}
	return classes(s) >= 3 || classes(s) == 2 && strings.ContainsAny(s, "0123456789") && len(s) >= 8 && entropy(s) > 2.5 || randomLetters(s)
}

func plausibleURLPassword(m found) bool {
	user := ""
	if _, rest, ok := strings.Cut(m.match, "://"); ok {
		user, _, _ = strings.Cut(rest, ":")
	}
	// guest:guest@ is a default that everybody knows; a port is no password.
	return m.secret != user && !codeLike.MatchString(m.secret)
}

var (
	digestLike = regexp.MustCompile(`^(?:sha\d+[:=-])?(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128})$`)
	uuidLike   = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	strongName = regexp.MustCompile(`(?i)(?:api|auth|access|secret|private|client|signing|encryption|master)[_.\s-]?(?:key|token|secret)|password|passwd|bearer|credential|(?:^|[^a-z])secret`)
	publicName = regexp.MustCompile(`(?i)pub(?:lic)?[_.\s-]?key["'\s]{0,3}[:=]\s*["']?$`)
	dateLike   = regexp.MustCompile(`^\d{4}-\d\d-\d\d|^[\d.,:_-]+$|^\d+\.\d+\.\d+`)
	pathLike   = regexp.MustCompile(`^[\w.-]*/[\w./-]*\.\w{1,5}$|^/`)
)

// plausibleGeneric thins out gitleaks' broadest rule: digests, UUIDs, dates,
// versions and file names stand beside words like "key" in ordinary data.
func plausibleGeneric(m found) bool {
	name := strings.TrimSuffix(m.match, m.secret)
	if i := strings.LastIndex(m.match, m.secret); i >= 0 {
		name = m.match[:i]
	}
	if before, _, ok := strings.Cut(m.line, m.secret); ok && publicName.MatchString(before) {
		return false
	}
	if digestLike.MatchString(m.secret) || uuidLike.MatchString(m.secret) {
		return strongName.MatchString(name)
	}
	return !passingToken.MatchString(name) && !dateLike.MatchString(m.secret) && !pathLike.MatchString(m.secret) && !codeLike.MatchString(m.secret)
}

// prefixes are public beginnings that may be shown of a secret.
var prefixes = []string{"AKIA", "ASIA", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-",
	"sk_live_", "sk_test_", "rk_live_", "sk-", "AIza", "ya29.", "eyJ", "npm_", "pypi-", "hf_", "dop_v1_", "SG.", "key-", "shpat_", "AGE-SECRET-KEY-1", "ops_", "hvs.", "$6$", "$2b$", "$y$"}

func publicPrefix(secret string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(secret, p) {
			return p
		}
	}
	return ""
}
