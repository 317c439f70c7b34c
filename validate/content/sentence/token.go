package sentence

import (
	"bytes"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

// token is one word, address or sign of a sentence.
type token struct {
	from, to int // in the sentence
	hash     uint64
	classes  []class
	// starts says that a clause begins here: where a verb is an order.
	starts bool
}

// maxTokens bounds how much of a sentence is looked at.
const maxTokens = 90

var (
	formURL     = []class{isURL}
	formHost    = []class{isHost}
	formEmail   = []class{isEmail}
	formPath    = []class{isPath}
	formProgram = []class{isProgramFile}
	formFile    = []class{isFile}
	formNumber  = []class{isNumber}
	formFlag    = []class{isFlag}
	formRule    = []class{isRuleID}
	formCode    = []class{isCode}
	formColon   = []class{isColon}
)

// tokenizer cuts sentences into tokens; its buffers are used again.
type tokenizer struct {
	lex    *lexicon
	tokens []token
	key    []byte
}

// The bytes that stand between words.
var separator = byteSet(" \t\n\r\f,;!?()[]{}<>\"|*=^`")

// The bytes that are taken off a word in front and behind.
var before, behind = byteSet("'-.:#>$%&+~@_/\\"), byteSet("'-.:#&")

func byteSet(s string) (t [256]bool) {
	for _, c := range []byte(s) {
		t[c] = true
	}
	return t
}

func (t *tokenizer) cut(b []byte) []token {
	t.tokens = t.tokens[:0]
	clause := true
	for i := 0; i < len(b) && len(t.tokens) < maxTokens; {
		if separator[b[i]] {
			switch b[i] {
			case ',', ';', '!', '?', '(', '"', '\n', '>', '|', '[', '*':
				clause = true
			case '`':
				t.push(b, i, i+1, formCode, clause)
			}
			i++
			continue
		}
		j := i
		for j < len(b) && !separator[b[j]] {
			j++
		}
		colon := b[j-1] == ':' || b[j-1] == '.'
		clause = t.chunk(b, i, j, clause) || colon
		if b[j-1] == ':' {
			t.push(b, j-1, j, formColon, false)
		}
		i = j
	}
	t.phrases(b)
	return t.tokens
}

func (t *tokenizer) push(b []byte, from, to int, cs []class, clause bool) {
	t.pushHashed(from, to, hashBytes(b[from:to]), cs, clause)
}

func (t *tokenizer) pushHashed(from, to int, hash uint64, cs []class, clause bool) {
	if len(t.tokens) < maxTokens {
		t.tokens = append(t.tokens, token{from, to, hash, cs, clause})
	}
}

// openers are words in front of which, and behind which, an order may begin.
var openers = map[string]bool{"then": true, "and": true, "please": true, "now": true, "so": true, "also": true, "first": true, "next": true, "just": true, "kindly": true, "finally": true, "to": true, "or": true, "but": true, "immediately": true, "simply": true, "let's": true, "pls": true, "hey": true, "hi": true, "hello": true, "note": true, "important": true, "otherwise": true, "instead": true, "you": true, "must": true, "should": true, "step": true, "therefore": true}

// longWord is more than any word has: of a longer one the beginning is measured, as each of
// its parts begins with all that are left of it.
const longWord = 128

// chunk enters what stands between two separators; it says whether a clause may
// begin behind it.
func (t *tokenizer) chunk(b []byte, from, to int, clause bool) bool {
	for from < to && before[b[from]] && (b[from] != '/' && b[from] != '.' && b[from] != '~' && b[from] != '-' || from+1 == to || b[from] == '-' && b[from+1] != '-' && clause) {
		from++
	}
	for to > from && behind[b[to-1]] {
		to--
	}
	w := b[from:to]
	if len(w) == 0 {
		return clause
	}
	hash, made := measure(w[:min(len(w), longWord)])
	if foreign := made.foreign() || len(w) > longWord && text.PlainEnd(w, longWord) < len(w); foreign && bytes.IndexFunc(w, isJoined) >= 0 {
		t.joined(b, from, to, clause)
		return false
	}
	if f := form(w, made); f != nil {
		t.pushHashed(from, to, hash, f, clause)
		return clause && f[0] == isNumber
	}
	e := t.lex.find(w, hash)
	cs := t.lex.classesOf(w, e)
	if cs == nil && bytes.HasSuffix(w, []byte("'s")) {
		cs = t.lex.lookup(w[:len(w)-2])
	}
	if cs == nil && w[0] >= 0xD6 && w[0] <= 0xDB { // Hebrew and Arabic stick one letter to words
		_, n := utf8.DecodeRune(w)
		if cs = t.lex.lookup(w[n:]); cs == nil && n < len(w) {
			_, m := utf8.DecodeRune(w[n:])
			cs = t.lex.lookup(w[n+m:])
		}
	}
	if cs == nil {
		if k := bytes.IndexAny(w, "-/:_.\\"); k > 0 && k < len(w)-1 {
			var joined []byte
			if w[k] == '-' && len(w) <= longWord {
				joined = bytes.ReplaceAll(w, []byte("-"), nil)
			}
			if exact := t.lex.exact[string(joined)]; exact != nil { // exe-cute
				cs = exact
			} else {
				t.chunk(b, from, from+k, clause)
				return t.chunk(b, from+k+1, to, w[k] == ':')
			}
		}
	}
	t.pushHashed(from, to, hash, cs, clause)
	return e != nil && e.opener
}

// joined enters the known parts of a word of a script without blanks, or all of it
// if nothing of it is known.
func (t *tokenizer) joined(b []byte, from, to int, clause bool) {
	before, starts := len(t.tokens), clause
	defer func() {
		if len(t.tokens) == before {
			t.push(b, from, to, nil, starts)
		}
	}()
	for i := from; i < to; {
		found := 0
		for n := min(to-i, t.lex.partsLen); n > 0; n-- {
			if i+n < to && !utf8.RuneStart(b[i+n]) {
				continue
			}
			if cs, ok := t.lex.parts[string(b[i:i+n])]; ok {
				t.push(b, i, i+n, cs, clause)
				clause, found = false, n
				break
			}
		}
		if found == 0 {
			_, found = utf8.DecodeRune(b[i:])
			if b[i] < utf8.RuneSelf { // an address or a word among them
				j := i
				for j < to && b[j] < utf8.RuneSelf {
					j++
				}
				t.chunk(b, i, j, clause)
				found = j - i
			}
		}
		i += found
	}
}

// phrases gives the first word of a phrase its classes and takes the others out.
func (t *tokenizer) phrases(b []byte) {
	out := t.tokens[:0]
	for i := 0; i < len(t.tokens); i++ {
		tok := t.tokens[i]
		w := b[tok.from:tok.to]
		if e := t.lex.find(w, tok.hash); e != nil && e.opens {
			t.key = append(t.key[:0], w...)
			best := 0
			for n := 1; n < maxPhrase && i+n < len(t.tokens); n++ {
				next := t.tokens[i+n]
				if next.from > t.tokens[i+n-1].to+2 {
					break
				}
				t.key = append(append(t.key, ' '), b[next.from:next.to]...)
				if n == 1 && !t.lex.pairs[string(t.key)] {
					break
				}
				if cs, ok := t.lex.phrase[string(t.key)]; ok {
					best, tok.classes = n, cs
				}
			}
			if best > 0 {
				tok.to = t.tokens[i+best].to
				tok.hash = hashBytes(b[tok.from:tok.to])
				i += best
			}
		}
		out = append(out, tok)
	}
	t.tokens = out
}

// form tells what a token is by its form alone, or returns nil.
func form(w []byte, made counts) []class {
	digits, letters, dots, slash, other := made.of(countDigits), made.of(countLetters), made.of(countDots), made.of(countSlashes), made.of(countOther)
	if letters == len(w) {
		return nil
	}
	if digits+letters == 0 {
		return nil
	}
	switch {
	case bytes.Contains(w, []byte("://")), bytes.HasPrefix(w, []byte("www.")), bytes.HasPrefix(w, []byte("data:")), bytes.HasPrefix(w, []byte("file:")):
		return formURL
	case digits > 0 && letters <= 2 && (letters == 0 || digits > letters) && slash == 0:
		if dots == 3 && letters == 0 {
			return formHost
		}
		return formNumber
	case other > 0 && dots > 0 && bytes.IndexByte(w, '@') > 0:
		return formEmail
	case w[0] == '-' && len(w) > 1:
		return formFlag
	case w[0] == '/' && len(w) > 1, bytes.HasPrefix(w, []byte("./")), bytes.HasPrefix(w, []byte("../")), bytes.HasPrefix(w, []byte("~/")), len(w) > 2 && w[1] == ':' && w[2] == '\\':
		if runnable(w) {
			return formProgram
		}
		return formPath
	case dots > 0 && letters > 0:
		switch {
		case ruleID(w):
			return formRule
		case runnable(w):
			return formProgram
		case hostLike(w):
			return formHost
		case slash == 0 && len(w)-bytes.LastIndexByte(w, '.') <= 5 && letters > 1:
			return formFile
		}
	case slash > 0 && slash >= 2 && letters > 2:
		return formPath
	}
	return nil
}

var rulePrefixes = [][]byte{[]byte("sec."), []byte("secrets."), []byte("result."), []byte("approval."), []byte("request."), []byte("doc."), []byte("spool.")}

func ruleID(w []byte) bool {
	for _, p := range rulePrefixes {
		if bytes.HasPrefix(w, p) && len(w) > len(p)+2 && !runnable(w) {
			return true
		}
	}
	return false
}

var runnableEnds = map[string]bool{"sh": true, "py": true, "js": true, "rb": true, "pl": true, "ps1": true, "exe": true, "bat": true, "cmd": true, "bin": true, "so": true, "dll": true, "jar": true, "msi": true, "vbs": true, "elf": true, "run": true, "out": true, "bash": true, "php": true, "mjs": true, "ts": true, "go": true, "c": true, "lua": true, "deb": true, "rpm": true, "apk": true, "dmg": true, "iso": true, "hta": true, "ipynb": true, "pyz": true, "whl": true}

func runnable(w []byte) bool {
	k := bytes.LastIndexByte(w, '.')
	return k > 0 && runnableEnds[string(w[k+1:])]
}

var topLevel = map[string]bool{"com": true, "net": true, "org": true, "io": true, "dev": true, "app": true, "xyz": true, "info": true, "biz": true, "co": true, "ai": true, "me": true, "ru": true, "cn": true, "tk": true, "top": true, "site": true, "online": true, "cloud": true, "example": true, "test": true, "local": true, "internal": true, "onion": true, "us": true, "uk": true, "de": true, "edu": true, "gov": true, "fr": true, "jp": true, "it": true, "es": true, "nl": true, "pl": true, "eu": true, "invalid": true, "tech": true, "live": true, "pro": true, "link": true, "zip": true, "im": true, "cc": true, "ws": true, "br": true, "in": true}

func hostLike(w []byte) bool {
	if k := bytes.IndexByte(w, '/'); k > 0 {
		w = w[:k]
	}
	if k := bytes.IndexByte(w, ':'); k > 0 {
		w = w[:k]
	}
	k := bytes.LastIndexByte(w, '.')
	return k > 0 && topLevel[string(w[k+1:])]
}

// hashBytes is FNV-1a with digits taken for each other.
func hashBytes(b []byte) uint64 {
	h, _ := measure(b)
	return h
}

// counts says what a word is made of: a number of twelve bits for each kind of
// character. No word is longer than a sentence.
type counts uint64

const (
	countDigits = 12 * iota
	countLetters
	countDots
	countSlashes
	countOther
	// isForeign is set by each byte that is not ASCII.
	isForeign = 63
)

func (c counts) of(kind int) int { return int(c >> kind & 0xFFF) }
func (c counts) foreign() bool   { return c>>isForeign != 0 }

// each is what a byte adds to counts, and what it is hashed as.
var each = func() (t [256]struct {
	count counts
	as    uint64
}) {
	for c := range t {
		t[c].as = uint64(c)
		switch b := byte(c); {
		case b >= '0' && b <= '9':
			t[c].count, t[c].as = 1<<countDigits, '0'
		case lowerByte(b) || b >= utf8.RuneSelf:
			t[c].count = 1 << countLetters
		case b == '.':
			t[c].count = 1 << countDots
		case b == '/' || b == '\\':
			t[c].count = 1 << countSlashes
		default:
			t[c].count = 1 << countOther
		}
	}
	return t
}()

// measure hashes a word and says what it is made of.
func measure(w []byte) (hash uint64, made counts) {
	hash = 14695981039346656037
	all := byte(0)
	for _, c := range w {
		e := &each[c]
		made += e.count
		hash = (hash ^ e.as) * 1099511628211
		all |= c
	}
	if all >= utf8.RuneSelf {
		made |= 1 << isForeign
	}
	return hash, made
}
