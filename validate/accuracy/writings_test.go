package accuracy_test

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Further ways to write something, for the part that rules are tuned on.
func init() {
	std := base64.StdEncoding.EncodeToString
	for name, f := range map[string]func([]byte) string{
		"of-x":      func(b []byte) string { return spell(b, `\x%02x`, "") },
		"of-0x":     func(b []byte) string { return spell(b, "0x%02X", ", ") },
		"of-dec":    func(b []byte) string { return "[" + spell(b, "%d", ", ") + "]" },
		"of-declf":  func(b []byte) string { return spell(b, "%d", " ") },
		"of-rev":    func(b []byte) string { return reversed(string(b)) },
		"of-b64rev": func(b []byte) string { return reversed(std(b)) },
		"of-qp":     func(b []byte) string { return spell(b, "=%02X", "") },
		"of-b64-76": func(b []byte) string { return wrap(std(b), 76) },
		"of-b64-20": func(b []byte) string { return wrap(std(b), 20) },
		"of-hex-32": func(b []byte) string { return wrap(hex.EncodeToString(b), 32) },
		"of-colon":  func(b []byte) string { return spell(b, "%02x", ":") },
		"of-dash":   func(b []byte) string { return spell(b, "%02X", "-") },
		"of-bin":    func(b []byte) string { return spell(b, "%08b", " ") },
		"of-0b":     func(b []byte) string { return spell(b, "0b%08b", ", ") },
		"of-entx":   func(b []byte) string { return spell(b, "&#x%X;", "") },
		"of-brace":  func(b []byte) string { return spell(b, `\u{%x}`, "") },
		"of-uplus":  func(b []byte) string { return spell(b, "U+%04X", " ") },
		"of-U8":     func(b []byte) string { return spell(b, `\U%08x`, "") },
		"of-chr":    func(b []byte) string { return spell(b, "chr(%d)", "+") },
		"of-char":   func(b []byte) string { return "-join (" + spell(b, "[char]%d", ",") + ")" },
		"of-vbchr":  func(b []byte) string { return spell(b, "Chr(%d)", " & ") },
		"of-oct0":   func(b []byte) string { return spell(b, "0%o", " ") },
		"of-single": func(b []byte) string { return "'" + between(string(b), "', '", 1) + "'" },
		"of-list":   func(b []byte) string { return `["` + between(string(b), `", "`, 7) + `"].join("")` },
		"of-plus":   func(b []byte) string { return `"` + between(string(b), `" + "`, 4) + `"` },
		"of-dots":   func(b []byte) string { return "'" + between(string(b), "' . '", 6) + "'" },
		"of-cont":   func(b []byte) string { return between(string(b), "\\\n", 12) },
		"of-fold":   func(b []byte) string { return between(string(b), "\n  ", 12) },
		"of-quotes": func(b []byte) string { return "\"" + between(string(b), "\"\n\"", 10) + "\"" },
		"of-zlib64": func(b []byte) string {
			var out bytes.Buffer
			w := zlib.NewWriter(&out)
			w.Write(b)
			w.Close()
			return std(out.Bytes())
		},
		"of-gzhex": func(b []byte) string { return hex.EncodeToString(zipped(b)) },
		"of-a85": func(b []byte) string {
			out := make([]byte, ascii85.MaxEncodedLen(len(b)))
			return "<~" + string(out[:ascii85.Encode(out, b)]) + "~>"
		},
		"of-uu":      uuencoded,
		"of-hexdump": func(b []byte) string { return hex.Dump(b) },
		"of-xxd16":   xxd,
		"of-od":      func(b []byte) string { return od(b) },
		"of-hexb64":  func(b []byte) string { return std([]byte(hex.EncodeToString(b))) },
		"of-b64hex":  func(b []byte) string { return hex.EncodeToString([]byte(std(b))) },
		"of-pctb64":  func(b []byte) string { return spell([]byte(std(b)), "%%%02X", "") },
		"of-b64pct":  func(b []byte) string { return std([]byte(spell(b, "%%%02X", ""))) },
		"of-rot13": func(b []byte) string {
			return strings.Map(func(r rune) rune {
				switch {
				case r >= 'a' && r <= 'z':
					return 'a' + (r-'a'+13)%26
				case r >= 'A' && r <= 'Z':
					return 'A' + (r-'A'+13)%26
				}
				return r
			}, string(b))
		},
		"of-utf16": func(b []byte) string { return std([]byte(utf16(string(b)))) },
		"of-ps":    func(b []byte) string { return std([]byte(utf16(string(b)))) },
		"of-lhex":  hex.EncodeToString,
		"of-utf16be": func(b []byte) string {
			s := []byte(utf16(string(b)))
			for i := 0; i+1 < len(s); i += 2 {
				s[i], s[i+1] = s[i+1], s[i]
			}
			return std(s)
		},
		"of-b64cut":  func(b []byte) string { return "x" + std(b) },
		"of-b64mime": func(b []byte) string { return "Content-Transfer-Encoding: base64\n\n" + wrap(std(b), 76) + "\n\n--x--" },
		"of-b64tag":  func(b []byte) string { return "<data>" + std(b) + "</data>" },
		"of-yaml64": func(b []byte) string {
			return "data: !!binary |\n  " + strings.ReplaceAll(wrap(std(b), 64), "\n", "\n  ")
		},
	} {
		writings[name] = f
	}
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func uuencoded(b []byte) string {
	var out strings.Builder
	out.WriteString("begin 644 x\n")
	for len(b) > 0 {
		line := b[:min(45, len(b))]
		b = b[len(line):]
		out.WriteByte(byte(32 + len(line)))
		for i := 0; i < len(line); i += 3 {
			var c [3]byte
			copy(c[:], line[i:])
			for _, v := range []byte{c[0] >> 2, c[0]<<4&63 | c[1]>>4, c[1]<<2&63 | c[2]>>6, c[2] & 63} {
				if v == 0 {
					v = 64
				}
				out.WriteByte(32 + v)
			}
		}
		out.WriteByte('\n')
	}
	return out.String() + "`\nend"
}

func xxd(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); i += 16 {
		line := b[i:min(i+16, len(b))]
		fmt.Fprintf(&out, "%08x: ", i)
		for k := 0; k < len(line); k += 2 {
			fmt.Fprintf(&out, "%x ", line[k:min(k+2, len(line))])
		}
		fmt.Fprintf(&out, " %s\n", strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '.'
			}
			return r
		}, string(line)))
	}
	return strings.TrimRight(out.String(), "\n")
}

func od(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); i += 16 {
		fmt.Fprintf(&out, "%07o %s\n", i, spell(b[i:min(i+16, len(b))], "%02x", " "))
	}
	return out.String() + fmt.Sprintf("%07o", len(b))
}
