package documents

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

// readInputs is the reading of files in a folder of inputs, as a function that can be called again.
func readInputs(t *testing.T, files map[string]string, argv ...string) (dir string, read func() (*reading, error)) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "TR-x.inputs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	limits := bundle.Limits{Files: 10, Bytes: 1 << 24}
	list, err := bundle.Folder(dir, limits)
	if err == nil {
		err = bundle.Hash(t.Context(), list, limits)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &approval{inputs: list, request: &schemas.Request{Argv: argv}}
	return dir, func() (*reading, error) {
		r := &reading{}
		_, err := r.inputs(t.Context(), p)
		return r, err
	}
}

// TestReadingIsWhatWasHashed swaps a program between its hash and its review, as the requester
// could who owns the folder.
func TestReadingIsWhatWasHashed(t *testing.T) {
	dir, read := readInputs(t, map[string]string{"run.py": "print('evil')\n"})
	if r, err := read(); err != nil || !strings.Contains(r.print(false, 0), "    1 | print('evil')\n") {
		t.Errorf("%q, %v", r.print(false, 0), err)
	}
	program := filepath.Join(dir, "run.py")
	if err := os.WriteFile(program, []byte("print('good')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := read(); !errors.Is(err, bundle.ErrChanged) {
		t.Errorf("%q is shown for another file: %v", r.print(false, 0), err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is gone: %v", err)
	}
}

// TestReadingShowsAllOrSaysSo: a text is shown whole, whatever its length; what is not text is named.
func TestReadingShowsAllOrSaysSo(t *testing.T) {
	const lines = 100_000
	var long strings.Builder
	for i := range lines {
		long.WriteString("value " + strconv.Itoa(i) + "\n")
	}
	_, read := readInputs(t, map[string]string{
		"a.csv": long.String(), "latin.txt": "caf\xe9 au lait, a long line", "photo.png": "\x89PNG\r\n\x1a\n\x00\x00",
		"run.x": "print('run')\x1b[2J\n", "empty": "", "dos.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n"}, "python", "run.x")
	r, err := read()
	if err != nil {
		t.Fatal(err)
	}
	got := r.print(false, 0)
	for _, want := range []string{
		"\n    1 | value 0\n", "\n100000 | value 99999\n", "caf⟦xE9⟧ au lait", "print('run')⟦1B⟧[2J", "\nProgram /in/run.x\n",
		"(empty)", "    2 | b\n        (every line ends with CR LF)", "    1 | a⟦0D⟧\n    2 | b\n", "/in/photo.png  10 B  image/png\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Index(got, "Program /in/run.x") > strings.Index(got, "Input /in/a.csv") {
		t.Error("the program does not come first")
	}
	if len(r.unseen) != 1 || !strings.HasPrefix(r.unseen[0], "/in/photo.png is not text (image/png, 10 bytes)") {
		t.Errorf("unseen: %q", r.unseen)
	}
	if notes := strings.Join(r.notes, "\n"); !strings.Contains(notes, "1 hidden character in /in/run.x") {
		t.Errorf("notes: %q", notes)
	}
}

// TestReadingKeepsItsMargin: a long line can't put its end where a line of its own would begin.
func TestReadingKeepsItsMargin(t *testing.T) {
	r := &reading{}
	r.numbered(strings.Repeat("x", 12) + "    1 | harmless" + strings.Repeat(" ", 60) + "漢字漢字漢字")
	r.say("  ", strings.Repeat("y", 50))
	r.head(strings.Repeat("z", 50))
	r.say("  ", "words of a sentence that is broken between them")
	for _, columns := range []int{20, 21, 40} {
		for i, row := range strings.Split(strings.TrimSuffix(r.print(false, columns), "\n"), "\n") {
			if term.Width(row) > columns {
				t.Errorf("%d columns: %q is %d wide", columns, row, term.Width(row))
			}
			if i > 0 && strings.HasPrefix(row, "    1 |") {
				t.Errorf("%q looks like the beginning of a line", row)
			}
		}
	}
	if got := r.print(false, 20); !strings.Contains(got, "\n  words of a\n┊ sentence that is\n┊ broken between\n┊ them\n") {
		t.Errorf("prose is broken as\n%s", got)
	}
	if got := r.print(false, 0); !strings.HasPrefix(got, "    1 | xxxxxxxxxxxx    1 | harmless") {
		t.Errorf("%q", got)
	}
}
