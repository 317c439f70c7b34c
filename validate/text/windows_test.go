package text_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/threegate/tool-exec/validate/text"
)

// TestWindows: windows cover all of a file, overlap, and know their place.
func TestWindows(t *testing.T) {
	const most = 256 << 10
	lines := []byte(strings.Repeat("a line of some words that mean nothing\n", 60000))
	noise := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{2}).Read(noise)
	for name, b := range map[string][]byte{"nothing": nil, "one": []byte("x"), "lines": lines, "one line": bytes.Repeat([]byte("abc "), 500000),
		"base64": bytes.Repeat([]byte("QUJD"), 500000), "noise": noise, "as long as a window": lines[:most],
		"longer by one": lines[:most+1], "letters of two bytes": bytes.Repeat([]byte("é"), 1<<20)} {
		end, last := int64(0), false
		for w, err := range text.Windows(iotest.HalfReader(bytes.NewReader(b))) {
			if err != nil || last {
				t.Fatalf("%s: %v, another one behind the last: %v", name, err, last)
			}
			from, to := w.Offset, w.Offset+int64(len(w.Data))
			if from > max(0, end-32<<10) || to < end || len(w.Data) > most {
				t.Errorf("%s: a window from %d to %d behind one up to %d", name, from, to, end)
			}
			if !bytes.Equal(w.Data, b[from:to]) || w.Line != bytes.Count(b[:from], []byte{'\n'}) {
				t.Errorf("%s: not what stands at %d", name, from)
			}
			end, last = to, w.Last
		}
		if !last || end != int64(len(b)) {
			t.Errorf("%s: seen up to %d of %d", name, end, len(b))
		}
	}
	broken := io.ErrUnexpectedEOF // as that of a gzip file that ends early
	for _, err := range text.Windows(io.MultiReader(bytes.NewReader(lines), iotest.ErrReader(broken))) {
		if err != nil && !errors.Is(err, broken) {
			t.Error(err)
		} else if err != nil {
			return
		}
	}
	t.Error("the reader's error is lost")
}

// TestEncodedAcrossWindows: what encoded text spells is found wherever windows begin, up
// to three encodings deep.
func TestEncodedAcrossWindows(t *testing.T) {
	raw := strings.Repeat("nothing to see in this part of it. ", 40000) + plain + strings.Repeat(" nothing here either.", 20000)
	for deep := 1; deep <= 3; deep++ {
		raw = base64.StdEncoding.EncodeToString([]byte(raw))
		found := false
		for w := range text.Windows(strings.NewReader("x = '" + raw + "'")) {
			for p := range text.Pieces(w.Data, text.DefaultLimits(len(w.Data))) {
				found = found || bytes.Contains(p.Data, []byte(plain))
			}
		}
		if !found {
			t.Errorf("not found in base64, %d times", deep)
		}
	}
}

// TestCutStream: packed data that no window holds whole is told, and only that.
func TestCutStream(t *testing.T) {
	noise := make([]byte, 2<<20)
	rand.NewChaCha8([32]byte{3}).Read(noise)
	long, digits := base64.StdEncoding.EncodeToString(gz(noise)), base64.StdEncoding.EncodeToString(noise)
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"in one line", long, true}, {"in lines", wrap(long, 76), true}, {"short", base64.StdEncoding.EncodeToString(gz(noise[:99])), false},
		{"not packed", digits, false}, {"not packed, in lines", wrap(digits, 76), false},
		{"only a beginning", "H4sI" + digits, false},
		{"behind text", strings.Repeat("a line of words\n", 90000) + long, true},
		{"in two windows", strings.Repeat("a line of words\n", 12000) + base64.StdEncoding.EncodeToString(gz(noise[:150<<10])) +
			strings.Repeat("\na line of words", 12000), false},
	} {
		cut := false
		for w := range text.Windows(strings.NewReader(c.text)) {
			cut = cut || w.Cut
		}
		if cut != c.want {
			t.Errorf("%s: %v", c.name, cut)
		}
	}
}
