package content

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/threegate/tool-exec/validate/text"
)

//go:embed phrases.txt
var phraseText string

//go:embed vocabulary.txt
var vocabularyText string

// phrase is a form of words that a rule looks for in a sentence. Its fields are
// divided by spaces:
//
//	word      the word; word|other one of them; stem* all words that begin so
//	CLASS     a word of that class (see vocabulary.txt); CLASS|word either
//	^x        x where an order may begin: first, behind punctuation, "please", "must", "and"
//	x$        x before punctuation, or last
//	.3        at most three other words between its neighbours
//	&x  !x    x stands somewhere, or nowhere, in the sentence
type phrase struct {
	rule  string
	items []item
	also  []*class // all of them
	not   []*class // none of them
	block bool     // it is about the block of code behind the sentence
}

type item struct {
	class  *class
	gap    int // words that may stand before it
	begins bool
	closes bool
}

// class is a set of words.
type class struct{ n int }

// window is how many words of a sentence are looked at together; longer sentences are
// looked at in windows that overlap.
const (
	window        = 64
	windowOverlap = 24
)

// grammar is all phrases, and the classes that each word belongs to.
type grammar struct {
	phrases  []phrase
	standing []phrase          // of a standing order
	framed   []phrase          // of what poses as the system's own words
	classes  map[string]*class // by how phrases write them
	words    map[string][]int
	stems    map[string][]int
	lengths  []int         // of stems
	unions   map[int][]int // the classes that a virtual class is part of
}

// virtual classes are given to words by what stands around them.
const (
	classURL    = "URL"
	classFile   = "FILE"
	classScript = "SCRIPT"
	classOption = "OPTION"
	classCode   = "CODE"
	classQuote  = "QUOTE"
	classBlock  = "BLOCK"
	classLast   = "LAST"
	classCore   = "CORE"
	classAI     = "UPAI"    // in capitals
	classKeys   = "KEYFILE" // where keys and passwords lie
	classMail   = "MAIL"
	classWeb    = "WEB"
	// classStanding is given to the first word where a standing order came shortly before:
	// one for each task, or for all that follows.
	classStanding = "STANDING"
	// classFramed is given to the first word where a label or a tag posed as the system's own words shortly before.
	classFramed = "FRAMED"
	// classLabel is of the ends of labels, and classTag of tags, that name who speaks.
	classLabel = "UPHEAD"
	classTag   = "TAGHEAD"
	// classOdd is of addresses that carry data, lead to something that runs, or hide where
	// they lead.
	classOdd = "ODDURL"
)

var virtual = []string{classURL, classFile, classScript, classOption, classCode, classQuote, classBlock, classLast,
	classCore, classStanding, classFramed, classLabel, classTag, classOdd, classAI, classMail, classWeb, classKeys}

var loadGrammar = sync.OnceValue(func() *grammar {
	g := &grammar{classes: map[string]*class{}, words: map[string][]int{}, stems: map[string][]int{},
		unions: map[int][]int{}}
	for i, name := range virtual {
		g.classes[name] = &class{i}
	}
	name, words := "", []string(nil)
	for line := range strings.Lines(vocabularyText) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			words = append(words, strings.Fields(line)...)
		default:
			if name != "" {
				g.define(name, words)
			}
			name, words = strings.TrimSpace(line), nil
		}
	}
	g.define(name, words)
	rule := ""
	for line := range strings.Lines(phraseText) {
		line = strings.TrimSpace(line)
		id, begins := strings.CutPrefix(line, "= ")
		switch {
		case line == "" || line[0] == '#':
		case begins:
			rule = id
		case rule == "standing":
			g.standing = append(g.standing, g.compile("", line))
		case rule == "framed":
			g.framed = append(g.framed, g.compile("", line))
		default:
			g.phrases = append(g.phrases, g.compile(rule, line))
		}
	}
	g.lengths = slices.Sorted(func(yield func(int) bool) {
		seen := map[int]bool{}
		for s := range g.stems {
			if !seen[len(s)] {
				seen[len(s)] = true
				if !yield(len(s)) {
					return
				}
			}
		}
	})
	return g
})

// key is how a word is looked up: folded, without what stands within words.
func key(w string) string {
	return strings.NewReplacer("-", "", "'", "", "_", "").Replace(string(text.Fold([]byte(w)).Text))
}

func (g *grammar) define(name string, words []string) *class {
	c := &class{len(g.classes)}
	g.classes[name] = c
	for _, w := range words {
		switch stem, ok := strings.CutSuffix(w, "*"); {
		case strings.ToUpper(w) == w && strings.ToLower(w) != w:
			g.within(w, c)
		case ok:
			g.stems[key(stem)] = append(g.stems[key(stem)], c.n)
		default:
			g.words[key(w)] = append(g.words[key(w)], c.n)
		}
	}
	return c
}

// within makes the words of the class of that name members of c.
func (g *grammar) within(name string, c *class) {
	d := g.classes[name]
	if d == nil {
		panic("content: no class " + name)
	}
	if d.n < len(virtual) {
		g.unions[d.n] = append(g.unions[d.n], c.n)
		return
	}
	for _, m := range []map[string][]int{g.words, g.stems} {
		for w, of := range m {
			if slices.Contains(of, d.n) {
				m[w] = append(of, c.n)
			}
		}
	}
}

// class returns the class of a field of a phrase.
func (g *grammar) class(field string) *class {
	if c := g.classes[field]; c != nil {
		return c
	}
	return g.define(field, strings.Split(field, "|"))
}

func (g *grammar) compile(rule, line string) phrase {
	p := phrase{rule: rule}
	gap := 0
	for _, f := range strings.Fields(line) {
		switch rest := f[1:]; f[0] {
		case '.':
			n, err := strconv.Atoi(rest)
			if err != nil {
				panic(fmt.Sprintf("content: %s: %v", line, err))
			}
			gap = n
		case '&':
			p.also = append(p.also, g.class(rest))
			p.block = p.block || rest == classBlock
		case '!':
			p.not = append(p.not, g.class(rest))
		default:
			it := item{gap: gap}
			f, it.begins = strings.CutPrefix(f, "^")
			f, it.closes = strings.CutSuffix(f, "$")
			it.class = g.class(f)
			p.items = append(p.items, it)
			p.block = p.block || strings.Contains(f, classBlock)
			gap = 0
		}
	}
	return p
}

// reading is a window of words as phrases see it: for each class the words that belong
// to it, as bits.
type reading struct {
	g       *grammar
	words   []word
	of      []uint64
	touched []int
	begins  uint64 // words at which an order may begin
	closes  uint64
}

func newReading(g *grammar) *reading { return &reading{g: g, of: make([]uint64, len(g.classes))} }

func (r *reading) set(c, i int) {
	if r.of[c] == 0 {
		r.touched = append(r.touched, c)
	}
	r.of[c] |= 1 << i
	if c < len(virtual) {
		for _, u := range r.g.unions[c] {
			r.set(u, i)
		}
	}
}

// read takes in a window of words of b.
func (r *reading) read(b []byte, words []word, capital func(span) bool) {
	for _, c := range r.touched {
		r.of[c] = 0
	}
	r.touched, r.words, r.begins, r.closes = r.touched[:0], words, 0, 0
	g := r.g
	var room [64]byte
	for i, w := range words {
		k := room[:0]
		for _, c := range b[w.from:w.to] {
			if c != '-' && c != '\'' && c != '_' && len(k) < cap(k) {
				k = append(k, c)
			}
		}
		for _, c := range g.words[string(k)] {
			r.set(c, i)
		}
		for _, n := range g.lengths {
			if n > len(k) {
				break
			}
			for _, c := range g.stems[string(k[:n])] {
				r.set(c, i)
			}
		}
		r.kinds(b, i, w)
		if w.kind&closes != 0 {
			r.closes |= 1 << i
		}
		if w.kind&(opens|isQuoted|isCode) != 0 || i > 0 && r.leads(i-1) {
			r.begins |= 1 << i
		}
		r.speaker(b, i, capital)
	}
	if n := len(words); n > 0 {
		r.set(g.classes[classLast].n, n-1)
	}
}

// speaker notes the classes of word i that depend on how it is written: CORE, AI, a tag <SYSTEM>, a label in capitals
// such as SYSTEM OVERRIDE: or [ADMIN].
func (r *reading) speaker(b []byte, i int, capital func(span) bool) {
	g, w := r.g, r.words[i]
	after := func(w word) byte {
		if w.to < len(b) {
			return b[w.to]
		}
		return 0
	}
	heads := r.of[g.classes["HEAD"].n]>>i&1 != 0
	if w.kind&isTag != 0 && after(w) == '>' && r.of[g.classes["TAGS"].n]>>i&1 != 0 {
		r.set(g.classes[classTag].n, i)
	}
	if !capital(w.span) {
		return
	}
	switch string(b[w.from:w.to]) {
	case "core":
		r.set(g.classes[classCore].n, i)
	case "ai":
		r.set(g.classes[classAI].n, i)
	}
	for j := i; heads && j < min(i+maxLabel, len(r.words)) && capital(r.words[j].span); j++ {
		if c := after(r.words[j]); c == ':' || c == ']' {
			r.set(g.classes[classLabel].n, j)
		}
	}
}

// maxLabel is how many words a label has.
const maxLabel = 4

// matchesAny says whether one of ps is in the window.
func (r *reading) matchesAny(ps []phrase) bool {
	for i := range ps {
		if ps[i].matches(r) {
			return true
		}
	}
	return false
}

// leads says whether an order may begin behind word i.
func (r *reading) leads(i int) bool {
	bit := uint64(1) << i
	in := func(class string, bit uint64) bool { return r.of[r.g.classes[class].n]&bit != 0 }
	switch {
	case in("LEAD", bit):
		return true
	case in("THEN", bit):
		return r.begins&bit != 0
	case in("MODAL", bit):
		return in("ADDRESSED", bit>>1)
	}
	return in("to", bit) && in("WANTS", bit>>1) && (in("ALONE", bit>>1) || in("ADDRESSED", bit>>2))
}

var scriptSuffix = []string{".sh", ".py", ".ps1", ".exe", ".bat", ".js", ".bin", ".pl", ".rb", ".jar", ".elf", ".cmd",
	".vbs", ".deb", ".msi", ".dmg", ".php", ".run"}

var keyFiles = []string{".ssh", ".env", "id_rsa", "id_ed25519", "/etc/shadow", "/etc/passwd", ".aws", ".netrc",
	".npmrc", ".kube", "credentials", ".pem", ".key", ".bash_history"}

// kinds notes the classes that a word has by its form.
func (r *reading) kinds(b []byte, i int, w word) {
	g, s := r.g, b[w.from:w.to]
	switch {
	case w.kind&isAddress != 0:
		r.address(s, i)
	case w.kind&isFile != 0:
		c := classFile
		if isHost(s) {
			r.address(s, i)
			break
		}
		for _, part := range keyFiles {
			if bytes.Contains(s, []byte(part)) {
				r.set(g.classes[classKeys].n, i)
			}
		}
		for _, suffix := range scriptSuffix {
			// Node.js is no script.
			if bytes.HasSuffix(s, []byte(suffix)) && (suffix != ".js" || bytes.IndexByte(s, '/') >= 0) {
				c = classScript
			}
		}
		r.set(g.classes[c].n, i)
	case w.kind&isOption != 0:
		r.set(g.classes[classOption].n, i)
	}
	if w.kind&isCode != 0 {
		r.set(g.classes[classCode].n, i)
	}
	if w.kind&isQuoted != 0 {
		r.set(g.classes[classQuote].n, i)
	}
}

var oddURL = regexp.MustCompile(`\?[^#]*=|^(?:\w+://)?\d+\.\d+\.\d+\.\d+|[{$]|[^/]/\S*\.(?:sh|py|ps1|exe|bin|elf|msi|deb|jar|bat|zip|run|js)$`)

// address notes an address, s.
func (r *reading) address(s []byte, i int) {
	r.set(r.g.classes[classURL].n, i)
	if bytes.IndexByte(s, '@') >= 0 && !bytes.Contains(s, []byte("://")) {
		r.set(r.g.classes[classMail].n, i)
		return
	}
	r.set(r.g.classes[classWeb].n, i)
	if oddURL.Match(s) {
		r.set(r.g.classes[classOdd].n, i)
	}
}

// isHost says whether s is a name of a host, with or without a path, or an address of
// the internet.
func isHost(s []byte) bool {
	if i := bytes.IndexByte(s, '/'); i > 0 {
		s = s[:i]
	}
	i := bytes.LastIndexByte(s, '.')
	if i <= 0 {
		return false
	}
	if tops[string(s[i+1:])] {
		return true
	}
	dots, digits := 0, 0
	for _, c := range s {
		switch {
		case c == '.':
			dots++
		case c >= '0' && c <= '9':
			digits++
		default:
			return false
		}
	}
	return dots == 3 && digits >= 4
}

// tops are the names of the first level that addresses without a scheme end with.
var tops = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields("com org net io dev app info biz xyz site online top club ru cn de uk fr it nl " +
		"eu us co me cc tv ai test example onion ngrok internal") {
		m[s] = true
	}
	return m
}()

// matches says whether p is in the window.
func (p *phrase) matches(r *reading) bool {
	for _, c := range p.also {
		if r.of[c.n] == 0 {
			return false
		}
	}
	for _, it := range p.items {
		if r.of[it.class.n] == 0 {
			return false
		}
	}
	for _, c := range p.not {
		if r.of[c.n] != 0 {
			return false
		}
	}
	at := ^uint64(0)
	for i, it := range p.items {
		here := r.of[it.class.n]
		if it.begins {
			here &= r.begins
		}
		if it.closes {
			here &= r.closes
		}
		if i > 0 {
			reach := at << 1
			for range it.gap {
				reach |= reach << 1
			}
			here &= reach
		}
		if here == 0 {
			return false
		}
		at = here
	}
	return true
}
