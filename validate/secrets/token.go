package secrets

import (
	"maps"
	"slices"
	"strings"
)

// token is a kind of secret that its public beginning gives away. It needs no
// regular expression: where the beginning stands, the characters behind it are
// counted.
type token struct {
	// prefix is the beginning, in the letters that it is issued in.
	prefix string
	// set is what the rest consists of.
	set *charset
	// min and max bound the length of the rest; max 0 stands for no bound. Behind a
	// beginning of tellingPrefix characters, more than max may follow, which are none
	// of the token's.
	min, max int
	// within is text that the rest holds, or empty.
	within string
	// inner says that the beginning may stand behind a letter.
	inner bool
}

type charset [256]bool

func charsetOf(s string) *charset {
	var c charset
	for i := range len(s) {
		c[s[i]] = true
	}
	return &c
}

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

var (
	hexadecimal = charsetOf(digits + "abcdefABCDEF-")
	alnums      = charsetOf(lowers + uppers + digits)
	wordy       = charsetOf(lowers + uppers + digits + "_-")
	dotted      = charsetOf(lowers + uppers + digits + "_-.!:$=")
	base64ed    = charsetOf(lowers + uppers + digits + "+/_-")
	base58      = charsetOf("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
)

// tokens are the kinds that gitleaks has no rule for, or whose rule wants a word
// in front or a blank behind. To add one, add a row.
var tokens = map[string][]token{
	// Models and what serves them.
	"openai-style-key": {{prefix: "sk-", set: wordy, min: 32}, {prefix: "sk_", set: hexadecimal, min: 40}, {prefix: "csk-", set: alnums, min: 40}},
	"groq-key":         {{prefix: "gsk_", set: alnums, min: 40}}, "xai-key": {{prefix: "xai-", set: alnums, min: 60}},
	"replicate-token": {{prefix: "r8_", set: alnums, min: 36, max: 40}}, "perplexity-key": {{prefix: "pplx-", set: alnums, min: 40}},
	"nvidia-key": {{prefix: "nvapi-", set: wordy, min: 40}}, "langsmith-key": {{prefix: "lsv2_", set: wordy, min: 36}},
	"fireworks-key": {{prefix: "fw_", set: alnums, min: 22, max: 32}}, "tavily-key": {{prefix: "tvly-", set: wordy, min: 30}}, "jina-key": {{prefix: "jina_", set: wordy, min: 50}}, "anyscale-key": {{prefix: "esecret_", set: alnums, min: 24}},
	"pinecone-key": {{prefix: "pcsk_", set: wordy, min: 40}}, "huggingface-token": {{prefix: "hf_", set: alnums, min: 30, max: 40}},
	// Clouds and hosting.
	"google-client-secret": {{prefix: "GOCSPX-", set: wordy, min: 20, max: 40}}, "google-hmac-key": {{prefix: "GOOG1", set: alnums, min: 19, max: 60}},
	"aws-mws-token": {{prefix: "amzn.mws.", set: hexadecimal, min: 36, max: 36}}, "aws-bedrock-key": {{prefix: "ABSK", set: base64ed, min: 100}},
	"tencent-key": {{prefix: "AKID", set: alnums, min: 28, max: 40}}, "supabase-key": {{prefix: "sbp_", set: hexadecimal, min: 40}, {prefix: "sb_secret_", set: wordy, min: 20}},
	"render-key": {{prefix: "rnd_", set: alnums, min: 24, max: 48}}, "deno-deploy-token": {{prefix: "ddp_", set: alnums, min: 36}}, "netlify-token": {{prefix: "nfp_", set: alnums, min: 30}, {prefix: "nfc_", set: alnums, min: 30}, {prefix: "nfo_", set: alnums, min: 30}},
	"neon-key": {{prefix: "napi_", set: alnums, min: 40}}, "aiven-password": {{prefix: "AVNS_", set: wordy, min: 16, max: 40}},
	"tailscale-key": {{prefix: "tskey-", set: wordy, min: 24}}, "heroku-key": {{prefix: "HRKU-", set: wordy, min: 30}},
	"vercel-token": {{prefix: "vcp_", set: alnums, min: 40}, {prefix: "vck_", set: alnums, min: 40}}, "digitalocean-token": {{prefix: "dop_v1_", set: hexadecimal, min: 60}, {prefix: "doo_v1_", set: hexadecimal, min: 60}, {prefix: "dor_v1_", set: hexadecimal, min: 60}},
	"swarm-token": {{prefix: "SWMTKN-1-", set: wordy, min: 50}, {prefix: "SWMKEY-1-", set: base64ed, min: 40}}, "k3s-token": {{prefix: "K10", set: dotted, min: 70, within: "::"}},
	"rancher-token": {{prefix: "kubeconfig-", set: dotted, min: 50, within: ":"}}, "fcm-key": {{prefix: "APA91b", set: wordy, min: 100}},
	// Sources, builds and packages.
	"bitbucket-token": {{prefix: "ATBB", set: alnums, min: 24, max: 40}}, "atlassian-token": {{prefix: "ATATT3", set: dotted, min: 100}, {prefix: "ATCTT3", set: dotted, min: 100}, {prefix: "ATTA", set: alnums, min: 60}},
	"circleci-token": {{prefix: "CCIPAT_", set: wordy, min: 40}, {prefix: "CCIPRJ_", set: wordy, min: 40}}, "buildkite-token": {{prefix: "bkua_", set: hexadecimal, min: 36}},
	"nuget-key": {{prefix: "oy2", set: alnums, min: 43, max: 43}}, "crates-token": {{prefix: "cio", set: alnums, min: 32, max: 32}},
	"sonar-token": {{prefix: "squ_", set: hexadecimal, min: 36}, {prefix: "sqp_", set: hexadecimal, min: 36}, {prefix: "sqa_", set: hexadecimal, min: 36}},
	"docker-oat":  {{prefix: "dckr_oat_", set: wordy, min: 20}}, "gitlab-token": {{prefix: "glpat-", set: dotted, min: 20}, {prefix: "gldt-", set: wordy, min: 20}, {prefix: "glrt-", set: wordy, min: 20}},
	"doppler-token":     {{prefix: "dp.st.", set: dotted, min: 40}, {prefix: "dp.ct.", set: dotted, min: 40}, {prefix: "dp.sa.", set: dotted, min: 40}, {prefix: "dp.scim.", set: dotted, min: 40}, {prefix: "dp.audit.", set: dotted, min: 40}},
	"onepassword-token": {{prefix: "ops_eyJ", set: wordy, min: 100}}, "vault-token": {{prefix: "hvs.", set: wordy, min: 24}, {prefix: "hvb.", set: wordy, min: 60}, {prefix: "hvr.", set: wordy, min: 60}},
	// Watching and measuring.
	"honeycomb-key": {{prefix: "hcaik_", set: alnums, min: 40}, {prefix: "hcxik_", set: alnums, min: 40}}, "new-relic-key": {{prefix: "NRAK-", set: alnums, min: 26, max: 28}}, "posthog-key": {{prefix: "phx_", set: alnums, min: 36}},
	// Money, mail and messages.
	"stripe-webhook-secret": {{prefix: "whsec_", set: base64ed, min: 24}}, "braintree-token": {{prefix: "access_token$production$", set: dotted, min: 30}, {prefix: "access_token$sandbox$", set: dotted, min: 30}},
	"square-secret": {{prefix: "sq0csp-", set: wordy, min: 36}, {prefix: "sq0atp-", set: wordy, min: 20}}, "flutterwave-key": {{prefix: "FLWSECK", set: wordy, min: 30}},
	"mandrill-key": {{prefix: "md-", set: wordy, min: 22, max: 22}}, "resend-key": {{prefix: "re_", set: wordy, min: 30, max: 36}}, "hubspot-token": {{prefix: "pat-na1-", set: hexadecimal, min: 36}, {prefix: "pat-eu1-", set: hexadecimal, min: 36}},
	"salesforce-session": {{prefix: "00D", set: dotted, min: 80, within: "!"}}, "facebook-token": {{prefix: "EAA", set: alnums, min: 90}},
	// Work in common.
	"notion-token": {{prefix: "ntn_", set: alnums, min: 40}, {prefix: "secret_", set: alnums, min: 40, max: 50}}, "linear-token": {{prefix: "lin_oauth_", set: alnums, min: 40}},
	"airtable-token": {{prefix: "pat", set: dotted, min: 79, max: 79, within: "."}}, "contentful-token": {{prefix: "CFPAT-", set: wordy, min: 36}},
	"mapbox-token": {{prefix: "sk.eyJ", set: dotted, min: 40}}, "typeform-token": {{prefix: "tfp_", set: wordy, min: 40}}, "readme-key": {{prefix: "rdme_", set: alnums, min: 60}},
	"dropbox-token": {{prefix: "sl.", set: dotted, min: 100}}, "figma-token": {{prefix: "figo_", set: wordy, min: 30}},
	// Kinds that gitleaks knows in one length, or with a blank behind them.
	"slack-token": {{prefix: "xoxb-", set: wordy, min: 20}, {prefix: "xoxp-", set: wordy, min: 20}, {prefix: "xoxa-", set: wordy, min: 20}, {prefix: "xoxr-", set: wordy, min: 20},
		{prefix: "xoxs-", set: wordy, min: 20}, {prefix: "xoxe", set: dotted, min: 30}, {prefix: "xoxc-", set: wordy, min: 20}, {prefix: "xoxd-", set: wordy, min: 20}, {prefix: "xapp-", set: wordy, min: 30}},
	"github-token":   {{prefix: "ghp_", set: alnums, min: 30}, {prefix: "gho_", set: alnums, min: 30}, {prefix: "ghu_", set: alnums, min: 30}, {prefix: "ghs_", set: alnums, min: 30}, {prefix: "ghr_", set: alnums, min: 30}, {prefix: "github_pat_", set: wordy, min: 40}},
	"google-api-key": {{prefix: "AIza", set: wordy, min: 30, max: 45}}, "sendgrid-key": {{prefix: "SG.", set: dotted, min: 50, within: "."}},
	"npm-token": {{prefix: "npm_", set: alnums, min: 30}}, "pypi-token": {{prefix: "pypi-", set: wordy, min: 60}},
	"stripe-key": {{prefix: "sk_live_", set: alnums, min: 16}, {prefix: "rk_live_", set: alnums, min: 16}, {prefix: "sk_test_", set: alnums, min: 20}},
	"twilio-key": {{prefix: "SK", set: hexadecimal, min: 32, max: 32}}, "age-secret-key": {{prefix: "AGE-SECRET-KEY-", set: wordy, min: 40}},
	"databricks-token": {{prefix: "dapi", set: hexadecimal, min: 32, max: 36}}, "grafana-token": {{prefix: "glsa_", set: wordy, min: 32}, {prefix: "glc_", set: base64ed, min: 40}},
	"shopify-token":     {{prefix: "shpat_", set: hexadecimal, min: 30}, {prefix: "shpss_", set: hexadecimal, min: 30}, {prefix: "shpca_", set: hexadecimal, min: 30}, {prefix: "shppa_", set: hexadecimal, min: 30}},
	"planetscale-token": {{prefix: "pscale_", set: dotted, min: 30}}, "sentry-token": {{prefix: "sntrys_", set: base64ed, min: 40}, {prefix: "sntryu_", set: hexadecimal, min: 40}},
	"terraform-token": {{prefix: ".atlasv1.", set: wordy, min: 40, inner: true}}, "google-access-token": {{prefix: "ya29.", set: dotted, min: 40}},
	// Keys without the lines around them.
	"der-private-key": {{prefix: "IBADANBgkqhkiG9w0BAQEFAASC", set: base64ed, min: 60, inner: true}, {prefix: "MC4CAQAwBQYDK2VwBCIEI", set: base64ed, min: 40}, {prefix: "MHcCAQEEI", set: base64ed, min: 60},
		{prefix: "CAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEbTBrAgEBBC", set: base64ed, min: 40, inner: true}, {prefix: "AgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg", set: base64ed, min: 40, inner: true},
		{prefix: "IBAAKCAQEA", set: base64ed, min: 60, inner: true}, {prefix: "IBAAKCAgEA", set: base64ed, min: 60, inner: true}, {prefix: "IBAAKCAYEA", set: base64ed, min: 60, inner: true}, {prefix: "IBAAKBgQ", set: base64ed, min: 60, inner: true}},
	"minisign-key": {{prefix: "RWRTY0Iy", set: base64ed, min: 100}}, "signify-key": {{prefix: "RWRCSw", set: base64ed, min: 100}},
	// Wallets.
	"wallet-key": {{prefix: "5H", set: base58, min: 49, max: 49}, {prefix: "5J", set: base58, min: 49, max: 49}, {prefix: "5K", set: base58, min: 49, max: 49}, {prefix: "Kw", set: base58, min: 50, max: 50}, {prefix: "Kx", set: base58, min: 50, max: 50},
		{prefix: "Ky", set: base58, min: 50, max: 50}, {prefix: "Kz", set: base58, min: 50, max: 50}, {prefix: "L1", set: base58, min: 50, max: 50}, {prefix: "L2", set: base58, min: 50, max: 50}, {prefix: "L3", set: base58, min: 50, max: 50},
		{prefix: "L4", set: base58, min: 50, max: 50}, {prefix: "L5", set: base58, min: 50, max: 50}, {prefix: "xprv", set: base58, min: 100}, {prefix: "yprv", set: base58, min: 100}, {prefix: "zprv", set: base58, min: 100}, {prefix: "tprv", set: base58, min: 100}},
}

// tokenRules makes one rule of every row.
func tokenRules() []rule {
	var rs []rule
	for _, id := range slices.Sorted(maps.Keys(tokens)) {
		rows := tokens[id]
		for i := range rows {
			rs = append(rs, rule{id: id, token: &rows[i], keywords: []string{strings.ToLower(rows[i].prefix)}})
		}
	}
	return rs
}

// tellingPrefix is the least length of a beginning that ordinary text hardly holds.
const tellingPrefix = 4

// Of random characters, fewer bits than these are hardly ever found.
const (
	tokenEntropy = 3.2
	hexEntropy   = 2.6
)

// end returns where the token ends that begins at from, or 0 if none does, and how
// many bytes had to be read for it.
func (t *token) end(b []byte, from int) (end, read int) {
	rest := from + len(t.prefix)
	if rest+t.min > len(b) || string(b[from:rest]) != t.prefix || !t.inner && inWord(b, from) {
		return 0, 0
	}
	to := rest
	for to < len(b) && t.set[b[to]] && to-rest <= maxToken {
		to++
	}
	read = to - from
	for to > rest && (b[to-1] == '.' || b[to-1] == ':' || b[to-1] == '-' || b[to-1] == '!') {
		to-- // the end of a sentence
	}
	s := string(b[rest:to])
	if to-rest < t.min {
		if s, to = t.parts(b, rest, to); s == "" {
			return 0, read
		}
	} else if t.max > 0 && to-rest > t.max {
		if len(t.prefix) < tellingPrefix {
			return 0, read
		}
		s = s[:t.max] // more of its characters follow: a name, a file's extension
	}
	least := tokenEntropy
	if t.set == hexadecimal {
		least = hexEntropy
	} else if classes(s) < 2 {
		return 0, read
	}
	if !strings.Contains(s, t.within) || !hasDigits(s, 2) || entropy(s) < least || placeholder(s) {
		return 0, read
	}
	return to, read
}

// The bounds of a token in parts: how many characters stand between two parts, how
// many parts there are, and how random all of them are.
const (
	seamReach = 48
	maxParts  = 8
	minTurns  = 6
)

// parts puts together a token that code joins of literals, of which the first one
// ends at to. The others are literals of the token's characters: "ghp_" + "Ab1...",
// "{}{}".format("ghp_", "Ab1..."), a = "ghp_"; b = "Ab1...". It returns nothing if
// they are not enough, and where the last one ends.
func (t *token) parts(b []byte, rest, to int) (string, int) {
	if to >= len(b) || strings.IndexByte("\"'`{", b[to]) < 0 || len(t.prefix) < 3 {
		return "", 0
	}
	out := b[rest:to:to]
	for range maxParts {
		from := to
		for from < min(len(b), to+seamReach) && !(t.set[b[from]] && (b[from-1] == '"' || b[from-1] == '\'' || b[from-1] == '`')) {
			from++
		}
		end := from
		for end < len(b) && t.set[b[end]] && end-from <= maxToken {
			end++
		}
		if end == from || end >= len(b) || b[end] != b[from-1] {
			return "", 0
		}
		out, to = append(out, b[from:end]...), end
		if s := string(out); len(s) >= t.min {
			if t.max > 0 && len(s) > t.max || t.set != hexadecimal && turns(s) < minTurns || !hasDigits(s, 3) {
				return "", 0
			}
			return s, to
		}
	}
	return "", 0
}

// inWord says whether a letter or a digit stands before b[i] that is no part of an
// escape such as \n.
func inWord(b []byte, i int) bool {
	if i == 0 || !wordByte(b[i-1]) || b[i-1] >= 0x80 {
		return false
	}
	return i == 1 || b[i-2] != '\\' || b[i-1] != 'n' && b[i-1] != 'r' && b[i-1] != 't'
}

// maxToken bounds how much of a token is read.
const maxToken = 4096
