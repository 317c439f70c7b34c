package workspace

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const (
	maxGrepFile = 8 << 20
	maxSnippet  = 240
	// binaryHead is how much of a file is looked at for a NUL, as git does.
	binaryHead = 8000
)

// vendored are names of folders with the code of others or with what a build made.
var vendored = map[string]bool{"vendor": true, "node_modules": true, "third_party": true, "target": true,
	"__pycache__": true}

var byteOrderMark = []byte("\ufeff")

type grepArgs struct {
	Pattern       string `json:"pattern" jsonschema:"a regular expression of RE2, matched in each line"`
	Glob          string `json:"glob,omitempty"`
	CaseSensitive bool   `json:"case_sensitive,omitempty"`
	MaxResults    int    `json:"max_results,omitempty"`
	IncludeHidden bool   `json:"include_hidden,omitempty" jsonschema:"also files below names that begin with a dot, without one in the pattern"`
}

// grepResult is the result of grep. Binary files are not searched, nor files above 8 MiB, nor hidden files and vendored
// folders that the glob does not name.
type grepResult struct {
	Matches   []Match `json:"matches"`
	Truncated bool    `json:"truncated"`
}

// Match is one line. Line and Col count from 1; Col counts bytes.
type Match struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Snippet string `json:"snippet"`
}

func (t fileTools) grep(ctx context.Context, a grepArgs) (grepResult, error) {
	found := grepResult{Matches: []Match{}}
	re, err := a.compile()
	if err != nil {
		return found, err
	}
	err = Sources(ctx, t.w, a.Glob, a.IncludeHidden, func(p string) error {
		data, _, err := t.w.Read(p, maxGrepFile)
		if err != nil || bytes.IndexByte(data[:min(len(data), binaryHead)], 0) >= 0 {
			return nil
		}
		line := 0
		for text := range bytes.Lines(data) {
			if line++; line%1000 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			mark := 0
			if line == 1 && bytes.HasPrefix(text, byteOrderMark) { // a line begins behind it
				mark = len(byteOrderMark)
			}
			text = bytes.TrimRight(text[mark:], "\r\n")
			at := re.FindIndex(text)
			if at == nil {
				continue
			}
			if found.Truncated = len(found.Matches) == a.MaxResults; found.Truncated {
				return ErrEnough
			}
			found.Matches = append(found.Matches, Match{p, line, mark + at[0] + 1, snippet(text, at[0])})
		}
		return nil
	})
	return found, err
}

// compile is the pattern of a call.
func (a grepArgs) compile() (*regexp.Regexp, error) {
	flags := "(?i)"
	if a.CaseSensitive {
		flags = ""
	}
	re, err := regexp.Compile(flags + a.Pattern)
	if err != nil {
		err = contract.Errorf(contract.Validation, "the pattern does not compile: %v", err).
			WithHint(`the syntax is RE2's, without backreferences and look-around: match more, such as "def load" for ` +
				`"(?<=def )load"`)
	}
	return re, err
}

func isVendored(glob, p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if vendored[part] && !strings.Contains(glob, part) {
			return true
		}
	}
	return false
}

// snippet is the line, or what of a long one lies around a match.
func snippet(line []byte, at int) string {
	start := 0
	if len(line) > maxSnippet {
		start = max(0, min(at-maxSnippet/4, len(line)-maxSnippet))
		line = line[start : start+maxSnippet]
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
