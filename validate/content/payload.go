package content

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/text"
)

// magics are the beginnings that say by themselves what data is.
var magics = []struct{ magic, what string }{
	{"dex\n03", "a Dalvik executable"},
	{"\x4c\x00\x00\x00\x01\x14\x02\x00", "a Windows shortcut"},
	{"!<arch>\ndebian-binary", "a Debian package"},
	{"\xed\xab\xee\xdb", "an RPM package"},
	{"\xa7\x0d\x0d\x0a", compiledPython},
	{"\x1bLua", "compiled Lua code"},
	{"\x1bLJ", "compiled Lua code"},
	{"BC\xc0\xde", "LLVM bitcode"},
	{"\xde\xc0\x17\x0b", "LLVM bitcode"},
	{"\xac\xed\x00\x05", "a serialized Java object"},
}

const compiledPython = "compiled Python code"

// payload names what data is if a computer would execute it, or returns "".
// Only its beginning counts, except for archives.
func payload(data []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.what
		}
	}
	switch {
	case isELF(data):
		return "an ELF executable"
	case isPE(data):
		return "a Windows executable"
	case isMachO(data):
		return "a Mach-O executable"
	case isJavaClass(data):
		return "a Java class"
	case isWASM(data):
		return "a WebAssembly module"
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return compoundPayload(data)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return zipPayload(data)
	case isShebang(data):
		return "a script"
	case isPyc(data):
		return compiledPython
	case len(data) > 265 && string(data[257:262]) == "ustar":
		return tarPayload(data)
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

func isWASM(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\x00asm")) && len(b) >= 8 && (b[4] == 1 || b[4] == 0x0d)
}

// isPyc knows compiled Python of versions whose magic number is not listed: by its second half, and
// the code object that follows.
func isPyc(b []byte) bool {
	return len(b) > 16 && string(b[1:4]) == "\x0d\x0d\x0a" &&
		bytes.Contains(b[:min(len(b), 64)], []byte("\xe3\x00\x00\x00\x00"))
}

func isELF(b []byte) bool {
	return len(b) >= 16 && string(b[:4]) == "\x7fELF" && (b[4] == 1 || b[4] == 2) && (b[5] == 1 || b[5] == 2)
}

// isPE wants more than the two letters: the PE header, or the words that every
// linker puts in front of it.
func isPE(b []byte) bool {
	if len(b) < 64 || b[0] != 'M' || b[1] != 'Z' {
		return false
	}
	if at := int(binary.LittleEndian.Uint32(b[60:])); at >= 64 && at < len(b)-4 && at < 4096 {
		if s := string(b[at : at+2]); s == "PE" || s == "NE" || s == "LE" || s == "LX" {
			return true
		}
	}
	head := b[:min(len(b), 512)]
	return bytes.Contains(head, []byte("DOS mode")) || bytes.Contains(head, []byte("must be run under")) ||
		b[2] == 0x90 && b[3] == 0 && b[4] == 3 && b[5] == 0
}

func isMachO(b []byte) bool {
	if len(b) < 28 {
		return false
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe":
		order = binary.LittleEndian
	case "\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce":
		order = binary.BigEndian
	case "\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf":
		return isFatMachO(b)
	default:
		return false
	}
	kind := order.Uint32(b[12:])
	return kind >= 1 && kind <= 12
}

// isFatMachO says whether a count of architectures follows the magic number.
func isFatMachO(b []byte) bool {
	n := binary.BigEndian.Uint32(b[4:])
	return n > 0 && n < 20
}

// isJavaClass wants a version that a class can have: the magic number is also that of a fat Mach-O.
func isJavaClass(b []byte) bool {
	if len(b) <= 8 || !bytes.HasPrefix(b, []byte("\xca\xfe\xba\xbe")) {
		return false
	}
	v := binary.BigEndian.Uint16(b[6:])
	return v >= 45 && v <= 90
}

func hasMacro(b []byte) bool {
	return bytes.Contains(b, []byte("V\x00B\x00A\x00")) ||
		bytes.Contains(b, []byte("M\x00a\x00c\x00r\x00o\x00s\x00")) || bytes.Contains(b, []byte("Attribut\x00e VB_"))
}

var shebang = regexp.MustCompile(`^#![ \t]*/\S+`)

func isShebang(b []byte) bool { return shebang.Match(b[:min(len(b), 256)]) }

// The bounds of a look into an archive.
const (
	maxEntries = 200
	maxHead    = 4096
)

var executableName = regexp.MustCompile(`(?i)(?:\.(?:exe|dll|so(?:\.\d+)*|dylib|bat|cmd|ps1|psm1|vbs|vbe|wsf|hta|scr|com|jar|class|dex|msi|elf|sh|bash|lnk|appimage|deb|rpm|apk)|vbaproject\.bin)$|^META-INF/MANIFEST\.MF$|^AndroidManifest\.xml$`)

// zipPayload looks whether a zip file carries something executable.
func zipPayload(data []byte) string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		// A damaged archive still shows the names in its local headers.
		if n := localName(data); executableName.MatchString(n) {
			return "an archive with an executable"
		}
		return ""
	}
	for i, f := range z.File {
		if i >= maxEntries {
			break
		}
		if strings.HasSuffix(strings.ToLower(f.Name), "vbaproject.bin") {
			return "an office document with macros"
		}
		if executableName.MatchString(f.Name) {
			return "an archive with an executable"
		}
		if r, err := f.Open(); err == nil {
			head, _ := io.ReadAll(io.LimitReader(r, maxHead))
			r.Close()
			if what := payload(head); what != "" && !bytes.HasPrefix(head, []byte("PK")) {
				return "an archive with " + what
			}
		}
	}
	return ""
}

// tarPayload looks whether a tar file carries something executable.
func tarPayload(data []byte) string {
	r := tar.NewReader(bytes.NewReader(data))
	for range maxEntries {
		h, err := r.Next()
		if err != nil {
			return ""
		}
		if executableName.MatchString(h.Name) {
			return "an archive with an executable"
		}
		head, _ := io.ReadAll(io.LimitReader(r, maxHead))
		if what := payload(head); what != "" && !bytes.HasPrefix(head, []byte("PK")) {
			return "an archive with " + what
		}
	}
	return ""
}

func localName(b []byte) string {
	if len(b) < 30 {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(b[26:]))
	return string(b[30:min(len(b), 30+n)])
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
	scriptStart = regexp.MustCompile(`^[ \t]*#![ \t]*/(?:usr/|bin/|opt/|system/|nix/)\S*[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*([^\s=][^\n]*)`)
	rawMagics   = []string{"\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\x00asm", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe",
		"\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce", "dex\n03", "BC\xc0\xde", "\x1bLua", "\xca\xfe\xba\xbf",
		"\xac\xed\x00\x05", "\xd0\xcf\x11\xe0", "PK\x03\x04", "\x1f\x8b\x08", "L\x00\x00\x00\x01\x14\x02\x00",
		"\xa7\r\r\n"}
)

// maxScriptHead is how far into a script its first command is searched for.
const maxScriptHead = 2048

// maxIndent is how far a #! may be indented.
const maxIndent = 64

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
		for at > 0 && i-at < maxIndent && (b[at-1] == ' ' || b[at-1] == '\t') {
			at--
		}
		if at > 0 && b[at-1] != '\n' {
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
