package bundle

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/schemas"
)

// sniffBytes bounds how much of a file is read to tell what it is.
const sniffBytes = 64 << 10

var bom = []byte("\xef\xbb\xbf")

// Sniff tells from the front matter what a document says that it is, or "".
// It is a guess for choosing the rules, never a check.
func Sniff(head []byte) schemas.Kind {
	head = bytes.TrimPrefix(head[:min(len(head), sniffBytes)], bom)
	head = bytes.TrimLeft(head, " \t\r\n")
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return ""
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimRight(line, " \t\r")
		if string(line) == "---" {
			return ""
		}
		key, _, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		switch strings.Trim(string(bytes.TrimSpace(key)), `"'`) {
		case "request_type":
			return schemas.KindRequest
		case "result_type":
			return schemas.KindResult
		}
	}
	return ""
}

// NameKind tells from a file's name what it should hold, or "".
func NameKind(path string) schemas.Kind {
	name := filepath.Base(path)
	if !strings.HasSuffix(name, ".md") {
		return ""
	}
	switch {
	case strings.HasPrefix(name, "TR-"):
		return schemas.KindRequest
	case strings.HasPrefix(name, "TS-"):
		return schemas.KindResult
	}
	return ""
}

// KindOf decides by content, then by name; what is neither counts as a request,
// the kind with the stricter rules about where it may come from.
func KindOf(path string, head []byte) schemas.Kind {
	if k := Sniff(head); k != "" {
		return k
	}
	if k := NameKind(path); k != "" {
		return k
	}
	return schemas.KindRequest
}
