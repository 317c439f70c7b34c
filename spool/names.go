package spool

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names in an inbox.
const (
	requestPrefix = "TR-"
	requestSuffix = ".md"
	inputsSuffix  = ".inputs"
	sigSuffix     = ".md.sig"
)

// MaxStem bounds the name of a request without ".md": with what a result's name
// adds, it stays below the 255 bytes of a file name.
const MaxStem = 160

var stemRE = regexp.MustCompile(`^TR-[A-Za-z0-9][A-Za-z0-9._-]*$`)

// isRequestName says whether a name in an inbox claims to be a request.
func isRequestName(name string) bool {
	return strings.HasPrefix(name, requestPrefix) && strings.HasSuffix(name, requestSuffix)
}

// RequestStem is the name of a request's file without ".md", or "" if a request can't be named so.
func RequestStem(name string) string {
	stem, ok := strings.CutSuffix(name, requestSuffix)
	if !ok || badStem(stem) != "" {
		return ""
	}
	return stem
}

// badStem says what is wrong with the name of a request, or "".
func badStem(stem string) string {
	switch {
	case len(stem) > MaxStem:
		return fmt.Sprintf("it is %d bytes long, at most %d are allowed", len(stem), MaxStem)
	case !stemRE.MatchString(stem):
		return "after TR- only A-Z, a-z, 0-9, dot, underscore and hyphen are allowed, a letter or digit first"
	case strings.Contains(stem, ".."):
		return `".." is not allowed in it`
	}
	return ""
}

// maxQuoted bounds a hostile name where it is shown.
const maxQuoted = 200

// Quote makes a hostile name or text safe to show: Go's quoting, ASCII only,
// bounded.
func Quote(s string) string {
	q := strconv.QuoteToASCII(s)
	if len(q) > maxQuoted {
		q = q[:maxQuoted-3] + `..."`
	}
	return q
}

// idAlphabet is Crockford's base 32 in lower case: its byte order is its value
// order, so job ids sort by time.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// idLen is the length of a job id: a letter and 128 bits.
const idLen = 27

// ids makes job ids: "j" and 26 characters, 48 bits of milliseconds and 80
// random bits. Ids of one source rise strictly, also when the clock does not.
type ids struct {
	mu   sync.Mutex
	last [16]byte
}

func (g *ids) next(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	g.mu.Lock()
	defer g.mu.Unlock()
	if string(b[:6]) <= string(g.last[:6]) {
		// Some steps further, so that no process that began at the same id meets it.
		lo, carry := bits.Add64(binary.BigEndian.Uint64(g.last[8:]), 1+binary.BigEndian.Uint64(b[8:])>>24, 0)
		binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(g.last[:8])+carry)
		binary.BigEndian.PutUint64(b[8:], lo)
	}
	g.last = b
	return encodeID(b)
}

// seed makes all further ids greater than id.
func (g *ids) seed(id string) {
	b, ok := decodeID(id)
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok && string(b[:]) > string(g.last[:]) {
		g.last = b
	}
}

func encodeID(b [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	out := make([]byte, idLen)
	out[0] = 'j'
	for i := idLen - 1; i > 0; i-- {
		out[i] = idAlphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out)
}

func decodeID(id string) ([16]byte, bool) {
	var b [16]byte
	if len(id) != idLen || id[0] != 'j' || id[1] > '7' {
		return b, false
	}
	var hi, lo uint64
	for i := 1; i < idLen; i++ {
		v := -1
		for j := range len(idAlphabet) {
			if idAlphabet[j] == id[i] {
				v = j
			}
		}
		if v < 0 {
			return b, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return b, true
}

// ValidID says whether id is the id of a job.
func ValidID(id string) bool {
	_, ok := decodeID(id)
	return ok
}
