package content

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/artifact"
	"github.com/threegate/tool-exec/validate/text"
)

// payload names what data is if a computer would execute it, or returns "".
// Only its beginning counts, except for archives.
func payload(data []byte) string {
	if what := artifact.Program(data); what != "" {
		return what
	}
	switch {
	case bytes.HasPrefix(data, []byte("L\x00\x00\x00\x01\x14\x02\x00")):
		return "a Windows shortcut"
	case bytes.HasPrefix(data, []byte("\xac\xed\x00\x05")):
		return "a serialized Java object"
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return compoundPayload(data)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return archivePayload(data, false)
	case shebang.Match(data[:min(len(data), 256)]):
		return "a script"
	case len(data) > 265 && string(data[257:262]) == "ustar":
		return archivePayload(data, true)
	}
	return ""
}

// compoundPayload names what a compound file of Microsoft's carries.
func compoundPayload(data []byte) string {
	switch {
	case hasMacro(data):
		return "an office document with macros"
	case bytes.Contains(data, []byte("\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46")):
		return "a Windows installer"
	}
	return ""
}

func hasMacro(b []byte) bool {
	return bytes.Contains(b, []byte("V\x00B\x00A\x00")) ||
		bytes.Contains(b, []byte("M\x00a\x00c\x00r\x00o\x00s\x00")) || bytes.Contains(b, []byte("Attribut\x00e VB_"))
}

var shebang = regexp.MustCompile(`^#![ \t]*/\S+`)

// maxEntries bounds how many files of an archive are looked at.
const maxEntries = 200

var executableName = regexp.MustCompile(`(?i)(?:\.(?:exe|dll|so(?:\.\d+)*|dylib|bat|cmd|ps1|psm1|vbs|vbe|wsf|hta|scr|com|jar|class|dex|msi|elf|sh|bash|lnk|appimage|deb|rpm|apk)|vbaproject\.bin)$|^META-INF/MANIFEST\.MF$|^AndroidManifest\.xml$`)

// archivePayload looks whether an archive carries something executable.
func archivePayload(data []byte, isTar bool) string {
	n := 0
	for name, head := range artifact.Heads(data, isTar) {
		what := payload(head)
		switch n++; {
		case n > maxEntries:
			return ""
		case strings.HasSuffix(strings.ToLower(name), "vbaproject.bin"):
			return "an office document with macros"
		case executableName.MatchString(name):
			return "an archive with an executable"
		case what != "" && !bytes.HasPrefix(head, []byte("PK")):
			return "an archive with " + what
		}
	}
	// A damaged zip file still shows the name in its local header.
	if n == 0 && !isTar && len(data) >= 30 {
		if end := 30 + int(binary.LittleEndian.Uint16(data[26:])); executableName.Match(data[30:min(len(data), end)]) {
			return "an archive with an executable"
		}
	}
	return ""
}

// decoded judges what an encoded stretch decodes to.
func (c *collector) decoded(p text.Piece) {
	if what := payload(p.Data); what != "" {
		c.hit(Hit{Rule: RulePayload, Name: "decoded", What: what}, &p)
	} else {
		c.inline(p.Data, &p)
	}
	if p.Text {
		c.text(p.Data, &p)
	}
}

var (
	// fence begins a block of code, other than that of a stream in a result.
	fence       = regexp.MustCompile("^[ \\t>]*```[ \\t]*(?:sh|bash|shell|zsh|console|python|py|perl|ruby|js)?[ \\t]*\n$")
	scriptStart = regexp.MustCompile(`^[ \t]*#![ \t]*/(?:usr/|bin/|opt/|system/|nix/)\S*[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*([^\s=][^\n]*)`)
	rawMagics   = []string{"\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\x00asm", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe",
		"\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce", "dex\n03", "BC\xc0\xde", "\x1bLua", "\xca\xfe\xba\xbf",
		"\xac\xed\x00\x05", "\xd0\xcf\x11\xe0", "PK\x03\x04", "\x1f\x8b\x08", "L\x00\x00\x00\x01\x14\x02\x00",
		"\xa7\r\r\n"}
)

// maxScriptHead is how far into a script its first command is searched for.
const maxScriptHead = 2048

// maxRaw bounds how many places with one magic number are judged.
const maxRaw = 64

// inline finds payloads that stand in b as they are; p is the piece that b was decoded
// from, or nil.
func (c *collector) inline(b []byte, p *text.Piece) {
	plain := text.PlainEnd(b, 0) == len(b)
	for _, magic := range rawMagics {
		if plain && text.PlainEnd(magic, 0) < len(magic) {
			continue
		}
		for i, n := 0, 0; n < maxRaw; n++ {
			j := bytes.Index(b[i:], []byte(magic))
			if j < 0 {
				break
			}
			i += j
			rest := b[i:min(len(b), i+1<<20)]
			what := payload(rest)
			if what == "" && magic == "\x1f\x8b\x08" {
				for p := range text.Pieces(rest, text.Limits{Depth: 1, Bytes: 1 << 20}) {
					if p.Encoding == text.Gzip {
						what = payload(p.Data)
					}
					break
				}
			}
			if what != "" {
				c.hit(Hit{Rule: RulePayload, Name: "inline", What: what, Offset: i, End: min(len(b), i+16)}, p)
			}
			i += len(magic)
		}
	}
	for i, n := 0, 0; n < maxRaw; {
		j := bytes.Index(b[i:], []byte("#!"))
		if j < 0 {
			return
		}
		at := i + j
		i += j + 2
		// One that is indented or fenced is an example of a script, and none.
		if at > 0 && b[at-1] != '\n' || fence.Match(b[bytes.LastIndexByte(b[:max(0, at-1)], '\n')+1:at]) {
			continue
		}
		m := scriptStart.FindSubmatchIndex(b[at:min(len(b), at+maxScriptHead)])
		if m == nil {
			continue
		}
		n++
		if next := string(b[at+m[2] : at+m[3]]); !strings.HasPrefix(next, "==>") && !strings.HasPrefix(next, "#!") {
			c.hit(Hit{Rule: RuleScript, Name: "script", Offset: at + m[0], End: at + m[3]}, p)
		}
	}
}
