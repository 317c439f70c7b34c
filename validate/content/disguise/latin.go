package disguise

import (
	"strings"
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

const howAlike = "in letters that look like others"

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
		return "upside down"
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
	return 3*o.others > o.letters || o.how() == howAlike && (2*m.strange > m.long && o.mixed < 2 || 4*m.strange > 3*m.long)
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
		if c >= 0x4E00 && c < 0xF900 || c >= 0x0600 && c < 0x0E00 { // the commonest of those that look like no others
			if _, ok := likeness[c]; !ok {
				o.letters++
				o.others++
				out = append(out, src...)
				continue
			}
		}
		if _, hidden := text.Hidden(c); hidden {
			if len(out) > 0 && letter(out[len(out)-1]) && i < len(line) && letter(line[i]) {
				o.hidden++
			}
			continue
		}
		if unicode.Is(unicode.Mn, c) || unicode.Is(unicode.Me, c) {
			if len(out) > 0 && letter(out[len(out)-1]) {
				o.marks++
			}
			continue
		}
		if c == 'ˈ' || c == 'ˌ' || c == 'ː' { // of phonetic transcription
			spoken = true
		}
		if turned[c] != 0 && !accented(c) {
			o.turned++
		}
		if l, ok := likeness[c]; ok {
			if !accented(c) {
				alike = true
				o.alike++
			}
			o.letters++
			out = append(out, l)
			continue
		}
		if unicode.IsSpace(c) || c == noDots {
			end()
			out = append(out, ' ')
			continue
		}
		d := norm.NFKD.Bytes(src)
		if base, _ := utf8.DecodeRune(d); base != c {
			if l, ok := likeness[base]; ok {
				alike = true
				o.alike++
				o.letters++
				out = append(out, l)
				continue
			}
		}
		if letter(d[0]) && (len(d) == 1 || d[1] >= utf8.RuneSelf) {
			latin = true
			o.letters++
			if !accented(c) {
				o.alike++
			}
			out = append(out, d[0])
			continue
		}
		if l, ok := text.Confusable(c); ok && letter(byte(l)) && l < utf8.RuneSelf {
			if !accented(c) {
				alike = true
				o.alike++
			}
			o.letters++
			out = append(out, byte(l))
			continue
		}
		if len(d) == 1 {
			out = append(out, d[0])
			continue
		}
		if unicode.IsLetter(c) {
			if o.letters++; turned[c] == 0 {
				o.others++
			}
		} else if unicode.IsPunct(c) || unicode.IsSymbol(c) {
			src = []byte(otherSign)
		}
		out = append(out, src...)
	}
	end()
	r.plain = out
	if o.how() == "upside down" {
		out = r.upright(line)
	}
	return out, o
}

const (
	noDots    = '\u2800' // of Braille
	otherSign = "*"      // stands for all signs that are not ASCII
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
