package reach

import "testing"

func FuzzPaths(f *testing.F) {
	for i, s := range []string{"/etc/passwd", "x=/in/../y", "file:///etc/x", "~a/b $HOME/c", `C:\a\b`, "unix:/x.sock", "php://filter/resource=/etc/x", "-I/usr/x"} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, n uint8, text string) {
		refs := Paths(text, Context(n%4))
		if len(refs) > 3*MaxRefs {
			t.Fatalf("%d places", len(refs))
		}
		for i, r := range refs {
			if r.Offset < 0 || r.End > len(text) || r.Offset > r.End || r.Path != text[r.Offset:r.End] || i > 0 &&
				refs[i-1].Offset > r.Offset {
				t.Fatalf("%+v in %q", r, text)
			}
		}
		if Allowed(text) && text == "/etc" {
			t.Fatal("/etc is allowed")
		}
	})
}
