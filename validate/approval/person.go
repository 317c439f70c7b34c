package approval

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/threegate/tool-exec/validate/text"
)

// person is a name without what people write differently: case, width, accents, letters that look like
// others, blanks, dots, dashes, and the forms of an e-mail address.
type person struct{ name, domain string }

// personOf reads `Ann.B`, `ann b`, `Ann.B@x.org`, `ann.b+gate@x.org` and `Ann B <ann.b@x.org>`.
func personOf(s string) person {
	s = folded(s)
	if _, rest, ok := strings.Cut(s, "<"); ok && strings.Contains(rest, "@") {
		s, _, _ = strings.Cut(rest, ">") // what stands before an address anybody can choose
	}
	name, domain, _ := strings.Cut(strings.TrimSpace(s), "@")
	name, _, _ = strings.Cut(name, "+")
	p := person{name: strings.Join(words(name), ""), domain: strings.Trim(domain, " .")}
	if p.name == "" { // signs only: they are all that tells it from others
		p.name = s
	}
	return p
}

// folded is s in lower case, as a reader's eye takes it in.
func folded(s string) string { return cases.Fold().String(string(text.Fold([]byte(s)).Text)) }

// words are the parts of a folded name.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" \t\n.-_'", r) })
}

// Same says whether two names may mean one person. An address and a name without a domain may; addresses
// of two domains do not.
func Same(a, b string) bool {
	p, q := personOf(a), personOf(b)
	return p.name == q.name && (p.domain == q.domain || p.domain == "" || q.domain == "")
}

// Among says whether name means one of names.
func Among(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return Same(n, name) })
}

// Machine finds the first of patterns that a name fits, or "". In a pattern * and ? are wildcards, and
// a dash is any separator of words. Case and width don't matter.
func Machine(patterns []string, name string) string {
	whole := folded(name)
	local, _, _ := strings.Cut(whole, "@")
	local, _, _ = strings.Cut(local, "+")
	forms := []string{strings.Join(words(local), "-"), strings.Join(words(whole), "-"), personOf(name).name}
	for _, p := range patterns {
		fits := func(form string) bool { return wildcard(strings.Join(words(folded(p)), "-"), form) }
		if slices.ContainsFunc(forms, fits) {
			return p
		}
	}
	return ""
}
