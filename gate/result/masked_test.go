package result_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
)

// encodings are ways to write a text. Each result stands by itself in a line.
var encodings = map[string]func(string) string{
	"plain":      func(s string) string { return s },
	"coloured":   func(s string) string { return s[:2] + "\x1b[01;31m" + s[2:3] + "\x1b[m\x1b[K" + s[3:] },
	"base64":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 of a sentence": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte("the password is " + s + " as before"))
	},
	"base64 twice": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	},
	"base32":  func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"hex":     func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":     func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"bytes":   func(s string) string { return codes(s, "%02x", " ") },
	"percent": func(s string) string { return codes(s, "%%%02X", "") },
	"query":   func(s string) string { return "q=" + url.QueryEscape("é "+s+" ü") },
	"\\x":     func(s string) string { return codes(s, `\x%02x`, "") },
	"\\u":     func(s string) string { return codes(s, `\u%04x`, "") },
	"html":    func(s string) string { return codes(s, "&#%d;", "") },
	"entity":  func(s string) string { return html.EscapeString("<" + s + ">") },
	"numbers": func(s string) string { return codes(s, "%d", ", ") },
	"turned": func(s string) string {
		b := []byte(s)
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		return string(b)
	},
	"no width": func(s string) string { return s[:2] + "\u200b" + s[2:] },
	"gzip": func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte("pin " + s + "\n"))
		w.Close()
		return base64.StdEncoding.EncodeToString(b.Bytes())
	},
}

func codes(s, format, sep string) string {
	var all []string
	for i := range len(s) {
		all = append(all, fmt.Sprintf(format, s[i]))
	}
	return strings.Join(all, sep)
}

// places are the channels of a run that reach its result.
var places = map[string]func(r *run, text string){
	"stdout": func(r *run, text string) { r.stdout += "again " + text + "\n" },
	"stderr": func(r *run, text string) { r.stderr = "again " + text + "\n" },
	"long stream": func(r *run, text string) {
		r.stderr = strings.Repeat("a row\n", 300) + "again " + text + "\n"
	},
	"value": func(r *run, text string) {
		r.request.Backend, r.request.Language, r.request.Code = schemas.BackendMonty, "", "a = 1\na\n"
		r.request.Command, r.request.Argv, r.request.Purpose = "", nil, "it counts"
		b, _ := json.Marshal("again " + text)
		r.files["_value.json"] = string(b)
	},
	"file": func(r *run, text string) { declare(r, "x.csv", "a,b\nagain,"+text+"\n") },
	"description": func(r *run, text string) {
		declare(r, "x.csv", "a,b\n")
		r.request.Outputs[0].Description = "of " + text
	},
	"undeclared name": func(r *run, text string) { r.files["report "+text+".csv"] = "1\n" },
	"refused name": func(r *run, text string) {
		r.refused = []executors.Refused{{Path: "pipe " + text, Reason: "it is a pipe"}}
	},
	"refused host":     func(r *run, text string) { r.outcome.NetworkRefused = []string{text + ".example:80 is not listed"} },
	"host asked twice": func(r *run, text string) { r.outcome.NetworkFailed = []string{text + ".example:80 was not found"} },
}

func declare(r *run, path, text string) {
	r.request.Outputs = append(r.request.Outputs, schemas.OutputExpectation{Path: "/out/" + path})
	r.files[path] = text
}

// TestMasked: a secret of four digits that stdout shows is nowhere in what CORE gets, whatever channel has it, however it
// is spelled; and no digest that CORE gets is one of it.
func TestMasked(t *testing.T) {
	for _, secret := range []string{"4821", "Zq7!vLm2#xT9"} {
		for where, put := range places {
			for how, encode := range encodings {
				r := ended(schemas.CauseNone, 0)
				if strings.Contains(where, "host") {
					r.allowlist()
				}
				r.files = map[string]string{}
				r.stdout = "connected to postgres://svc:" + url.QueryEscape(secret) + "@db.example/main\n"
				if secret != url.QueryEscape(secret) {
					r.stdout = "db_password = \"" + secret + "\"\n"
				}
				spelled := encode(secret)
				put(r, spelled)
				b, err := result.Build(r.input(t))
				must(t, err)
				if b.Refused {
					t.Errorf("%s in %s: refused: %+v", how, where, b.Findings)
					continue
				}
				all := string(b.Document)
				for _, w := range b.Written {
					all += string(w.Data)
				}
				for _, a := range b.Artifacts {
					if name, ok := strings.CutPrefix(a.From, ledger.DirOut+"/"); ok {
						all += r.files[name] + name
					}
				}
				if bare := strings.ReplaceAll(all, "\u200b", ""); strings.Contains(all, spelled) || strings.Contains(bare, secret) {
					t.Errorf("%s in %s: %q is in\n%s", how, where, spelled, all)
				}
				for guess := range 10000 {
					if len(secret) > 4 {
						break
					}
					pin := fmt.Sprintf("%04d", guess)
					if sum := sumOf(strings.ReplaceAll(r.stdout, secret, pin)); strings.Contains(all, sum) {
						t.Fatalf("%s in %s: the digest of stdout tells %s", how, where, pin)
					}
					if pin != secret {
						continue
					}
					for name, text := range r.files {
						if strings.Contains(text, spelled) && strings.Contains(all, sumOf(text)) {
							t.Errorf("%s in %s: the digest of %s is told", how, where, name)
						}
					}
				}
			}
		}
	}
}

// TestNotMasked: what merely holds the digits of a short secret stays, and so does what is no secret.
func TestNotMasked(t *testing.T) {
	r := ended(schemas.CauseNone, 0)
	r.stdout = "connected to postgres://svc:4821@db.example/main\n148213 rows, 4821x, 0.48219\n"
	b, err := result.Build(r.input(t))
	must(t, err)
	if b.Refused || !strings.Contains(string(b.Document), "148213 rows, 4821x, 0.48219\n") ||
		!strings.Contains(string(b.Document), "postgres://svc:⟦withheld - holds a secret - secrets.scan - line 1⟧@db.example/main") {
		t.Errorf("%+v\n%s", b.Findings, b.Document)
	}
}

// TestDump: three secrets in a channel, or a private key, refuse the result, since others may be with them; so does
// everything where the policy is strict.
func TestDump(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA04up8hoqzS1+APIB0RhjXyObwHQnOzhAk5Bd7mhkSbPkyhP1\n", 12) +
		"-----END RSA PRIVATE KEY-----\n"
	two := "db_password = \"Zq7!vLm2#xT9\"\ntoken " + aToken + "\n"
	for name, c := range map[string]struct {
		stdout, file    string
		strict, refused bool
	}{
		"two":             {two, "", false, false},
		"two, often":      {strings.Repeat(two, 40), "", false, false},
		"two, encoded":    {two + base64.StdEncoding.EncodeToString([]byte(two)) + "\n" + hex.EncodeToString([]byte(two)) + "\n", "", false, false},
		"two and a third": {two, "api_key = \"k9dLq2mZ7RtYw4BvNc8HsJf1PgUe6A\"\n", false, false},
		"three":           {two + "api_key = \"k9dLq2mZ7RtYw4BvNc8HsJf1PgUe6A\"\n", "", false, true},
		"three in a file": {"", two + "api_key = \"k9dLq2mZ7RtYw4BvNc8HsJf1PgUe6A\"\n", false, true},
		"a private key":   {key, "", false, true},
		"a key in a file": {"", key, false, true},
		"strict":          {two, "", true, true},
		"a file, strict":  {"", two, true, true},
	} {
		r := ended(schemas.CauseNone, 0)
		r.files, r.stdout, r.strict = map[string]string{}, c.stdout, c.strict
		if c.file != "" {
			declare(r, "x.txt", c.file)
		}
		b, err := result.Build(r.input(t))
		must(t, err)
		if b.Refused != c.refused {
			t.Errorf("%s: refused %v, %+v", name, b.Refused, b.Findings)
		}
		// Who takes them back as false alarms gets the result.
		for _, f := range b.Findings {
			if c.refused && f.Severity == schemas.SeverityBlocking {
				r.releases = append(r.releases, ledger.Event{By: "alice", Released: f.Releases()})
			}
		}
		if b, err = result.Build(r.input(t)); err != nil || b.Refused {
			t.Errorf("%s: refused after a release: %v, %+v", name, err, b.Findings)
		}
	}
}
