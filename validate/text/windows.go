package text

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"iter"
	"unicode/utf8"
)

// The bounds of a window. What is looked for in one must be shorter than the overlap, or
// be found by its beginning.
const (
	windowSize = 256 << 10
	overlap    = 64 << 10
)

// Window is a part of a file.
type Window struct {
	// Data is valid until the next window.
	Data []byte
	// Offset is where it begins in the file, and Line how many lines end in front of it.
	Offset int64
	Line   int
	// Next is where in Data the next one begins: what begins from there on is seen whole
	// in that one.
	Next int
	// Last says that it ends the file.
	Last bool
	// Cut says that it ends in the middle of something packed and encoded, which can't be
	// unpacked from there on.
	Cut bool
}

// Windows reads r in windows that overlap. They begin with a line, or in a long one where
// encoded text can be decoded from. It takes memory for one. An error of r is yielded in
// the end.
func Windows(r io.Reader) iter.Seq2[Window, error] {
	return func(yield func(Window, error) bool) {
		buf := make([]byte, 0, windowSize)
		w := Window{}
		for {
			var err error
			for len(buf) < windowSize && err == nil { // io.ReadFull hides an unexpected end of r's own
				var n int
				n, err = r.Read(buf[len(buf):windowSize])
				buf = buf[:len(buf)+n]
			}
			if err != nil && err != io.EOF {
				yield(Window{}, err)
				return
			}
			w.Data, w.Last, w.Next = buf, err != nil, len(buf)
			if !w.Last {
				w.Next = nextWindow(buf)
				if at := cutStream(buf, w.Next); at >= overlap {
					w.Next = at // the next window may hold it whole
				} else {
					w.Cut = at >= 0
				}
			}
			if !yield(w, nil) || w.Last {
				return
			}
			next := w.Next
			w = Window{Offset: w.Offset + int64(next), Line: w.Line + bytes.Count(buf[:next], []byte{'\n'})}
			buf = buf[:copy(buf, buf[next:])]
		}
	}
}

// aligned is how many characters of base64 three encodings, one in another, are in step at.
const aligned = 64

// nextWindow returns where in b the window behind it begins.
func nextWindow(b []byte) int {
	at := len(b) - overlap
	if k := bytes.IndexByte(b[at:at+overlap/2], '\n'); k >= 0 {
		return at + k + 1
	}
	from := at
	for from > 0 && base64Class[b[from-1]] {
		from--
	}
	at -= (at - from) % aligned
	for at < len(b) && !utf8.RuneStart(b[at]) && at-from < utf8.UTFMax {
		at++
	}
	return at
}

// The most that stands behind the last line of a value that goes on, and what is looked at of its beginning.
const (
	maxJoin   = 64
	maxPacked = 4 << 10
)

// cutStream returns where packed data begins, in front of next, that is cut by the end of b,
// or -1.
func cutStream(b []byte, next int) int {
	for r := range runs(b, minBase64, &base64Class) {
		begin := r.digits[:min(len(r.digits), maxPacked)]
		if r.from < next && len(b)-r.to <= maxJoin && (unpacks(decode64(begin)) || unpacks(decodeHex(begin))) {
			return r.from
		}
	}
	return -1
}

// unpacks says whether b is the beginning of a stream of gzip and not chance bytes.
func unpacks(b []byte) bool {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, io.LimitReader(r, 64<<10))
	return err == nil || errors.Is(err, io.ErrUnexpectedEOF)
}
