package workspace

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// maxWork bounds the comparisons of lines of one patch.
const maxWork = 100_000_000

// line is a line with its end. Once a hunk wrote it, or took it as context, no other hunk may
// use it.
type line struct {
	text    string
	patched bool
}

func linesOf(data []byte) (out []line) {
	for l := range bytes.Lines(data) {
		out = append(out, line{text: string(l)})
	}
	return out
}

// apply makes every hunk of a file, or none. offsets says of each how many lines from its
// place it was found.
//
// A hunk fits where all its lines stand, byte for byte. It goes to the line that it names if it
// fits there, and otherwise to the only place in the file where it fits. As git has it, a hunk
// that begins at line 1 fits at the beginning only, and one without context at its end at the end only.
//
// It is stricter than git: a hunk that would fit in several places is refused, once any hunk is
// not where it says; and so is one without context, unless it replaces the whole file.
func apply(data []byte, hunks []*gitdiff.TextFragment) (out []byte, offsets []int, err error) {
	image := linesOf(data)
	work := maxWork
	ambiguous, moved := 0, 0
	for i, h := range hunks {
		before, after := sides(h)
		if h.LeadingContext+h.TrailingContext == 0 && len(before) != len(image) {
			return nil, nil, refuse(i, "has no context lines").
				WithHint("make the patch with context (diff -U3), so that its place is certain")
		}
		places, almost, err := fits(image, before, h, &work)
		if err != nil {
			return nil, nil, err
		}
		if len(places) == 0 {
			return nil, nil, differs(i, image, before, h)
		}
		stated := min(max(int(h.NewPosition)-1, 0), len(image))
		at := places[0]
		if slices.Contains(places, stated) {
			at = stated
		}
		if len(places) > 1 || almost {
			ambiguous = i + 1
		}
		if at != stated {
			moved = i + 1
		}
		if moved > 0 && ambiguous > 0 {
			return nil, nil, refuse(max(ambiguous, moved)-1, "is ambiguous: the patch does not fit where it says, and "+
				"hunk %d fits in several places", ambiguous).WithHint("make the patch from the file as it is now")
		}
		offsets = append(offsets, at-stated)
		image = slices.Replace(image, at, at+len(before), after...)
	}
	for _, l := range image {
		out = append(out, l.text...)
	}
	return out, offsets, nil
}

func refuse(hunk int, format string, args ...any) *contract.Error {
	return contract.Errorf(contract.Validation, "hunk %d "+format, append([]any{hunk + 1}, args...)...)
}

// sides are the lines of a hunk before and after it.
func sides(h *gitdiff.TextFragment) (before []string, after []line) {
	for _, l := range h.Lines {
		if l.Old() {
			before = append(before, l.Line)
		}
		if l.New() {
			after = append(after, line{l.Line, true})
		}
	}
	return before, after
}

// fits lists where a hunk fits. almost says that it would fit in other places, too, if its last line ended there: git
// takes those.
func fits(image []line, before []string, h *gitdiff.TextFragment, work *int) (places []int, almost bool, err error) {
	last := len(image) - len(before)
	first := 0
	if h.OldPosition <= 1 {
		last = min(last, 0)
	}
	if h.TrailingContext == 0 {
		first = max(first, len(image)-len(before))
	}
	for p := first; p <= last; p++ {
		fit := true
		for i, want := range before {
			if *work--; *work < 0 {
				return nil, false, contract.Errorf(contract.Validation,
					"the file is too long and repetitive for this patch")
			}
			if got := image[p+i]; got.patched || got.text != want {
				almost = almost || i == len(before)-1 && !got.patched && unended(got.text, want)
				fit = false
				break
			}
		}
		if fit {
			places = append(places, p)
		}
	}
	return places, almost, nil
}

// unended says whether a line of a file is one of a patch that has no end, with white space after it.
func unended(got, want string) bool {
	rest, ok := strings.CutPrefix(got, want)
	return ok && !strings.HasSuffix(want, "\n") && strings.Trim(rest, " \t\r\n") == ""
}
