package code

// facts are what the whole of a text says, worked out when a rule asks for it first: a
// rule that looked through all tokens each time would take time that grows with the
// square of the text.
type facts struct {
	decodes map[string]int
	opens   map[string]bool
	holds   map[string]bool
	loads   *bool
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

// data are the names that R code gives data of its own, and nothing else.
func (f *facts) data(ts []Token) map[string]bool {
	if f.holds != nil {
		return f.holds
	}
	f.holds = map[string]bool{}
	for i := range ts {
		j := i + 1
		switch {
		case ts[i].Kind != Name:
			continue
		case tokenText(ts, j) == "<" && tokenText(ts, j+1) == "-":
			j += 2
		case tokenText(ts, j) == "=":
			j++
		default:
			continue
		}
		is := j < len(ts) && (ts[j].Kind == String || ts[j].Kind == Number || makesData[ts[j].Text] && tokenText(ts, j+1) == "(")
		if before, known := f.holds[ts[i].Text]; known {
			is = is && before
		}
		f.holds[ts[i].Text] = is
	}
	return f.holds
}

// makesData are functions of R whose value is no function.
var makesData = words(`list c data.frame matrix character numeric readLines`)

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
