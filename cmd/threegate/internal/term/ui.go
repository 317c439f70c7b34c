package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	xterm "golang.org/x/term"
)

// DefaultWidth is assumed where no terminal says how wide it is.
const DefaultWidth = 100

// UI is a pair of streams: Out takes data, Err takes messages for people.
type UI struct {
	Out, Err io.Writer
	// OutStyle and ErrStyle colour text for the stream, or leave it as it is.
	OutStyle, ErrStyle Style
	// OutTTY and ErrTTY say whether the stream is a terminal.
	OutTTY, ErrTTY bool
	// Columns is the width to lay text out for.
	Columns int
}

// New looks at the streams and at NO_COLOR and TERM.
func New(out, err io.Writer, getenv func(string) string) *UI {
	u := &UI{Out: out, Err: err, OutTTY: isTerminal(out), ErrTTY: isTerminal(err), Columns: DefaultWidth}
	plain := getenv("NO_COLOR") != "" || getenv("TERM") == "dumb"
	u.OutStyle = Style(u.OutTTY && !plain)
	u.ErrStyle = Style(u.ErrTTY && !plain)
	if f, ok := out.(*os.File); ok && u.OutTTY {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w >= 40 {
			u.Columns = w
		}
	}
	return u
}

// Wide is the width of what is printed to Out: that of the terminal. Without a terminal, lines for programs are never
// broken.
func (u *UI) Wide() int {
	if u.OutTTY {
		return u.Columns
	}
	return math.MaxInt
}

// SetColor overrides what New found: "always", "never" or "auto".
func (u *UI) SetColor(when string) error {
	switch when {
	case "auto":
	case "always":
		u.OutStyle, u.ErrStyle = true, true
	case "never":
		u.OutStyle, u.ErrStyle = false, false
	default:
		return fmt.Errorf("--color is auto, always or never, not %q", when)
	}
	return nil
}

func isTerminal(s any) bool {
	f, ok := s.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// IsTerminal reports whether r is a terminal that a person can answer at.
func IsTerminal(r io.Reader) bool { return isTerminal(r) }

// Error writes an error and, if there is one, its hint to Err.
func (u *UI) Error(message, hint string) {
	fmt.Fprintf(u.Err, "%s %s\n", u.ErrStyle.Red("error:"), u.indent(message, len("error: ")))
	u.Hint(hint)
}

// Warn writes a warning and, if there is one, its hint to Err.
func (u *UI) Warn(message, hint string) {
	fmt.Fprintf(u.Err, "%s %s\n", u.ErrStyle.Yellow("warning:"), u.indent(message, len("warning: ")))
	u.Hint(hint)
}

// Hint writes what to do next to Err; nothing if hint is empty.
func (u *UI) Hint(hint string) {
	if hint != "" {
		fmt.Fprintf(u.Err, "%s %s\n", u.ErrStyle.Cyan("hint:"), u.indent(hint, len("hint: ")))
	}
}

// Say writes one line to Err.
func (u *UI) Say(format string, args ...any) {
	fmt.Fprintln(u.Err, Block(fmt.Sprintf(format, args...)))
}

// indent makes text visible and sets its further lines below the first one. A terminal gets no line that it
// would have to break.
func (u *UI) indent(text string, n int) string {
	columns := 0
	if u.ErrTTY {
		columns = u.Columns
	}
	lines := strings.Split(Block(strings.TrimRight(text, "\n")), "\n")
	for i, l := range lines {
		lines[i] = Hang(l, n, n, columns)
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", n))
}

// Style colours text if it is true.
type Style bool

// Bold, Red, Yellow, Green, Cyan and Dim wrap text that is visible already.
func (s Style) Bold(t string) string   { return s.wrap("1", t) }
func (s Style) Red(t string) string    { return s.wrap("1;31", t) }
func (s Style) Yellow(t string) string { return s.wrap("1;33", t) }
func (s Style) Green(t string) string  { return s.wrap("1;32", t) }
func (s Style) Cyan(t string) string   { return s.wrap("36", t) }
func (s Style) Dim(t string) string    { return s.wrap("2", t) }

func (s Style) wrap(code, t string) string {
	if !s || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// ErrNoTerminal says that standard input is no terminal: nobody can be asked.
var ErrNoTerminal = errors.New("not a terminal")

// Ask puts question to the person at in and returns whether the answer was
// "yes" in full. Anything else, an empty line and the end of input are no.
func (u *UI) Ask(ctx context.Context, in io.Reader, question string) (bool, error) {
	if !IsTerminal(in) {
		return false, ErrNoTerminal
	}
	fmt.Fprintf(u.Err, "%s ", u.ErrStyle.Bold(Visible(question)))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(u.Err)
		return false, ctx.Err()
	case line := <-answer:
		return strings.EqualFold(strings.TrimSpace(line), "yes"), nil
	}
}
