package content

import (
	"strings"

	"github.com/threegate/tool-exec/validate/content/sentence"
	"github.com/threegate/tool-exec/validate/encoded"
	"github.com/threegate/tool-exec/validate/text"
)

var ruleOf = map[sentence.Kind]string{sentence.Execute: RuleExecute, sentence.Fetch: RuleFetch, sentence.Policy: RulePolicy}

var whatOf = map[sentence.Kind]string{
	sentence.Execute: "a sentence that gives an order to act, by its words: ",
	sentence.Fetch:   "a sentence that wants something fetched or sent, by its words: ",
	sentence.Policy:  "a sentence that wants a security control changed, by its words: ",
}

// sentences judges the sentences of folded, which is what raw reads as. One
// that is written in disguise is judged as what it is meant to be read as, too.
func (c *collector) sentences(raw []byte, folded *text.Mapped, p *encoded.Piece) {
	for s := range sentence.Split(folded.Text, sentence.Small(raw, folded)) {
		if c.full() {
			return
		}
		v := c.judge.Look(folded.Text[s.From:s.To])
		if v.Kind == sentence.Harmless {
			continue
		}
		h := Hit{Rule: ruleOf[v.Kind], Name: "sentence", What: whatOf[v.Kind] + strings.Join(v.Words, ", "), Offset: folded.Origin(s.From + v.From), End: folded.Origin(s.To)}
		if v.Disguised {
			h.Name = "disguised"
		}
		c.hit(h, p)
	}
}
