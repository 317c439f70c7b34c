package content

import (
	"bytes"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

// unseenText says of each kind of invisible character how many in a row are text that
// is hidden from people, and what such a text is called.
var unseenText = map[text.Kind]struct {
	least int
	what  string
}{
	text.KindTag:       {4, "text in invisible copies of letters"},
	text.KindVariation: {4, "text in variation selectors"},
	text.KindZeroWidth: {32, "text in characters without width"},
}

// Behind a black flag a few tags name a region: that is an emoji.
const (
	blackFlag = "\U0001F3F4"
	flagTags  = 7
)

// unseen finds text in characters that nobody sees. A model may read it, so it does not
// matter what it says.
func (c *collector) unseen(b []byte, p *text.Piece) {
	var kind text.Kind
	from, count := 0, 0
	end := func(to int) {
		u, ok := unseenText[kind]
		flag := kind == text.KindTag && count <= flagTags && bytes.HasSuffix(b[:from], []byte(blackFlag))
		if ok && count >= u.least && !flag {
			c.hit(Hit{Rule: RuleUnseen, Name: "unseen", What: u.what, Offset: from, End: to}, p)
		}
		kind, count = "", 0
	}
	for i := text.PlainEnd(b, 0); i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		k, _ := text.Hidden(r)
		if k != kind {
			end(i)
			kind, from = k, i
		}
		count++
		i += n
		if next := text.PlainEnd(b, i); next > i {
			end(i)
			i = next
		}
	}
	end(len(b))
}
