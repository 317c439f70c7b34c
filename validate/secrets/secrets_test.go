package secrets_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/secrets"
)

// Secrets are put together at run time, so that scanners of this repository
// find none in it. All are made up.
var (
	ghp     = "ghp_" + "x9KdLq2mZ7RtYw4BvNc8HsJf1PgUe6AoXi3T"
	akia    = "AKIA" + "Z7QWERT2YUIOPASD"
	awsKey  = "h7Gd9Kq2LmZx4Rt8Vw1Bn6Cy3Jf5Ps0Ua" + "Xe+Io/T"
	slack   = "xoxb-" + "263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
	stripe  = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dcXqZt"
	jwt     = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiI0MiIsIm5hbWUiOiJBbm4ifQ." + "c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"
	gcp     = "ya29." + "a0AfB_byC1d2E3f4G5h6I7j8K9l0MnOpQrSt"
	keyBody = "MIIEowIBAAKCAQEAx7Vq9kLm2Zt8Rw1Yb4Nc6Hs3Jf5Pg0Ue\nAoXi7TdKq2LmZx4Rt8Vw1Bn6Cy3Jf5Ps0UaXeIoTq9KdLq2mZ7Rt"
	pem     = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + keyBody + "\n-----END RSA PRIVATE KEY-----"
)

var secretTexts = map[string]string{
	"github":          "token " + ghp,
	"aws id":          "aws_access_key_id = " + akia,
	"aws secret":      "AWS_SECRET_ACCESS_KEY=" + awsKey,
	"aws secret json": `"SecretAccessKey" : "` + awsKey + `"`,
	"slack":           slack,
	"stripe":          "key: " + stripe,
	"jwt":             "cookie=" + jwt + ",x",
	"gcp":             `{"access_token":"` + gcp + `"}`,
	"pem":             pem,
	"pem truncated":   pem[:120],
	"pem one line":    strings.ReplaceAll(pem, "\n", `\n`),
	"openssh":         "b3BlbnNzaC1rZXktdjE" + "AAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
	"postgres":        "postgres://app:" + "Zq8xKw2v@db.internal:5432/app",
	"mongodb":         "mongodb+srv://svc:" + "pA55w0rdX9@cluster0.mongodb.net/x",
	"basic auth url":  "https://bob:" + "s3cr3tP4ss@host.example.com/x",
	"ado":             "Server=tcp:db;Database=x;User ID=sa;Password=" + "Qw3rty!x9z;",
	"azure storage":   "AccountKey=" + strings.Repeat("aB3+xY9/", 10) + "aBcD12==",
	"authorization":   "Authorization: Bearer " + "abc123DEF456ghi789jkl",
	"password":        "password = " + "Tr0ub4dor&3x",
	"password quoted": `{"password": "` + `c0rrect-Horse!"}`,
	"metadata":        "X-aws-ec2-metadata-token: " + "AQAEALxq2wZ8Kd9LmQ7RtYw4BvNc8HsJf1PgUe6AoXi3Tg==",
	"netrc":           "machine api.x.org login bob password " + "zQ81kdlw",
	"shadow": "root:$6$" +
		"rounds=5000$abcdefgh$KJHGFDSAqwertyuiopZXCVBNM1234567890abcdefghijkl:19000:0:99999:7:::",
	"api key":           "api_key = " + "8f3a9c2b7d1e4f60a5b8c3d2e1f09a7b",
	"client secret":     `client_secret: "` + `q8Kd9LmQ7RtYw4BvNc8HsJf1"`,
	"curl user":         "curl -u deploy:" + "SPn3w3w7gtluvd.wo104 https://ci.example.org/api",
	"keyword in value":  "new_relic = " + "NRJS-" + "4f1c9a7be02d5836fa1",
	"no operator":       "jira token ATATT3" + strings.Repeat("xFfGF0aK9_Q2w-z8TbLcYhRn4eVuJd", 6) + "M7pS1i",
	"not silenced":      "token " + ghp + " # gitleaks:allow",
	"contains false":    "api_key = " + "q8Kdfalse9LmQ7RtYw4BvNc8HsJf1",
	"french":            "mot de passe est " + "Xk9!vbQ2mzL",
	"spanish":           "contraseña es " + "Xk9!vbQ2mzL",
	"chinese":           "密码是" + "Xk9!vbQ2mzL",
	"russian":           "пароль для доступа к основному серверу базы: " + "Xk9!vbQ2mzL",
	"russian capitals":  "ПАРОЛЬ: " + "Xk9!vbQ2mzL",
	"blank behind name": "- name: DB_PASSWORD \n  value: " + "Xk9!vbQ2mzL",
	"totp":              "totp secret: " + "JBSWY3DPEHPK3PXP",
	"totp in groups":    "totp secret: JBSW " + "Y3DP EHPK 3PXP",
	"uuid after blanks": "vault token" + strings.Repeat(" ", 12) + "=" + strings.Repeat(" ", 12) +
		"4c625da0-8045-39dc-fdd5-86d6196453ca",
	"declared type":     "password: Optional[SecretValue] = \"" + "Xk9!vbQ2mzL\"",
	"many options":      "tool --pass " + "Xk9!vbQ2mzL",
	"name behind token": "AIza" + "SyD3k9LmQ7RtYw4BvNc8HsJf1PgUe6AoXiQ-of-the-maps-account",
	"scratch codes":     "scratch_codes: 3nbq7x2k " + "fk8s0kia",
	"rescue codes":      "rescue_codes: 3nbq7x2k " + "fk8s0kia",
	"identity header":   "IDENTITY_HEADER=" + "o23jz6uHT1tvNCMMX5LD",
	"one bang":          "password=!" + "Qz7#k",
	"percent":           url.QueryEscape("a b&t=" + ghp),
	"base64":            base64.StdEncoding.EncodeToString([]byte("the token is " + ghp)),
	"base64 json":       `{"data":"` + base64.StdEncoding.EncodeToString([]byte(`{"k":"`+ghp+`"}`)) + `"}`,
	"base64 url":        base64.RawURLEncoding.EncodeToString([]byte("??>>" + ghp)),
	"base64 of PEM":     base64.StdEncoding.EncodeToString([]byte(pem)),
	"base64 wrapped":    wrap(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("filler text ", 9)+ghp)), 64),
	"base64 crlf": strings.ReplaceAll(wrap(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("filler text ",
		9)+ghp)), 76), "\n", "\r\n"),
	"base64 in a path": "/x/y/" + base64.RawURLEncoding.EncodeToString([]byte("token="+ghp)),
	"hex":              hex.EncodeToString([]byte("k=" + ghp)),
	"hex upper":        strings.ToUpper(hex.EncodeToString([]byte("k=" + ghp))),
	"hex dump":         hex.Dump([]byte("the token is " + ghp + " and more")),
	"escapes":          escape("t=" + ghp),
	"base64 twice": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("t=" +
		ghp)))),
	"hex in base64":     base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString([]byte("t=" + ghp)))),
	"base64 in percent": url.QueryEscape("d=" + base64.StdEncoding.EncodeToString([]byte("token "+ghp)) + "&x=1"),
	"three deep":        base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString([]byte("t=" + ghp)))))),
	"gzip base64":       base64.StdEncoding.EncodeToString(gz("the token is " + ghp)),
}

func wrap(s string, n int) string {
	var b strings.Builder
	for len(s) > n {
		b.WriteString(s[:n] + "\n")
		s = s[n:]
	}
	return b.String() + s + "\n"
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

func gz(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

func TestScanFinds(t *testing.T) {
	for name, s := range secretTexts {
		raw := []byte("some lines\nof ordinary text\n" + s + "\nand more\n")
		ms := secrets.Scan(raw)
		if len(ms) == 0 {
			t.Errorf("%s: not found in %q", name, s)
		}
		for _, m := range ms {
			if m.Offset < 0 || m.End > len(raw) || m.Offset >= m.End || m.Rule == "" {
				t.Errorf("%s: bad place %+v", name, m)
			}
		}
	}
}

func TestScanPasses(t *testing.T) {
	const digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	for _, s := range []string{
		"AKIAIOSFODNN7" + "EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" +
			"EXAMPLEKEY", "password: changeme", "password=<password>", "token: <token>", "token: ${TOKEN}",
		"api_key = $API_KEY",
		"api_key: {{ secrets.key }}", "password: xxxxxxxxxx", "PASSWORD=********", "secret = your_secret_here",
		"postgres://user:${DB_PASS}@host/db", "postgres://user:password@localhost/db", "amqp://guest:guest@localhost",
		"stdout_sha256: \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty",
		"cache_key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "primary key: " +
			"550e8400-e29b-41d4-a716-446655440000", "request_id=550e8400-e29b-41d4-a716-446655440000",
		"key 2026-02-09T16:10:30Z",
		"Request sha256: " + strings.Repeat("ab12", 16), "Image: sha256:" +
			strings.Repeat("cd34",
				16), "password: str = None", "def login(password: str): ...", "password = os.environ['DB_PASSWORD']",
		"password = getpass.getpass()",
		"the password must have at least 12 characters", "Enter password:", "token_count=1234567", "tokens: 128000",
		"key=value", "keyboard: qwertz-layout-v2",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx7Vq9kLm2Zt8Rw1Yb4Nc\n-----END " +
			"PUBLIC KEY-----", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"the header is -----BEGIN RSA PRIVATE KEY----- and then the body",
		"http://user@host:8080/path", "http://example.com:8080/a@b", "time 12:30:45 @ noon", "access_token=null",
		"auth: false", "commit 3f4f9c3a1b2c3d4e5f60718293a4b5c6d7e8f901",
		"etag: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
		"integrity sha512-Qw8kU2x1fZ0oV3pYb1m6c5r7t9u2w4y6a8c0e2g4i6k8m0o2q4s6u8w0y2A4C6E8G0I2K4M6O8Q0S2U4W6Y8a0==",
		"/usr/lib/python3/dist-packages/secretstorage/__init__.py", "secretary@example.com", "author: Ann Example",
		"- /out/credentials.csv sha256: " + digest, "- /out/x-credentials.json sha256: " + digest,
		"passwords.csv," + digest, "\"authkeys.txt\": \"" + digest + "\"", "apikeys.json md5: " + digest[:32],
		"+golang.org/x/oauth2 v0.21.0 h1:tsimM75w1tF/uws5rbeHzIWxEqElMehnc+iW793zsZs=",
		"example.com/token v1.2.3-0.20240101-ab/go.mod h1:XYTD2NtWslqkgxebSiOHnXEap4TF09sJSc7H1sXbhtI=",
		`"key": "ctrl+shift+down"`, "access_key=Alt-Shift-F12", "AUTH_PROVIDER=keycloak-prod-eu1",
		`unique_key="uq_ab12cd34ef56"`, "token_endpoint: oauth2-v1.token.internal",
	} {
		if ms := secrets.Scan([]byte("x\n" + s + "\n")); len(ms) != 0 {
			t.Errorf("%q: %+v", s, ms)
		}
	}
}

// leaks reports a piece of eight characters of secret in s.
func leaks(s, secret string) string {
	for i := 0; i+6 <= len(secret); i++ {
		if strings.Contains(s, secret[i:i+6]) {
			return secret[i : i+6]
		}
	}
	return ""
}

func TestNothingLeaks(t *testing.T) {
	for name, s := range secretTexts {
		raw := []byte("before " + s + " after")
		ms := secrets.Scan(raw)
		red := secrets.NewRedactor(raw, ms)
		fs := red.Findings([]schemas.Finding{{Message: "quoted: " + string(raw), Hint: s,
			Excerpt: strings.ReplaceAll(string(raw), "\n", " ")}})
		for _, m := range ms {
			secret := string(raw[m.Offset:m.End])
			for _, text := range []string{m.Masked, fs[0].Message, fs[0].Hint, fs[0].Excerpt} {
				if p := leaks(text, secret); p != "" && p != secrets.Mask {
					t.Errorf("%s: %q shows %q", name, text, p)
				}
			}
		}
		for _, m := range ms {
			if p := leaks(m.Masked, ghp); p != "" {
				t.Errorf("%s: mask %q shows %q", name, m.Masked, p)
			}
		}
	}
	var none *secrets.Redactor
	if got := none.Findings([]schemas.Finding{{Message: "x"}}); got[0].Message != "x" {
		t.Error("a nil redactor changes text")
	}
}

// TestQuiet proves that nothing is written to the terminal.
func TestQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	secrets.Scan([]byte("token " + ghp + " " + pem))
	os.Stdout, os.Stderr = out, errs
	w.Close()
	if b, _ := io.ReadAll(r); len(b) > 0 {
		t.Errorf("written: %q", b)
	}
}

// TestBounded gives Scan what costs most: dense key words, endless lines, and
// encodings that unfold.
func TestBounded(t *testing.T) {
	bomb := gz(strings.Repeat("\x00", 64<<20))
	for name, raw := range map[string]string{
		"key words":  strings.Repeat("token key api auth secret password access credential aws github slack ", 30000),
		"one line":   strings.Repeat("a=b;", 1<<19),
		"base64":     strings.Repeat("QUFB", 1<<19),
		"nested":     nest(200000),
		"bomb":       base64.StdEncoding.EncodeToString(bomb),
		"percent":    strings.Repeat("%41", 1<<19),
		"begin":      strings.Repeat("-----BEGIN RSA PRIVATE KEY-----\n", 1<<16),
		"urls":       strings.Repeat("a://b:", 1<<18),
		"backslash":  strings.Repeat(`\x4`, 1<<19),
		"hex":        strings.Repeat("4", 1<<21),
		"parts":      strings.Repeat(`"ghp_"+`, 1<<18),
		"part":       strings.Repeat(`"ghp_"`, 1<<17) + strings.Repeat("Ab1", 1<<17),
		"many found": strings.Repeat(ghp+"\n", 20000),
	} {
		ms := secrets.Scan([]byte(raw))
		if len(ms) > 1001 {
			t.Errorf("%s: %d matches", name, len(ms))
		}
	}
}

func nest(n int) string {
	s := strings.Repeat("A", n)
	for range 8 {
		s = base64.StdEncoding.EncodeToString([]byte(s))
		if len(s) > 2<<20 {
			break
		}
	}
	return s
}

func FuzzSecrets(f *testing.F) {
	for _, s := range secretTexts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ms := secrets.Scan(raw)
		red := secrets.NewRedactor(raw, ms)
		clean := red.Clean(string(raw))
		for _, m := range ms {
			if m.Rule == secrets.RuleUnscannable {
				continue
			}
			if m.Offset < 0 || m.End > len(raw) || m.Offset >= m.End {
				t.Fatalf("bad place %+v of %d", m, len(raw))
			}
			if p := leaks(clean, string(raw[m.Offset:m.End])); p != "" && !strings.Contains("[masked][masked]", p) {
				t.Fatalf("%q shows %q of %+v", clean, p, m)
			}
			if p := leaks(m.Masked, string(raw[m.Offset:m.End])); p != "" && !strings.Contains(text(m), p) {
				t.Fatalf("mask shows %q", p)
			}
		}
		if again := secrets.Scan(raw); len(again) != len(ms) {
			t.Fatal("not the same again")
		}
	})
}

// text is what a mask says of itself.
func text(m secrets.Match) string { return m.Masked[strings.Index(m.Masked, "masked"):] }

// TestNameOfASecret: what names a secret of AWS is none.
func TestNameOfASecret(t *testing.T) {
	const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:SecretName-6RandomCharacters"
	if ms := secrets.Scan([]byte(arn + "\n")); len(ms) > 0 {
		t.Errorf("%+v", ms[0])
	}
}

// TestLongChangelog: documentation that is full of words like key and token is scanned to its end.
func TestLongChangelog(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		sum := sha1.Sum([]byte{byte(i), byte(i >> 8)})
		fmt.Fprintf(&b, "* [[`%x`](https://github.com/nodejs/node/commit/%x)] - **tls**: fix the key, its token and the "+
			"authentication (José\u200b) of `C:\\\\x` [#%d](https://github.com/nodejs/node/pull/%d)\n", sum[:5], sum, i, i)
	}
	if ms := secrets.Scan([]byte(b.String())); len(ms) > 0 {
		t.Errorf("%d matches: %+v", len(ms), ms[0])
	}
}

// TestBehindMany: a secret is found behind many matches of the same kind that are none.
func TestBehindMany(t *testing.T) {
	const n = 3000
	text := strings.Repeat("password: changeme1\n", n) + "password: xK9#mQ2vLp\n"
	ms := secrets.Scan([]byte(text))
	if len(ms) != 1 || ms[0].Offset < len(text)-20 {
		t.Errorf("behind %d placeholders: %+v", n, ms)
	}
}

// TestKeysWithoutTheirLines: a private key is found by how its encoding begins, whatever
// its length comes to.
func TestKeysWithoutTheirLines(t *testing.T) {
	for _, bits := range []int{1024, 2048, 3072, 4096} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		body := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(key))
		if len(secrets.Scan([]byte("the key is\n"+body+"\n"))) == 0 {
			t.Errorf("a key of %d bits, which begins %s..., is not found", bits, body[:16])
		}
		public := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&key.PublicKey))
		if ms := secrets.Scan([]byte("the public key is\n" + public + "\n")); len(ms) > 0 {
			t.Errorf("a public key of %d bits is taken for a secret (%s)", bits, ms[0].Rule)
		}
	}
}

// TestPasswordColumns: what a database prints under a heading is a password if it looks
// like one.
func TestPasswordColumns(t *testing.T) {
	const value = "DNx" + "ril3RavGD5M"
	for _, table := range []string{
		" user | password\n------+----------------\n root | %s\n",
		"| user | password |\n|---|---|\n| root | %s |\n",
		"+------+----------------+\n| user | password       |\n+------+----------------+\n| root | %s " +
			"|\n+------+----------------+\n",
		"user\tpassword\nroot\t%s\n",
		"   user        password\n0  root  %s\n",
		"id  login   db_password\n1   root    %s",
	} {
		if len(secrets.Scan([]byte(fmt.Sprintf(table, value)))) == 0 {
			t.Errorf("%q: nothing is found", fmt.Sprintf(table, value))
		}
		for _, harmless := range []string{"required", "NULL", "changeme", "character varying(64)", "(redacted)",
			"********"} {
			if ms := secrets.Scan([]byte(fmt.Sprintf(table, harmless))); len(ms) > 0 {
				t.Errorf("%q: %s", fmt.Sprintf(table, harmless), ms[0].Rule)
			}
		}
	}
}

// TestFormatsOfToday: keys whose services mark them by a beginning, and names and values that are neighbours.
func TestFormatsOfToday(t *testing.T) {
	const random = "a8Kd93kLm2PqR7sT" + "5vWx1yZ4bN6cF0gHq9"
	for _, s := range []string{
		"e2b_" + strings.Repeat("a1b2c3d4", 5), "fc-" + "9f86d081884c7d659a2feaa0c55ad015", "vercel_blob_rw_" + "a8Kd93kLm2PqR7sT_" + random,
		"bb_live_" + random, "polar_oat_" + random, "AQ." + "Ab8RN6" + random, random + random[:18] + "JQQJ99" + "BAACYeBjFXJ3w3AAABACOG" + random[:4],
		"IQoJb3JpZ2luX2Vj" + "E" + strings.Repeat(random, 4), "apify_api_" + random, "authorization: BEARER " + random,
		"| db_password | S3cr3t!" + "Passw0rd |", "| api_token | " + random + " |", "db_password   S3cr3t!" + "Passw0rd",
		"<string>apiToken</string>\n  <string>" + random + "</string>", "name,value\nadmin_password,S3cr3t!" + "Passw0rd",
		"<name>API_TOKEN</name><value>" + random + "</value>", "5HueCGU8rMjxEXxiPuD5BDku4Mk" + "FqeZyd4dZ1jvhTVqvbTLvyTJ",
	} {
		if ms := secrets.Scan([]byte("a\n" + s + "\n")); len(ms) == 0 {
			t.Errorf("not found: %s", s)
		}
	}
}

// TestNoSecrets: digests, paths, forms and names that stand where a secret could.
func TestNoSecrets(t *testing.T) {
	const hex64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, s := range []string{
		"api_key_sha256: " + hex64, "secret_hash = \"" + hex64[:40] + "\"", "secret_key_base64_sha1: 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
		"<input name=\"csrf_token\" value=\"a8Kd93kLm2PqR7sT5vWx1yZ4bN6cF0gH\">", "SECRET_KEY=\nNEXT_VALUE=a8Kd93kLm2PqR7sT5vWx1yZ4",
		"secret = projects/my-proj-123/secrets/db-password/versions/3", "credential \"gcp-e2e.json\"", "password: ${{ secrets.DEPLOY_TOKEN }}",
		"\tdep\tgithub.com/golang-jwt/jwt/v5\tv5.2.1\th1:OuVbFODueb089Lh128TAcimifWaLhJwVflnrgM17wHk=",
		"| token | meaning |\n|---|---|\n| token_type | always Bearer |", "password_min_length    at-least-12",
		"5HueCGU8rMjxEXxiPuD5BDku4Mk" + "FqeZyd4dZ1jvhTVqvbTLvyTK", // a wallet's key with another checksum
	} {
		if ms := secrets.Scan([]byte(s + "\n")); len(ms) > 0 {
			t.Errorf("%s: %+v", s, ms)
		}
	}
}
