package monty

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// pyError is an exception that a call of the code raises in the code.
type pyError struct {
	typ, msg string
	unicode  *wire.UnicodeError
}

func (e *pyError) Error() string { return e.typ + ": " + e.msg }

// raised is the exception for an error; the interpreter adds the frames.
func raised(err error) *wire.Exception {
	e := osError(err)
	x := &wire.Exception{ExcType: e.typ, Message: &e.msg}
	if e.unicode != nil {
		x.Data = &wire.ExceptionData{Kind: &wire.ExceptionData_Unicode{Unicode: e.unicode}}
	}
	return x
}

// errnoTypes are the exceptions that the interpreter has for errors of the system.
var errnoTypes = map[syscall.Errno]string{
	syscall.ENOENT:  "FileNotFoundError",
	syscall.EEXIST:  "FileExistsError",
	syscall.EISDIR:  "IsADirectoryError",
	syscall.ENOTDIR: "NotADirectoryError",
	syscall.EACCES:  "PermissionError",
	syscall.EPERM:   "PermissionError",
	syscall.EROFS:   "PermissionError",
}

func errnoError(n syscall.Errno, paths ...string) *pyError {
	typ := cmp.Or(errnoTypes[n], "OSError")
	text := n.Error()
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	for i, p := range paths {
		paths[i] = pyRepr(p)
	}
	return &pyError{typ: typ, msg: fmt.Sprintf("[Errno %d] %s: %s", int(n), text, strings.Join(paths, " -> "))}
}

// osError turns an error of the file system into the exception that Python
// would raise. What os.Root refuses is a PermissionError.
func osError(err error, paths ...string) *pyError {
	if py, ok := errors.AsType[*pyError](err); ok {
		return py
	}
	n, ok := errors.AsType[syscall.Errno](err)
	switch {
	case ok:
		return errnoError(n, paths...)
	case errors.Is(err, fs.ErrNotExist):
		return errnoError(syscall.ENOENT, paths...)
	case errors.Is(err, fs.ErrExist):
		return errnoError(syscall.EEXIST, paths...)
	}
	return errnoError(syscall.EACCES, paths...)
}

// denied refuses a path outside of what the code was handed.
func denied(p string) *pyError {
	return &pyError{typ: "PermissionError", msg: fmt.Sprintf(
		"[Errno 13] Permission denied: %s (files are reached below /in, to read, and below /out)", pyRepr(p))}
}

const reprLen = 200

// pyRepr quotes a path as Python's repr does, bounded.
func pyRepr(s string) string {
	more := ""
	if len(s) > reprLen {
		s, more = strings.ToValidUTF8(s[:reprLen], ""), "…"
	}
	text := strconv.Quote(s)
	text = text[1 : len(text)-1]
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + text + more + `"`
	}
	text = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `'`, `\'`).Replace(text)
	return "'" + text + more + "'"
}

// maxUnicodeObject bounds the bytes that travel with a UnicodeDecodeError.
const maxUnicodeObject = 64 << 10

// decodeError explains why b is no UTF-8, in Python's words.
func decodeError(b []byte) *pyError {
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	end, reason := badSequence(b, at)
	where := fmt.Sprintf("byte 0x%02x in position %d", b[at], at)
	if end-at > 1 {
		where = fmt.Sprintf("bytes in position %d-%d", at, end-1)
	}
	e := &pyError{typ: "UnicodeDecodeError", msg: "'utf-8' codec can't decode " + where + ": " + reason}
	if len(b) <= maxUnicodeObject {
		e.unicode = &wire.UnicodeError{
			Encoding: "utf-8", ObjectBytes: b, Start: int32(at), End: int32(end), Reason: reason}
	}
	return e
}

// badSequence finds the end of the ill-formed sequence at b[at] and names what
// is wrong with it.
func badSequence(b []byte, at int) (end int, reason string) {
	end = at + 1
	if utf8.FullRune(b[at:end]) { // what can't begin a character counts as a whole one
		return end, "invalid start byte"
	}
	for end < len(b) && !utf8.FullRune(b[at:end+1]) {
		end++
	}
	if end == len(b) {
		return end, "unexpected end of data"
	}
	return end, "invalid continuation byte"
}
