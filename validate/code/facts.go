package code

import "slices"

// facts are what the whole of a text says, worked out when a rule asks for it first: a
// rule that looked through all tokens each time would take time that grows with the
// square of the text.
type facts struct {
	decodes map[string]int
	opens   map[string]bool
	chars   map[string]bool
	defines map[string]bool
	holds   map[string]bool
	loads   *bool
	library *bool
}

// decoded are the variables that are assigned what a decoding function returns, and
// where first.
func (f *facts) decoded(ts []Token) map[string]int {
	if f.decodes != nil {
		return f.decodes
	}
	f.decodes = map[string]int{}
	for i := 0; i+2 < len(ts); i++ {
		if ts[i].Kind != Name || ts[i+1].Text != "=" || !decodesNear(ts, i+2) {
			continue
		}
		if _, ok := f.decodes[ts[i].Text]; !ok {
			f.decodes[ts[i].Text] = i
		}
	}
	return f.decodes
}

// opened are the variables that Perl's open is given behind its first argument.
func (f *facts) opened(ts []Token) map[string]bool {
	if f.opens != nil {
		return f.opens
	}
	f.opens = map[string]bool{}
	for i := range ts {
		if ts[i].Kind != Name || ts[i].Text != "open" {
			continue
		}
		for j := i + 1; j < len(ts) && j < i+8 && ts[j].Text != ";"; j++ {
			if ts[j].Kind == Name && ts[j-1].Text == "," {
				f.opens[ts[j].Text] = true
			}
		}
	}
	return f.opens
}

// data are the names that R code gives data of its own by "<-", outside of all brackets,
// and nothing else.
func (f *facts) data(ts []Token) map[string]bool {
	if f.holds != nil {
		return f.holds
	}
	f.holds = map[string]bool{}
	depth := 0
	for i := range ts {
		if ts[i].Kind == Punct {
			switch ts[i].Text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		}
		if ts[i].Kind != Name || tokenText(ts, i+1) != "=" && (tokenText(ts, i+1) != "<" || tokenText(ts, i+2) != "-") {
			continue
		}
		is := depth == 0 && tokenText(ts, i+1) == "<" && makesData[tokenText(ts, i+3)] && tokenText(ts, i+4) == "("
		if before, known := f.holds[ts[i].Text]; known {
			is = is && before
		}
		f.holds[ts[i].Text] = is
	}
	return f.holds
}

// makesData are functions of R whose value is no function, takesData those that call none
// of their arguments.
var (
	makesData = words(`list c data.frame matrix character numeric readLines`)
	takesData = words(`names unlist length str print sum head tail summary cat seq_along mean max min sort rev nrow ncol is.list`)
)

// loadsByName says whether JavaScript loads a module whose name a variable holds.
func (f *facts) loadsByName(ts []Token) bool {
	if f.loads != nil {
		return *f.loads
	}
	is := false
	for i := 2; i < len(ts) && !is; i++ {
		is = ts[i].Kind == Name && ts[i-1].Text == "(" && loadsModules[ts[i-2].Text] || ts[i].Text == "createRequire"
	}
	f.loads = &is
	return is
}

// spellers are the names that stand behind a function which makes characters of numbers.
func (f *facts) spellers(ts []Token) map[string]bool {
	if f.chars != nil {
		return f.chars
	}
	f.chars = map[string]bool{}
	for i := range ts {
		if ts[i].Kind != Name || !charsOf[ts[i].Text] {
			continue
		}
		if tokenText(ts, i-1) == "." { // letters.pack("c*")
			f.chars[tokenText(ts, i-2)] = true
		}
		for j := i + 1; j < len(ts) && j < i+12 && ts[j].Text != ";"; j++ {
			if ts[j].Kind == Name {
				f.chars[ts[j].Text] = true
			}
		}
	}
	return f.chars
}

// defined are the names of functions and constants that the code declares.
func (f *facts) defined(ts []Token) map[string]bool {
	if f.defines != nil {
		return f.defines
	}
	f.defines = map[string]bool{}
	for i := 1; i < len(ts); i++ {
		if ts[i].Kind == Name && declares[ts[i-1].Text] {
			f.defines[ts[i].Text] = true
		}
	}
	return f.defines
}

// declares are the words in front of a name that is declared.
var declares = words(`function def sub const let`)

// callsLibrary says whether the code loads a library of the system.
func (f *facts) callsLibrary(ts []Token) bool {
	if f.library != nil {
		return *f.library
	}
	is := slices.ContainsFunc(ts, func(t Token) bool {
		return t.Kind == Name && (loadsLibrary[t.Text] || t.Text == "ctypes" || t.Text == "cdll")
	})
	f.library = &is
	return is
}
