package encoded

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// What it costs to begin to decompress, which may come to as many bytes as may be decoded:
// each time, tables are made that are far larger than a few damaged bytes.
const (
	startsBzip2 = 128 << 10
	startsZlib  = 2 << 10
)

// startCost is what it costs to begin to decompress data, if it looks compressed.
func startCost(data []byte) int {
	switch {
	case isGzip(data), isZlib(data):
		return startsZlib
	case isBzip2(data):
		return startsBzip2
	}
	return 0
}

func isGzip(data []byte) bool {
	return len(data) > 10 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8
}

func isZlib(data []byte) bool {
	return len(data) > 8 && data[0] == 0x78 && (int(data[0])<<8|int(data[1]))%31 == 0
}

func isBzip2(data []byte) bool {
	return len(data) > 14 && bytes.HasPrefix(data, []byte("BZh")) && bytes.Equal(data[4:10], []byte("1AY&SY"))
}

// expand decompresses the first limit bytes of data; damaged data counts as far
// as it goes.
func expand(data []byte, limit int) (enc string, out []byte) {
	var r io.Reader
	var err error
	switch {
	case isGzip(data):
		enc = Gzip
		r, err = gzip.NewReader(bytes.NewReader(data))
	case isZlib(data):
		enc = Zlib
		r, err = zlib.NewReader(bytes.NewReader(data))
	case isBzip2(data):
		enc = Bzip2
		r = bzip2.NewReader(bytes.NewReader(data))
	default:
		return "", nil
	}
	if err != nil {
		return "", nil
	}
	out, _ = io.ReadAll(io.LimitReader(r, int64(limit)))
	if len(out) == 0 {
		return "", nil
	}
	return enc, out
}

// hasUTF16 reports whether data reads as UTF-16 of mostly ASCII, which
// PowerShell's encoded commands are in little-endian.
func hasUTF16(data []byte) bool {
	if len(data) < 2*minData {
		return false
	}
	low, high := zeros(data)
	return low || high
}

// zeros says whether of most pairs of bytes one is zero: the second, as in
// little-endian, or the first, as in big-endian.
func zeros(data []byte) (second, first bool) {
	n := min(len(data), 4096) / 2
	most := n / 5 // of the pairs may be others
	others, othersFirst := 0, 0
	for i := 0; i < n && (others <= most || othersFirst <= most); i++ {
		a, b := data[2*i], data[2*i+1]
		if b != 0 || a == 0 {
			others++
		}
		if a != 0 || b == 0 {
			othersFirst++
		}
	}
	return others <= most, othersFirst <= most
}

func fromUTF16(data []byte) []byte {
	u := make([]uint16, 0, len(data)/2)
	_, bigEndian := zeros(data)
	for i := 0; i+1 < len(data); i += 2 {
		if bigEndian {
			u = append(u, uint16(data[i])<<8|uint16(data[i+1]))
		} else {
			u = append(u, uint16(data[i])|uint16(data[i+1])<<8)
		}
	}
	out := make([]byte, 0, len(u))
	for _, r := range utf16.Decode(u) {
		out = utf8.AppendRune(out, r)
	}
	return out
}
