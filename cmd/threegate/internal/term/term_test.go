package term

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain äöü 漢字 é":        "plain äöü 漢字 é",
		"a\x1b[31mb":            "a⟦1B⟧[31mb",
		"a\u202eb":              "a⟦202E⟧b",
		"a\xffb":                "a⟦xFF⟧b",
		"a\u00a0b":              "a⟦A0⟧b",
		"a\u2800b":              "a⟦2800⟧b",
		"line\nline":            "line⟦0A⟧line",
		"\U000E0041":            "⟦E0041⟧",
		"\ufffd":                "\ufffd",
		"\x7f":                  "⟦7F⟧",
		"unassigned \U0003ffff": "unassigned ⟦3FFFF⟧",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Block("a\nb\x1b"); got != "a\nb⟦1B⟧" {
		t.Errorf("Block: %q", got)
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "漢字": 4, "e\u0301": 1, "\t": 4, "ab\tc": 5, "\u202e": 6} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestTableLinesUp(t *testing.T) {
	var b strings.Builder
	if err := Table(&b, false, []string{"A", "LONG HEAD", "C"},
		[][]string{{"漢字", "x", "end\x1b"}, {"y", "", ""}}); err != nil {
		t.Fatal(err)
	}
	want := "A     LONG HEAD  C\n漢字  x          end⟦1B⟧\ny                \n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestOnlyTerminalsAreAsked(t *testing.T) {
	var b strings.Builder
	u := New(&b, &b, func(string) string { return "" })
	if ok, err := u.Ask(context.Background(), strings.NewReader("yes\n"), "Sure?"); ok ||
		!errors.Is(err, ErrNoTerminal) {
		t.Errorf("%v, %v", ok, err)
	}
	if b.Len() > 0 {
		t.Errorf("%q was written to what is no terminal", b.String())
	}
}

func TestErrorsAndHints(t *testing.T) {
	var out, diagnostics strings.Builder
	u := New(&out, &diagnostics, func(string) string { return "" })
	u.Error("first\nsecond \x1b[2J", "mend it")
	want := "error: first\n       second ⟦1B⟧[2J\nhint: mend it\n"
	if diagnostics.String() != want || out.Len() > 0 {
		t.Errorf("stderr %q, want %q; stdout %q", diagnostics.String(), want, out.String())
	}
}

func TestHang(t *testing.T) {
	for _, c := range []struct {
		text           string
		first, columns int
		want           string
	}{
		{"one two three", 4, 10, "one\n  two\n  three"},
		{"one two three", 4, 12, "one two\n  three"},
		{"one two three", 4, 0, "one two three"},
		{"averyverylongword x", 0, 8, "averyverylongword\n  x"},
		{"漢字 漢字", 0, 8, "漢字\n  漢字"},
		{"", 3, 8, ""},
	} {
		if got := Hang(c.text, c.first, 2, c.columns); got != c.want {
			t.Errorf("Hang(%q, %d, 2, %d) = %q, want %q", c.text, c.first, c.columns, got, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		5 << 20: "5.0 MiB", 1 << 40: "1.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
