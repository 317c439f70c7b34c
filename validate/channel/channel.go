// Package channel judges one channel of a result whole: a stream, or a line that
// quotes somebody. It finds the places that rules withhold or refuse, and puts
// markers where text was withheld.
//
// Its input is hostile. It is pure and takes time linear in its input.
package channel

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/content"
	"github.com/threegate/tool-exec/validate/secrets"
	"github.com/threegate/tool-exec/validate/text"
)

// Span is a place of a channel that a rule names.
type Span struct {
	Rule, What string
	// From and To bound it in the channel's bytes.
	From, To int
	// First and Last are its lines, from 1.
	First, Last int
	// SHA256 is the digest of what was found, if it refuses and a person may release it.
	SHA256 string
	// Releases are what a person releases who says that all that rules name in a withheld place is a false alarm;
	// none if that can't be.
	Releases []schemas.Release
}

// RuleSecrets is the rule about secrets, which are masked.
const RuleSecrets = "secrets.scan"

// Verdict is what was found in a channel.
type Verdict struct {
	// Lines counts the channel's lines; a last one without newline counts.
	Lines int
	// Withheld are the places that are not delivered, in order and apart from each
	// other. Refused are those that refuse the whole result.
	Withheld, Refused []Span

	secrets  *secrets.Set
	released []schemas.Release
	// units says what is withheld for a hit, nothing if it can't be taken out by itself: then whole is set.
	units func(raw []byte, from, to int) [][2]int
	whole bool
}

// A channel is judged in windows, so that none is too long to be judged. They overlap,
// so that nothing hides between them.
const (
	window  = 256 << 10
	overlap = 16 << 10
)

// rounds bounds how often a window is judged: once as it is, and then without what was
// withheld, until nothing more is found. If there is always more, it is withheld whole.
const rounds = 6

// Judge judges all of raw, or as much as is needed to refuse it. masked are the secrets that were found in any channel,
// released are judgements that a person took back.
func Judge(raw []byte, masked *secrets.Set, released ...schemas.Release) Verdict {
	v := Verdict{secrets: masked, released: released, units: textUnits}
	if places, ok := jsonValues(raw); ok && bytes.ContainsAny(raw[:min(len(raw), 1)], "[{") {
		inValues := (&format{whole: true}).units(places)
		v.units = func(raw []byte, from, to int) [][2]int {
			if in := inValues(raw, from, to); len(in) > 0 {
				return in
			}
			return textUnits(raw, from, to)
		}
	}
	for _, p := range masked.Find(raw) {
		v.Withheld = append(v.Withheld, Span{Rule: RuleSecrets, What: "it holds a secret", From: p[0], To: p[1]})
	}
	v.judge(raw)
	return v
}

// judge judges all of raw, or as much as is needed to refuse it.
func (v *Verdict) judge(raw []byte) {
	for from := 0; ; {
		to := lineEnd(raw, from+window-overlap, from+window)
		v.window(raw, from, to)
		if to == len(raw) || len(v.Refused) > 0 {
			break
		}
		from = max(from+1, lineEnd(raw, to-overlap, to-overlap/2))
	}
	v.Add(raw, nil, nil)
	if v.Lines = bytes.Count(raw, []byte("\n")); len(raw) > 0 && raw[len(raw)-1] != '\n' {
		v.Lines++
	}
}

// Add takes in places that another judge of the same channel names.
func (v *Verdict) Add(raw []byte, withheld, refused []Span) {
	v.Withheld = join(raw, append(v.Withheld, withheld...))
	v.Refused = append(v.Refused, refused...)
	slices.SortFunc(v.Refused, func(a, b Span) int { return cmp.Or(a.From-b.From, cmp.Compare(a.Rule, b.Rule)) })
	v.Refused = slices.CompactFunc(v.Refused, func(a, b Span) bool { return a.From == b.From && a.Rule == b.Rule })
	number(raw, v.Withheld)
	number(raw, v.Refused)
}

// lineEnd is the last place behind a newline of raw[low:high], or the last one between
// two characters.
func lineEnd(raw []byte, low, high int) int {
	if high >= len(raw) {
		return len(raw)
	}
	if n := bytes.LastIndexByte(raw[low:high], '\n'); n >= 0 {
		return low + n + 1
	}
	return runeStart(raw, high)
}

// window judges raw[from:to]. What is left when something is withheld is judged again.
func (v *Verdict) window(raw []byte, from, to int) {
	var out []Span
	for round := range rounds {
		view := left(raw, from, to, out)
		more := false
		hits := content.Scan(view.Text)
		for _, h := range hits {
			s := Span{Rule: h.Rule, What: h.What, From: view.Origin(h.Offset),
				To: min(view.Origin(max(h.Offset, h.End-1))+1, to)}
			tier := content.TierOf(h.Rule)
			is := schemas.Release{Rule: s.Rule, SHA256: schemas.SpanOf(s.Rule, raw[s.From:max(s.From, s.To)])}
			switch {
			case is.SHA256 != "" && slices.Contains(v.released, is) && !content.Full(hits):
			case tier == content.Refuse || h.Rule == content.RuleUnread:
				s.SHA256 = is.SHA256
				v.Refused = append(v.Refused, s)
			case tier == content.Withhold:
				places := v.units(raw, s.From, s.To)
				if is.SHA256 != "" {
					s.Releases = []schemas.Release{is}
				}
				v.whole = v.whole || len(places) == 0
				for _, p := range places {
					s.From, s.To = p[0], p[1]
					out, more = append(out, s), true
				}
			}
		}
		if !more || len(v.Refused) > 0 || v.whole {
			break
		}
		if round == rounds-1 {
			v.whole = true
			out = append(out, Span{Rule: out[0].Rule, What: out[0].What, From: from, To: to})
		}
		out = join(raw, out)
	}
	v.Withheld = append(v.Withheld, out...)
}

func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

func lineStop(b []byte, at int) int {
	if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(b)
}

func runeStart[T string | []byte](b T, at int) int {
	for back := 0; back < utf8.UTFMax-1 && at > 0 && at < len(b) && !utf8.RuneStart(b[at]); back++ {
		at--
	}
	return at
}

const (
	blanks = " \t\r\n"
	// between is what may stand between two sentences.
	between = blanks + ".!?;,"
)

// join makes spans of b whole characters without blanks around them, sorts them, and
// makes one of those that overlap, or that stand together and break the same rule.
func join(b []byte, spans []Span) []Span {
	for i := range spans {
		s := &spans[i]
		s.From, s.To = runeStart(b, min(s.From, len(b))), min(s.To, len(b))
		for s.To < len(b) && !utf8.RuneStart(b[s.To]) {
			s.To++
		}
		s.From += len(b[s.From:s.To]) - len(bytes.TrimLeft(b[s.From:s.To], blanks))
		s.To = s.From + len(bytes.TrimRight(b[s.From:s.To], blanks))
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(a.From-b.From, b.To-a.To) })
	out := spans[:0]
	for _, s := range spans {
		if s.From >= s.To {
			continue
		}
		if n := len(out); n > 0 {
			last := &out[n-1]
			if s.From < last.To || s.Rule == last.Rule && len(bytes.Trim(b[last.To:s.From], between)) == 0 {
				last.To = max(last.To, s.To)
				last.alsoOf(s)
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// alsoOf makes a place one of what another names, too: it can be released if both can.
func (s *Span) alsoOf(o Span) {
	if len(s.Releases) == 0 || len(o.Releases) == 0 {
		s.Releases = nil
		return
	}
	s.Releases = slices.Clone(s.Releases)
	for _, r := range o.Releases {
		if !slices.Contains(s.Releases, r) {
			s.Releases = append(s.Releases, r)
		}
	}
}

// number sets the lines of spans, which are in order.
func number(raw []byte, spans []Span) {
	line, at := 1, 0
	for i := range spans {
		s := &spans[i]
		line += bytes.Count(raw[at:s.From], []byte("\n"))
		at = s.From
		s.First = line
		s.Last = line + bytes.Count(raw[s.From:max(s.From, s.To)], []byte("\n"))
	}
}

// left returns b[from:to] with a marker in the place of each span.
func left(b []byte, from, to int, spans []Span) *text.Mapped {
	number(b, spans)
	m := &text.Mapped{}
	for _, s := range spans {
		if s.To <= from || s.From >= to {
			continue
		}
		m.Add(b[from:max(from, s.From)], from)
		m.Add([]byte(s.withheld(0).Marker()), s.From)
		from = min(s.To, to)
	}
	m.Add(b[from:to], from)
	return m
}

func (s Span) withheld(at int) schemas.Withheld {
	return schemas.Withheld{Rule: s.Rule, First: s.First, Last: s.Last, At: at}
}

// Part returns what a result shows of the first n bytes of a stream whose verdict v is.
func Part(raw []byte, n int, v Verdict) (text string, withheld []schemas.Withheld) {
	spans := v.Withheld
	if n < len(raw) { // what is cut off may have said how the rest is meant
		spans = slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.From >= n })
		spans = join(raw[:n], append(spans, Judge(raw[:n], v.secrets, v.released...).Withheld...))
		number(raw, spans)
	}
	var b []byte
	at := 0
	for _, s := range spans {
		b = append(b, raw[at:s.From]...)
		withheld = append(withheld, s.withheld(len(b)))
		at = s.To
	}
	return string(append(b, raw[at:n]...)), withheld
}

// Whole returns all of a stream whose verdict v is, with the markers that a result has,
// and none that the stream imitates. It is raw itself if that needs none.
func Whole(raw []byte, v Verdict) []byte {
	if len(v.Withheld) == 0 && !HasMarker(raw) {
		return raw
	}
	var out []byte
	at := 0
	for _, s := range v.Withheld {
		out = append(append(out, escapeMarkers(raw[at:s.From])...), s.withheld(0).Marker()...)
		at = s.To
	}
	return append(out, escapeMarkers(raw[at:])...)
}

// Marked are the places of the markers in what Whole returns of a file.
func (v Verdict) Marked(path string) (places []schemas.MarkedPlace) {
	grown := 0
	for _, s := range v.Withheld {
		from, n := s.From+grown, len(s.withheld(0).Marker())
		places = append(places, schemas.MarkedPlace{Path: path, From: from, To: from + n, Rule: s.Rule})
		grown += n - (s.To - s.From)
	}
	return places
}

// HasMarker says whether b holds what looks like a marker.
func HasMarker(b []byte) bool { return bytes.Contains(b, []byte(schemas.MarkerStart)) }

// Escapes says whether a result shows codes in place of some bytes of b.
func Escapes(b []byte) bool { return text.Visible(string(b)) != string(b) }

// escapeMarkers spells the beginning of each imitated marker visibly.
func escapeMarkers(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(schemas.MarkerStart), []byte("⟦27E6⟧"+schemas.MarkerStart[len("⟦"):]))
}
