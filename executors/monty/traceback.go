package monty

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// ScriptName is what tracebacks call the program, after "## Code".
const ScriptName = "code.py"

// Bounds of a rendered traceback: an exception's text is the code's own.
const (
	sameFramesShown = 3
	maxFramesShown  = 1000
	maxCaret        = 10_000
)

// traceback renders an exception as Python does.
func traceback(x *wire.Exception) string {
	var b strings.Builder
	frames := x.GetTraceback()
	if len(frames) > 0 {
		b.WriteString("Traceback (most recent call last):\n")
	}
	shown := 0
	for i := 0; i < len(frames); {
		n := 1
		for i+n < len(frames) && sameFrame(frames[i], frames[i+n]) {
			n++
		}
		for j := range min(n, sameFramesShown) {
			if shown < maxFramesShown {
				if i+j == len(frames)-1 && bareRaise(x) {
					writeNoPlace(&b, frames[i+j], "raise")
				} else {
					writeFrame(&b, frames[i+j])
				}
			}
			shown++
		}
		if n > sameFramesShown && shown <= maxFramesShown {
			fmt.Fprintf(&b, "  [Previous line repeated %d more times]\n", n-sameFramesShown)
		}
		i += n
	}
	if shown > maxFramesShown {
		fmt.Fprintf(&b, "  [%d more frames]\n", shown-maxFramesShown)
	}
	b.WriteString(x.GetExcType())
	if x != nil && x.Message != nil {
		b.WriteString(": " + x.GetMessage())
	}
	b.WriteString("\n")
	return b.String()
}

func sameFrame(a, b *wire.Frame) bool {
	return a.GetFilename() == b.GetFilename() && frameName(a) == frameName(b) &&
		a.GetStart().GetLine() == b.GetStart().GetLine()
}

func frameName(f *wire.Frame) string {
	if f.FrameName == nil {
		return "<module>"
	}
	return f.GetFrameName()
}

// noException is the message of a raise statement that has nothing to raise again.
const noException = "No active exception to reraise"

// bareRaise says whether x comes from such a statement. The interpreter does not note where that is:
// its frame has the place of something before it, or none. A raise that names an exception has no caret.
func bareRaise(x *wire.Exception) bool {
	frames := x.GetTraceback()
	return x.GetExcType() == "RuntimeError" && x.GetMessage() == noException &&
		len(frames) > 0 && !frames[len(frames)-1].GetHideCaret()
}

// noPlace is the file of a frame that has no place.
const noPlace = "\x00"

// writeNoPlace writes a frame whose line is not known.
func writeNoPlace(b *strings.Builder, f *wire.Frame, text string) {
	fmt.Fprintf(b, "  File %q, in %s\n", ScriptName, frameName(f))
	if text != "" {
		b.WriteString("    " + text + "\n")
	}
}

// fed is how the interpreter names what it was fed; it ignores the session's script name.
const fed = "<python-input-"

func writeFrame(b *strings.Builder, f *wire.Frame) {
	file, line := f.GetFilename(), f.GetStart().GetLine()
	switch {
	case strings.HasPrefix(file, fed):
		file = ScriptName
	case file == noPlace:
		writeNoPlace(b, f, "")
		return
	}
	fmt.Fprintf(b, "  File %q, line %d", file, line)
	if !f.GetHideFrameName() {
		b.WriteString(", in " + frameName(f))
	}
	b.WriteString("\n")
	if f.PreviewLine == nil {
		return
	}
	preview := f.GetPreviewLine()
	if line != f.GetEnd().GetLine() {
		// A block comes dedented, without carets below it.
		for _, line := range strings.Split(strings.TrimSuffix(preview, "\n"), "\n") {
			b.WriteString("    " + strings.TrimSuffix(line, "\r") + "\n")
		}
		return
	}
	text := strings.TrimLeftFunc(preview, unicode.IsSpace)
	b.WriteString("    " + text + "\n")
	if f.GetHideCaret() {
		return
	}
	cut := utf8.RuneCountInString(preview[:len(preview)-len(text)])
	start, end := int(f.GetStart().GetColumn()), int(f.GetEnd().GetColumn())
	b.WriteString(strings.Repeat(" ", 4+min(max(start-1-cut, 0), maxCaret)))
	b.WriteString(strings.Repeat("~", min(max(end-start, 1), maxCaret)) + "\n")
}
