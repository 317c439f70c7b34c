package disguise

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/threegate/tool-exec/validate/text"
)

// alphabets are letters that are drawn, or set in ornament, for those from a to z; a
// full stop stands where one has none. Most are what generators of ornamental text offer.
var alphabets = []string{
	"αβςδεƒɡ.ιϳκλμηορ.гστυνωχγζ", "αв.∂єғ.нϊנкℓмησρqяѕтυνωχуż", "а.сԁеғԍһіјкӏмпорԛгѕтцѵѡхуз",
	"авсԁёƒgніјќlмй.рqґѕтцνшхўз", "ДБСDЄ.GЖІЈКLМИФРQЯЅТЦVШХЧZ", "ΛВϾ.ΣҒ.НЇ.К.МПΘР.Г.ТЦ.Ω.Ψ.", "д.ҫ.эф..й.қ.ӎπөр.ѓ.ҭџ.щжч.", "λ.ć.ξ....ј.....θþ.я..μ.ψ.ў.",
	"ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ.ʏᴢ", "aɓƈɗɛƒɠɦɨɉƙɭɱɲøƥɋɽʂƭʉʋⱳӿƴʐ", "ąƀçđęꞙǥħįĵķłɯŋǫᵽʠɍşŧųⱱŵҳɏƶ",
	"ᗩᗷᑕᗪᕮᖴǤᕼᓰᒍᛕᒪᗰᑎᝪᑭᑫᖇᔕᎢᑌᐯᗯ᙭Ƴᘔ", "ค๒ς๔єŦﻮђเןкɭ๓ภ๏קợгรՇยשฬאץչ", "卂乃匚ᗪ乇千Ꮆ卄丨ﾌҜㄥ爪几ㄖ卩Ɋ尺丂ㄒㄩᐯ山乂ㄚ乙",
	"₳฿₵ĐɆ₣₲ⱧłJ₭Ⱡ₥₦Ø₱QⱤ₴₮ɄV₩ӾɎⱫ", "ǟɮƈɖɛʄɢɦɨʝӄʟʍռօքզʀֆȶʊʋաӼʏʐ", "ԹՅՇԺȝԲԳɧɿʝƙʅʍՌԾρφՐՏԵՄעաՃՎՀ",
	"ᎪᏴᏟᎠᎬᎨᏀᎻᎥᎫᏦᏞᎷNᎤᏢQᏒᏚᎢᏌᏙᎳXᎩᏃ", "ꭺꮟꮯꭰꭼꭲꮐꮋꭵꭻꮶꮮꮇꮑꮎꮲ.ꭱꮪꭲꮜꮩꮃ.ꭹꮓ", "ⲀⲂⲤⲆⲈϜⳒⲎⲒⳘⲔⳐⲘⲚⲞⲢⳜⲄ..ⲨⲴⲰⲬⲨⲌ",
	"ⲁⲃⲥⲇⲉϝⳓⲏⲓⳙⲕⳑⲙⲛⲟⲣⳝⲅ..ⲩⲵⲱⲭⲩⲍ", "ΑΒϹΔΕϜԌΗΙЈΚΛΜΝΟΡϘЯЅΤՍѴШΧΥΖ", "АВСDЕҒԌНІЈКӅМИОРԚГЅТЦѴЩХУЗ", "ДЪ©ÐΣҒĞĤЇ.ЌĿЙПФÞ.®§ТЏ√ЏЖ¥Ž",
	"⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", "ǺßČĎĘ₤ĢĦĨĴĶĹ₼ŇÕ¶ǪŔŚŢŨ∇ŴẌ¥Ẓ", "ªb¢∂€.....£.ñθ¶.®§†µ√.×γ.", "ⱥƃↄꝺɘʆᵷɥꟾɟʞɬꟺꞃꝏꝑꝗꭇƨʇꞟʌʍꭓʎʒ",
}

// styles are blocks of letters in their order: the first of them.
var styles = []struct {
	first rune
	n     rune // letters in a row, small ones behind capitals if 52
}{{0x1F110, 26}, {0x1F130, 26}, {0x1F150, 26}, {0x1F170, 26}, {0x1F1E6, 26}, {0x249C, 26}, {0x24B6, 26}, {0x24D0, 26}, {0xFF21, 26}, {0xFF41, 26}}

// likeness are all of these, and what they are drawn for.
var likeness = func() map[rune]byte {
	m := map[rune]byte{}
	for _, s := range styles {
		for i := range s.n {
			m[s.first+i] = 'a' + byte(i%26)
		}
	}
	for _, a := range alphabets {
		i := byte(0)
		for _, c := range a {
			if _, ok := m[c]; !ok && c >= utf8.RuneSelf {
				m[c] = 'a' + i
			}
			i++
		}
	}
	return m
}()

// turned are letters that stand on their heads.
var turned = func() map[rune]byte {
	m := map[rune]byte{}
	for i, c := range []rune("ɐqɔpǝɟɓɥıɾʞlɯuodbɹsʇnʌʍxʎz") {
		m[c] = 'a' + byte(i)
	}
	for i, c := range []rune("ᴉſƃᘔɘןᗺƆᗡƎℲ⅁˥ԀΌᴚ┴∩Λ⅄ɯ∀") {
		m[c] = "ijgzelbcdeflpoprtuvymaa"[i]
	}
	return m
}()

const (
	howAlike  = "in letters that look like others"
	howTurned = "upside down"
)

// oddity counts what is odd about a line that is not ASCII.
type oddity struct {
	letters int // of all
	others  int // letters that are drawn for none
	alike   int // letters that are drawn for others
	mixed   int // words of letters of different scripts
	marks   int // signs that are set over letters, without making another one
	hidden  int // invisible characters between letters
	turned  int // letters that stand on their heads
}

func (o oddity) how() string {
	switch {
	case o.turned >= 3 && 6*o.turned >= o.letters:
		return howTurned
	case o.mixed >= 2, o.alike >= 5 && 2*o.alike >= o.letters:
		return howAlike
	case o.marks >= 4 && 2*o.marks >= o.letters:
		return "with marks over its letters"
	case o.hidden >= 3:
		return "with invisible characters in its words"
	}
	return ""
}

// real says that it is text of a script whose letters look like others, and reads
// as nothing in those.
func (o oddity) real(m marks) bool {
	return 3*o.others > o.letters || o.how() == howAlike && 4*m.strange > 3*m.long
}

// leastMixed is the length of a word whose letters are of different scripts: μm is none.
const leastMixed = 3

// latin returns what a line reads as in plain letters. What is in none stays.
func (r *reader) latin(line []byte) ([]byte, oddity) {
	var o oddity
	out := r.plain[:0]
	var latin, alike, spoken bool // the word so far
	began := 0
	end := func() {
		if latin && alike && !spoken && o.letters-began >= leastMixed {
			o.mixed++
		}
		latin, alike, spoken, began = false, false, false, o.letters
	}
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf {
			if letter(c) {
				latin = true
				o.letters++
			} else if c <= ' ' {
				end()
			}
			out = append(out, c)
			i++
			continue
		}
		c, n := utf8.DecodeRune(line[i:])
		src := line[i : i+n]
		i += n
		l := looks(c)
		if l.turned {
			o.turned++
		}
		switch l.as {
		case asLetter:
			o.letters++
			latin = latin || l.latin
			if l.odd {
				alike = alike || !l.latin
				o.alike++
			}
			out = append(out, l.plain)
		case asSign:
			out = append(out, l.plain)
		case asSpace:
			end()
			out = append(out, ' ')
		case asMark:
			if len(out) > 0 && letter(out[len(out)-1]) {
				o.marks++
			}
		case asNothing:
			if len(out) > 0 && letter(out[len(out)-1]) && i < len(line) && letter(line[i]) {
				o.hidden++
			}
		default:
			if l.as != asItself {
				o.letters++
			}
			if l.as == asOther {
				o.others++
			}
			spoken = spoken || c == 'ˈ' || c == 'ˌ' || c == 'ː' // of phonetic transcription
			out = append(out, src...)
		}
	}
	end()
	r.plain = out
	if o.how() == howTurned {
		out = r.upright(line)
	}
	return out, o
}

// look is what a character is read as.
type look struct {
	as    form
	plain byte
	// latin says that it is a letter of this script in another form, odd that nobody
	// writes with it, turned that it stands on its head.
	latin, odd, turned bool
}

type form uint8

const (
	asItself  form = iota
	asLetter       // plain
	asSign         // plain
	asSpace        //
	asMark         // set over or through a letter
	asNothing      // invisible
	asOther        // a letter that looks like none
	asTurned       // a letter on its head, which looks like none as it stands
)

// looksTable are the looks of the first characters, in which almost all text is written.
var looksTable = sync.OnceValue(func() *[0x3000]look {
	t := new([0x3000]look)
	for c := range t {
		t[c] = lookOf(rune(c))
	}
	return t
})

func looks(c rune) look {
	if c < 0x3000 {
		return looksTable()[c]
	}
	return lookOf(c)
}

func lookOf(c rune) look {
	l := look{turned: turned[c] != 0 && !accented(c)}
	set := func(as form, plain byte, latin, odd bool) look {
		l.as, l.plain, l.latin, l.odd = as, plain, latin, odd
		return l
	}
	if _, hidden := text.Hidden(c); hidden {
		return set(asNothing, 0, false, false)
	}
	if plain, ok := likeness[c]; ok {
		return set(asLetter, plain, false, !accented(c))
	}
	switch {
	case c >= 0x3400 && c < 0xF900: // ideographs and syllables
		return set(asOther, 0, false, false)
	case unicode.In(c, unicode.Mn, unicode.Me):
		return set(asMark, 0, false, false)
	case unicode.IsSpace(c) || c == noDots:
		return set(asSpace, 0, false, false)
	}
	d := norm.NFKD.String(string(c))
	if base, _ := utf8.DecodeRuneInString(d); base != c {
		if plain, ok := likeness[base]; ok {
			return set(asLetter, plain, false, true)
		}
	}
	if letter(d[0]) && (len(d) == 1 || d[1] >= utf8.RuneSelf) {
		return set(asLetter, d[0], true, !accented(c))
	}
	if p, ok := text.Confusable(c); ok && p < utf8.RuneSelf && letter(byte(p)) {
		return set(asLetter, byte(p), false, !accented(c))
	}
	switch {
	case len(d) == 1:
		return set(asSign, d[0], false, false)
	case unicode.IsLetter(c) && l.turned:
		return set(asTurned, 0, false, false)
	case unicode.IsLetter(c):
		return set(asOther, 0, false, false)
	case unicode.IsPunct(c), unicode.IsSymbol(c):
		return set(asSign, otherSign, false, false)
	}
	return l
}

const (
	noDots    = '\u2800' // of Braille
	otherSign = '*'      // stands for all signs that are not ASCII
)

// accented says whether c is a letter of some Latin alphabet in use.
func accented(c rune) bool {
	return c >= 0xC0 && c < 0x180 && c != '×' && c != '÷' || c >= 0x1E00 && c < 0x1F00 || strings.ContainsRune("ªºƠơƯưȘșȚț", c)
}

// upright turns a line by half a circle.
func (r *reader) upright(line []byte) []byte {
	out := r.plain[:0]
	for end := len(line); end > 0; {
		c, n := utf8.DecodeLastRune(line[:end])
		end -= n
		if l, ok := turned[c]; ok {
			out = append(out, l)
		} else {
			out = append(out, line[end:end+n]...)
		}
	}
	r.plain = out
	return out
}
