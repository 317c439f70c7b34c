package text

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"testing"
)

func FuzzPieces(f *testing.F) {
	inner := []byte("echo hello from inside; 1 2 3")
	for _, s := range []string{
		base64.StdEncoding.EncodeToString(inner), hex.EncodeToString(inner), hex.Dump(inner),
		"%65%63%68%6f%20%68%65%6c%6c%6f",
		`\x65\x63\x68\x6f\x20\x68\x65\x6c\x6c\x6f`, "H4sIAAAAAAAA/8pIzcnJBwAAAP//", "a\x00b\x00c\x00d\x00e\x00f\x00g\x00h\x00i\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		lim := DefaultLimits(len(raw))
		total := 0
		for p := range Pieces(raw, lim) {
			if p.Offset < 0 || p.End > len(raw) || p.Offset > p.End || p.Encoding == "" {
				t.Fatalf("piece %+v of %d bytes", p, len(raw))
			}
			total += len(p.Data)
		}
		if total > lim.Bytes {
			t.Fatalf("%d bytes decoded, %d are allowed", total, lim.Bytes)
		}
		if !bytes.Equal(raw, before) {
			t.Fatal("the text was changed")
		}
	})
}
