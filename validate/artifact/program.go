package artifact

import (
	"bytes"
	"encoding/binary"
	"slices"
)

const (
	aMachO         = "a Mach-O executable"
	compiledPython = "compiled Python code"
)

// programs are how programs begin, and what their headers must say too where the beginning is short:
// more than chance bytes come to.
var programs = []struct {
	magic, what string
	is          func(b []byte) bool // given minHeader bytes at least
}{
	{"\x7fELF", "an ELF executable", func(b []byte) bool { return b[4]-1 < 2 && b[5]-1 < 2 }},
	{"MZ", "a Windows executable", isExe},
	{"\xcf\xfa\xed\xfe", aMachO, isMachO(binary.LittleEndian)},
	{"\xce\xfa\xed\xfe", aMachO, isMachO(binary.LittleEndian)},
	{"\xfe\xed\xfa\xcf", aMachO, isMachO(binary.BigEndian)},
	{"\xfe\xed\xfa\xce", aMachO, isMachO(binary.BigEndian)},
	{"\xca\xfe\xba\xbe", aMachO, fewParts},
	{"\xca\xfe\xba\xbf", aMachO, fewParts},
	{"\xca\xfe\xba\xbe", "a Java class", func(b []byte) bool { return b[6] == 0 && b[7] >= 45 && b[7] <= 90 }},
	{"\x00asm", "a WebAssembly module", func(b []byte) bool { return b[4] == 1 || b[4] == 0x0d }},
	{"dex\n03", "a Dalvik executable", nil},
	{"!<arch>\ndebian-binary", "a Debian package", nil},
	{"\xed\xab\xee\xdb", "an RPM package", nil},
	{"\xa7\x0d\x0d\x0a", compiledPython, nil},
	{"\x1bLua", "compiled Lua code", nil},
	{"\x1bLJ", "compiled Lua code", nil},
	{"BC\xc0\xde", "LLVM bitcode", nil},
	{"\xde\xc0\x17\x0b", "LLVM bitcode", nil},
	// of versions whose number is not listed: the second half of it, and the code object that follows
	{"", compiledPython, func(b []byte) bool {
		return string(b[1:4]) == "\x0d\x0d\x0a" && bytes.Contains(b[:minHeader], []byte("\xe3\x00\x00\x00\x00"))
	}},
}

// The least and the most that is looked at of one header.
const (
	minHeader = 64
	maxHeader = 4 << 10
)

// Program names the program that b begins with, or returns "".
func Program(b []byte) string {
	header := append(slices.Clone(b[:min(len(b), maxHeader)]), make([]byte, max(0, minHeader-len(b)))...)
	for _, p := range programs {
		if bytes.HasPrefix(b, []byte(p.magic)) && (p.is == nil || p.is(header)) {
			return p.what
		}
	}
	return ""
}

// isExe wants more than two letters: the header that the first one points at, or the words that
// every linker puts in front of it.
func isExe(b []byte) bool {
	head := b[:min(len(b), 512)]
	return newHeader(b) != "" || bytes.Contains(head, []byte("DOS mode")) ||
		bytes.Contains(head, []byte("must be run under")) || string(b[2:6]) == "\x90\x00\x03\x00"
}

// newHeader is how the header begins that the one of a program for DOS points at.
func newHeader(b []byte) string {
	at := int64(binary.LittleEndian.Uint32(b[60:]))
	if at < 4 || at > int64(len(b))-6 || !slices.Contains([]string{"PE", "NE", "LE", "LX"}, string(b[at:at+2])) {
		return ""
	}
	return string(b[at : at+4])
}

// isMachO wants a kind of file that there is.
func isMachO(order binary.ByteOrder) func([]byte) bool {
	return func(b []byte) bool { return order.Uint32(b[12:])-1 < 12 }
}

// fewParts wants a count of architectures: that of a Java class would be far larger.
func fewParts(b []byte) bool { return binary.BigEndian.Uint32(b[4:])-1 < 19 }

// inside are the beginnings of programs that are looked for anywhere in a file.
var inside = []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe"}

// programInside names a program whose header stands anywhere in b.
func programInside(b []byte) string {
	for _, magic := range inside {
		for i := 0; ; i += len(magic) {
			k := bytes.Index(b[i:], []byte(magic))
			if k < 0 || len(b)-i-k < minHeader {
				break
			}
			i += k
			header := b[i:min(len(b), i+maxHeader)]
			if what := Program(header); what != "" && (magic != "MZ" || newHeader(header) == "PE\x00\x00") {
				return what
			}
		}
	}
	return ""
}
