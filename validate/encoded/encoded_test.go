package encoded_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/validate/encoded"
	"github.com/threegate/tool-exec/validate/internal/cputime"
)

const plain = "the quick brown fox jumps over the lazy dog, twice"

func gz(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func TestPieces(t *testing.T) {
	std := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct{ name, in, encoding string }{
		{"base64", std(plain), "base64"}, {"no padding", strings.TrimRight(std(plain), "="), "base64"}, {"hex", hex.EncodeToString([]byte(plain)), "hex"},
		{"percent", strings.ReplaceAll(plain, " ", "%20"), "percent"}, {"gzip", std(string(gz([]byte(plain)))), "base64+gzip"}, {"twice", std(std(plain)), "base64+base64"},
		{"dump", hex.Dump([]byte(plain)), "hex"}, {"in JSON", `{"a":"` + std(plain) + `"}`, "base64"},
	} {
		text := "before\n" + c.in + "\nafter\n"
		found := false
		for p := range encoded.Pieces([]byte(text), encoded.DefaultLimits(len(text))) {
			if p.Offset < 0 || p.End > len(text) || p.Offset >= p.End {
				t.Errorf("%s: bad place %d-%d", c.name, p.Offset, p.End)
			}
			found = found || bytes.Contains(p.Data, []byte(plain)) && p.Encoding == c.encoding && p.Text
		}
		if !found {
			t.Errorf("%s: not decoded", c.name)
		}
	}
}

func TestLimits(t *testing.T) {
	s := plain
	for range 6 {
		s = base64.StdEncoding.EncodeToString([]byte(s))
	}
	deepest := 0
	for p := range encoded.Pieces([]byte(s), encoded.Limits{Depth: 3, Bytes: 1 << 20}) {
		deepest = max(deepest, 1+strings.Count(p.Encoding, "+"))
	}
	if deepest != 3 {
		t.Errorf("depth %d", deepest)
	}
	total := 0
	for p := range encoded.Pieces([]byte(base64.StdEncoding.EncodeToString(gz(make([]byte, 64<<20)))), encoded.Limits{Depth: 4, Bytes: 1 << 20}) {
		total += len(p.Data)
	}
	if total > 1<<20 {
		t.Errorf("%d bytes decoded", total)
	}
	// What is left when the budget is spent is told, and only then.
	bomb := base64.StdEncoding.EncodeToString(gz(make([]byte, 64<<20)))
	for text, want := range map[string]bool{bomb + "\n" + base64.StdEncoding.EncodeToString([]byte(plain)): true, base64.StdEncoding.EncodeToString([]byte(plain)): false} {
		var last encoded.Piece
		for p := range encoded.Pieces([]byte(text), encoded.Limits{Depth: 4, Bytes: 1 << 20}) {
			if last.Unread {
				t.Error("a piece behind the one that is unread")
			}
			last = p
		}
		if last.Unread != want {
			t.Errorf("unread: %v, want %v", last.Unread, want)
		}
	}
	for _, unit := range []string{"QUFB", "4", "%41", `\x4`, "41 ", "41\n", "A\n", strings.Repeat("A", 64) + "\n", strings.Repeat("A", 64) + "\nx\n"} {
		raw := []byte(strings.Repeat(unit, 2<<20/len(unit)))
		took := cputime.Of(func() {
			for range encoded.Pieces(raw, encoded.DefaultLimits(len(raw))) {
			}
		})
		if took > 20*time.Second {
			t.Errorf("%q: %v", unit, took)
		}
	}
}
