package secrets

import (
	"bytes"
	"cmp"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/threegate/tool-exec/validate/text"
)

// Value is a secret as it was found. It does not print.
type Value string

// String stands for the value.
func (Value) String() string { return Mask }

// GoString stands for the value.
func (Value) GoString() string { return Mask }

// Set holds the values of secrets, to find every place where one stands, plain or encoded. The zero value and nil hold
// none.
type Set struct {
	values map[Value]bool
	forms  [][]byte
	// different counts the values that neither hold nor spell a shorter one.
	different int
}

// Empty says that there is none.
func (s *Set) Empty() bool { return s == nil || len(s.values) == 0 }

// Add takes in the values of what a scan found.
func (s *Set) Add(ms []Match) {
	ms = slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b Match) int { return cmp.Compare(len(a.Value), len(b.Value)) })
	for _, m := range ms {
		if m.Value == "" || s.values[m.Value] {
			continue
		}
		if len(s.Find([]byte(m.Value))) == 0 {
			s.different++
		}
		if s.values == nil {
			s.values = map[Value]bool{}
		}
		s.values[m.Value] = true
		for _, f := range forms(string(m.Value)) {
			s.forms = append(s.forms, []byte(f))
		}
	}
}

// many is from how many secrets on a text is likely to hold others, which no rule knows.
const many = 3

// IsDump says whether a text in which ms were found is likely to hold secrets that no rule knows: it holds several, or
// a private key, or could not be searched to its end.
func IsDump(ms []Match) bool {
	var s Set
	s.Add(ms)
	return s.different >= many || slices.ContainsFunc(ms, func(m Match) bool {
		return strings.HasSuffix(m.Rule, "private-key") || m.Rule == RuleUnscannable
	})
}

// bounded is the length below which a value counts only where neither a letter nor a digit stands beside it: any number
// may hold four digits.
const bounded = 8

// Find returns the places of b at which a value stands, in order and apart from each other. Of an encoded stretch that
// holds one it is all.
func (s *Set) Find(b []byte) (places [][2]int) {
	if s.Empty() {
		return nil
	}
	places = s.plain(b)
	for _, view := range []func([]byte) (*text.Mapped, bool){text.Strip, text.Printed} {
		if bare, changed := view(b); changed {
			for _, p := range s.plain(bare.Text) {
				places = append(places, [2]int{bare.Origin(p[0]), bare.Origin(p[1]-1) + 1})
			}
		}
	}
	for p := range text.Pieces(b, text.DefaultLimits(len(b))) {
		if n := len(s.plain(p.Data)); n > 0 && n > len(s.plain(b[p.Offset:p.End])) {
			places = append(places, [2]int{p.Offset, p.End})
		}
	}
	slices.SortFunc(places, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	out := places[:0]
	for _, p := range places {
		if n := len(out); n > 0 && p[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], p[1])
		} else {
			out = append(out, p)
		}
	}
	return out
}

// plain returns the places of the forms in b as it stands.
func (s *Set) plain(b []byte) (places [][2]int) {
	for _, f := range s.forms {
		for from := 0; ; {
			i := bytes.Index(b[from:], f)
			if i < 0 {
				break
			}
			at, to := from+i, from+i+len(f)
			from = at + 1
			if len(f) < bounded && (at > 0 && kind(b[at-1]) != 0 || to < len(b) && kind(b[to]) != 0) {
				continue
			}
			places = append(places, [2]int{at, to})
			from = to
		}
	}
	return places
}

// forms are the ways in which v may be written: as it is, and by codes that programs have for it.
func forms(v string) []string {
	each := func(format, sep string) string {
		var codes []string
		for i := range len(v) {
			codes = append(codes, fmt.Sprintf(format, v[i]))
		}
		return strings.Join(codes, sep)
	}
	var wide [2][]byte
	for _, u := range utf16.Encode([]rune(v)) {
		wide[0], wide[1] = append(wide[0], byte(u), byte(u>>8)), append(wide[1], byte(u>>8), byte(u))
	}
	quoted, _ := json.Marshal(v) // a string can be written
	turned := []byte(v)
	slices.Reverse(turned)
	all := []string{v, strings.ToLower(v), strings.ToUpper(v), string(quoted[1 : len(quoted)-1]), string(turned),
		rot13(v), url.QueryEscape(v), url.PathEscape(v), html.EscapeString(v), string(wide[0]), string(wide[1]),
		strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(v)), "=")}
	for _, code := range []string{"%%%02x", "%%%02X", "&#%d;", "&#x%x;", "&#x%X;", `\x%02x`, `\x%02X`, `\u%04x`, `\%03o`,
		"%02x", "%02X"} {
		all = append(all, each(code, ""))
	}
	for _, code := range []string{"%02x", "%02X", "0x%02x", "%d", "%08b", "%c"} {
		all = append(all, each(code, " "), each(code, ", "), each(code, ","), each(code, ":"))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, enc.EncodeToString([]byte(v)), enc.EncodeToString([]byte(v+"\n")),
			enc.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(v)))))
		// Inside of a longer text the groups of four are shifted; the digits at both ends hold other characters, too.
		for shift := range 3 {
			in := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + v))
			in = in[(8*shift+5)/6:]
			if (8*(shift+len(v)))%6 != 0 {
				in = in[:len(in)-1]
			}
			all = append(all, in)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all),
		func(f string) bool { return f != v && len(f) < min(bounded, len(v)) })
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
