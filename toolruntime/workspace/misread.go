package workspace

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

var (
	hunkAt    = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)
	otherForm = regexp.MustCompile(`(?m)^\*\*\* (?:Begin Patch|Update File|Add File)|^<{5,9} ?SEARCH`)
	secondOne = regexp.MustCompile(`(?m)^--- \S.*\n\+\+\+ \S`)
)

// misread says what is wrong with a diff that is none as it stands, or nil where nothing that is often done wrong is
// found. image are the lines of the file, if it is there.
func misread(path, diff string, image []line) *contract.Error {
	bad := func(hint, format string, args ...any) *contract.Error {
		return contract.Errorf(contract.Validation, "the patch "+format, args...).WithHint(hint)
	}
	header := fmt.Sprintf("--- a/%s and +++ b/%s", path, path)
	first, _, _ := strings.Cut(strings.TrimLeft(diff, "\n"), "\n")
	switch {
	case strings.HasPrefix(first, "```"):
		return bad("leave out the lines that begin with ```", "stands between fences of Markdown")
	case otherForm.MatchString(diff):
		return bad("write a unified diff: the lines "+header+", then @@ -LINE,COUNT +LINE,COUNT @@ and, with 3 lines "+
			"of context before and after, lines that begin with a blank, - or +",
			"is of another form, with lines of *** or <<<")
	case strings.Count(diff, "\n") < 2 && strings.Contains(diff, `\n`):
		return bad("write line breaks as such: in JSON one backslash and n, not two", `has \n in the place of line breaks`)
	case len(secondOne.FindAllStringIndex(diff, 2)) > 1:
		return bad("make a call for each file", "changes several files")
	case strings.HasPrefix(first, "@@"):
		return bad("begin it with the two lines "+header, "has no lines that name its file")
	case strings.HasPrefix(first, "--- ") && strings.HasSuffix(first, "\r"):
		return bad(`write the patch with lines that end with \n; only lines of the file's content end as in the file`,
			"has headers that end with CR LF")
	}
	return miscounted(diff, image)
}

// miscounted finds a hunk whose header is not what its lines make it.
func miscounted(diff string, image []line) *contract.Error {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "@@") {
			continue
		}
		at, after := i, 0
		var before []string
		for i+1 < len(lines) && strings.ContainsAny(lines[i+1][:min(1, len(lines[i+1]))], " +-\\") {
			i++
			if lines[i][0] == ' ' || lines[i][0] == '-' {
				before = append(before, lines[i][1:]+"\n")
			}
			if lines[i][0] == ' ' || lines[i][0] == '+' {
				after++
			}
		}
		old, new := "LINE", "LINE"
		m := hunkAt.FindStringSubmatch(lines[at])
		if m != nil {
			old, new = m[1], m[3]
		} else if places := stands(image, before); len(places) > 0 {
			old, new = fmt.Sprint(places[0]), fmt.Sprint(places[0])
		}
		if m != nil && cmp.Or(m[2], "1") == fmt.Sprint(len(before)) && cmp.Or(m[4], "1") == fmt.Sprint(after) {
			continue
		}
		hint := fmt.Sprintf("for the lines that it has, its header is @@ -%s,%d +%s,%d @@", old, len(before), new,
			after)
		if old == "LINE" {
			hint += ", where LINE is that of its first line in the file"
		}
		return contract.Errorf(contract.Validation,
			"the hunk %q has %d lines of the file, and %d that take their place",
			contract.Shorten(lines[at], 80), len(before), after).WithHint(hint)
	}
	return nil
}

// stands lists the lines of a file at which others stand, from 1.
func stands(image []line, others []string) (places []int) {
	for p := 0; len(others) > 0 && p+len(others) <= len(image) && len(image)*len(others) <= maxWork/100; p++ {
		fit := 0
		for fit < len(others) && image[p+fit].text == others[fit] {
			fit++
		}
		if fit == len(others) {
			places = append(places, p+1)
		}
	}
	return places
}

// differs says how the lines of a hunk that fits nowhere differ from those of the file, at the place that is most like
// them.
func differs(hunk int, image []line, before []string, h *gitdiff.TextFragment) *contract.Error {
	stated := max(int(h.OldPosition)-1, 0)
	if done := stands(image, afterwards(h)); len(done) > 0 && h.LinesAdded > 0 {
		return refuse(hunk, "is in the file already: what it makes stands at line %d", done[0]).
			WithHint("leave it out; file_read shows the file as it is now")
	}
	at := nearest(image, before, stated)
	for i, want := range before {
		if at+i >= len(image) {
			return refuse(hunk, "goes on behind line %d, the last of the file", len(image)).
				WithHint("make the patch from the file as it is now")
		}
		got := image[at+i].text
		if got == want {
			continue
		}
		place := fmt.Sprintf("does not fit: line %d of the file is %q, and the patch has %q", at+i+1, shorter(got),
			shorter(want))
		gotText, wantText := strings.TrimRight(got, "\r\n"), strings.TrimRight(want, "\r\n")
		switch {
		case image[at+i].patched:
			return refuse(hunk, "is about line %d, which a hunk before it has changed", at+i+1).
				WithHint("make one hunk of both")
		case gotText == wantText && !strings.HasSuffix(want, "\n"):
			return refuse(hunk, "ends without a newline, and line %d of the file has one", at+i+1).
				WithHint(`end unified_diff with \n`)
		case gotText == wantText && strings.HasSuffix(got, "\r\n"):
			return refuse(hunk, "has lines that end with LF, and line %d of the file ends with CR LF", at+i+1).
				WithHint(`end all lines of content in the patch with \r\n, also those that it adds`)
		case gotText == wantText && strings.HasSuffix(want, "\r\n"):
			return refuse(hunk, "has lines that end with CR LF, and line %d of the file ends with LF", at+i+1).
				WithHint(`end the lines of the patch with \n`)
		case gotText == wantText:
			return refuse(hunk, "%s", place).WithHint("the file's last line has no newline: follow it with the line " +
				`\ No newline at end of file`)
		case strings.TrimRight(gotText, " \t") == strings.TrimRight(wantText, " \t"):
			return refuse(hunk, "%s: blanks at the end of the line differ", place).
				WithHint("every byte of context counts: write the line as the file has it")
		case strings.TrimSpace(gotText) == strings.TrimSpace(wantText):
			return refuse(hunk, "%s: its indentation differs", place).
				WithHint("every byte of context counts: write the line as the file has it")
		case strings.TrimPrefix(gotText, "\ufeff") == wantText:
			return refuse(hunk, "%s: the file begins with a byte order mark", place).
				WithHint(`begin the line in the patch with \ufeff, too`)
		}
		return refuse(hunk, "%s", place).WithHint("write lines of context and those that go as the file has them")
	}
	return refuse(hunk, "fits at line %d only, where it may not be applied", at+1).
		WithHint("a hunk for line 1 fits at the beginning only, one without context at its end at the end")
}

// afterwards are the lines that a hunk makes.
func afterwards(h *gitdiff.TextFragment) (lines []string) {
	for _, l := range h.Lines {
		if l.New() {
			lines = append(lines, l.Line)
		}
	}
	return lines
}

// nearest is where most lines of a hunk stand, blanks aside; of several the one next to where it says.
func nearest(image []line, before []string, stated int) (best int) {
	best = min(stated, max(0, len(image)-1))
	if len(image)*len(before) > maxWork/100 {
		return best
	}
	most := 0
	for p := range image {
		fit := 0
		for i, want := range before {
			if p+i < len(image) && strings.TrimSpace(image[p+i].text) == strings.TrimSpace(want) {
				fit++
			}
		}
		if fit > most || fit == most && abs(p-stated) < abs(best-stated) {
			best, most = p, fit
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

func shorter(text string) string { return contract.Shorten(text, 200) }
