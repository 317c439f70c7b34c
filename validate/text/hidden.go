package text

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/runenames"
)

// Kind groups characters by the harm that they do.
type Kind string

// The kinds of a Suspect.
const (
	KindControl    Kind = "control"    // C0, DEL and C1; tab and newline are not reported
	KindZeroWidth  Kind = "zero-width" // takes no room
	KindTag        Kind = "tag"        // invisible copies of ASCII
	KindVariation  Kind = "variation"  // variation selector where none belongs
	KindHidden     Kind = "hidden"     // other ones that are drawn as nothing, steer others or mean nothing
	KindSpace      Kind = "space"      // a space other than the ordinary one
	KindConfusable Kind = "confusable" // looks like a Latin letter and stands in a Latin word
	KindInvalid    Kind = "invalid"    // a byte that is not UTF-8
	KindNoText     Kind = "no-text"    // unassigned, or the place of a picture: drawn as anything
)

// Suspect is one character that a reader would not see as what it is.
type Suspect struct {
	// Offset counts bytes from 0.
	Offset int
	// Rune is the character, or the byte if Kind is KindInvalid.
	Rune rune
	// Name is "U+202E RIGHT-TO-LEFT OVERRIDE".
	Name string
	Kind Kind
	// Looks is the ASCII letter that a KindConfusable resembles, else 0.
	Looks rune
}

// span is a range of code points, both ends included.
type span struct {
	lo, hi rune
	kind   Kind
}

// hiddenSpans is sorted. It is spelled out, and not taken from the unicode
// package's categories, because it defines the spelling that Visible writes:
// that must not change with the version of Go.
var hiddenSpans = []span{
	{0x00, 0x08, KindControl}, {0x0B, 0x1F, KindControl}, {0x7F, 0x9F, KindControl}, {0xAD, 0xAD, KindHidden},
	{0x34F, 0x34F, KindZeroWidth}, {0x600, 0x605, KindHidden}, {0x61C, 0x61C, KindHidden}, {0x6DD, 0x6DD, KindHidden},
	{0x70F, 0x70F, KindHidden}, {0x890, 0x891, KindHidden}, {0x8E2, 0x8E2, KindHidden}, {0x115F, 0x1160, KindHidden},
	{0x17B4, 0x17B5, KindHidden}, {0x180B, 0x180D, KindVariation}, {0x180E, 0x180E, KindZeroWidth},
	{0x180F, 0x180F, KindVariation}, {0x200B, 0x200D, KindZeroWidth}, {0x200E, 0x200F, KindHidden},
	{0x2028, 0x202E, KindHidden}, {0x2060, 0x2064, KindZeroWidth}, {0x2065, 0x206F, KindHidden},
	{0x3164, 0x3164, KindHidden}, {0xE000, 0xF8FF, KindHidden}, {0xFDD0, 0xFDEF, KindHidden},
	{0xFE00, 0xFE0F, KindVariation}, {0xFEFF, 0xFEFF, KindZeroWidth}, {0xFFA0, 0xFFA0, KindHidden},
	{0xFFF0, 0xFFFB, KindHidden}, {0x110BD, 0x110BD, KindHidden}, {0x110CD, 0x110CD, KindHidden},
	{0x13430, 0x1345F, KindHidden}, {0x1BCA0, 0x1BCA3, KindHidden}, {0x1D173, 0x1D17A, KindHidden},
	{0xE0000, 0xE00FF, KindTag}, {0xE0100, 0xE01EF, KindVariation}, {0xE01F0, 0xE0FFF, KindTag},
	{0xF0000, 0x10FFFF, KindHidden},
}

// emojiSpans are the bases after which one U+FE0E or U+FE0F is ordinary.
var emojiSpans = []span{
	{'#', '#', ""}, {'*', '*', ""}, {'0', '9', ""}, {0xA9, 0xA9, ""}, {0xAE, 0xAE, ""}, {0x203C, 0x203C, ""},
	{0x2049, 0x2049, ""}, {0x2122, 0x2122, ""}, {0x2139, 0x2139, ""}, {0x2194, 0x21AA, ""}, {0x231A, 0x23FF, ""},
	{0x24C2, 0x24C2, ""}, {0x25AA, 0x27BF, ""}, {0x2934, 0x2935, ""}, {0x2B05, 0x2B55, ""}, {0x3030, 0x3030, ""},
	{0x303D, 0x303D, ""}, {0x3297, 0x3297, ""}, {0x3299, 0x3299, ""}, {0x1F000, 0x1FAFF, ""},
}

func lookup(t []span, r rune) (Kind, bool) {
	i, _ := slices.BinarySearchFunc(t, r, func(s span, r rune) int { return int(s.hi - r) })
	if i == len(t) || r < t[i].lo {
		return "", false
	}
	return t[i].kind, true
}

// Hidden reports whether r, standing alone, is drawn as nothing or steers how
// other characters are drawn, and in which way.
func Hidden(r rune) (Kind, bool) {
	switch {
	case r >= 0x20 && r < 0x7F:
		return "", false
	case r&0xFFFE == 0xFFFE: // no character, on any plane
		return KindHidden, true
	}
	return lookup(hiddenSpans, r)
}

// hiddenAfter is Hidden for r behind prev: one emoji selector behind an emoji is ordinary.
func hiddenAfter(prev, r rune) (Kind, bool) {
	if (r == 0xFE0E || r == 0xFE0F) && isEmoji(prev) {
		return "", false
	}
	return Hidden(r)
}

func isEmoji(r rune) bool {
	_, ok := lookup(emojiSpans, r)
	return ok
}

// isSpace says whether r is a space that looks like U+0020 or like nothing much. These are
// reported but not respelt: locales write numbers with them.
func isSpace(r rune) bool { return r == 0x2800 || r > ' ' && unicode.Is(unicode.Zs, r) }

// joins says whether r only joins or parts its neighbours, as Arabic and Indic scripts and
// emoji of several parts are written.
func joins(prev, r rune, behind string) bool {
	if r != 0x200C && r != 0x200D {
		return false
	}
	next, _ := utf8.DecodeRuneInString(behind)
	if unicode.Is(unicode.Arabic, prev) {
		return unicode.Is(unicode.Arabic, next)
	}
	if prev >= 0x900 && prev <= 0xDFF { // Devanagari to Sinhala
		return next >= 0x900 && next <= 0xDFF
	}
	return r == 0x200D && (isEmoji(prev) || prev == 0xFE0F) && isEmoji(next) && next > 0xFF
}

// noText says whether r, which is not hidden, stands for no text: for a picture in a copied
// document, or for nothing, as Unicode has no such character. Visible does not respell
// these, which can be seen. Emoji are younger than Go's tables.
func noText(r rune) bool { return r == 0xFFFC || !unicode.IsGraphic(r) && !isEmoji(r) }

// Suspects yields every hidden, confusable, unusual-space and undecodable
// character of s in order of its place. Tab and newline are ordinary; carriage
// return is a control.
func Suspects(s string) iter.Seq[Suspect] {
	return func(yield func(Suspect) bool) {
		var prev rune
		wordEnd := 0 // end of the word that was judged last
		mixed := false
		for i := 0; i < len(s); {
			if end := PlainEnd(s, i); end > i {
				i, prev = end, rune(s[end-1])
				continue
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			m := Suspect{Offset: i, Rune: r}
			kind, hid := hiddenAfter(prev, r)
			l, alike := Confusable(r)
			if alike && i >= wordEnd {
				mixed, wordEnd = judgeWord(s, i)
			}
			switch {
			case r == utf8.RuneError && n == 1:
				m.Rune, m.Kind = rune(s[i]), KindInvalid
			case hid && joins(prev, r, s[i+n:]):
			case hid:
				m.Kind = kind
			case isSpace(r):
				m.Kind = KindSpace
			case alike && (mixed || isStyled(r)):
				m.Kind, m.Looks = KindConfusable, l
			case noText(r):
				m.Kind = KindNoText
			}
			prev = r
			i += n
			if m.Kind == "" {
				continue
			}
			if m.Name = Name(m.Rune); m.Kind == KindInvalid {
				m.Name = fmt.Sprintf("byte 0x%02X, not UTF-8", m.Rune)
			}
			if !yield(m) {
				return
			}
		}
	}
}

// maxWord is where words are cut, on each side, which keeps Suspects linear.
const maxWord = 256

// judgeWord looks at the word around offset at and says whether it holds an ASCII letter,
// and where it ends.
func judgeWord(s string, at int) (mixed bool, end int) {
	ends := func(r rune) bool {
		_, hid := Hidden(r) // invisible characters do not end a word for the eye
		return !(hid && r >= utf8.RuneSelf || unicode.In(r, unicode.L, unicode.Nd, unicode.M) || isStyled(r))
	}
	from := max(0, at-maxWord)
	from += strings.LastIndexFunc(s[from:at], ends) + 1
	end = min(len(s), at+maxWord)
	if n := strings.IndexFunc(s[at:end], ends); n >= 0 {
		end = at + n
	}
	return strings.ContainsFunc(s[from:end], isASCIILetter), end
}

// Name returns the code point of r and its name in Unicode, in ASCII.
func Name(r rune) string {
	name := runenames.Name(r)
	if name == "" {
		name = "(no character)"
	}
	return fmt.Sprintf("U+%04X %s", r, name)
}
