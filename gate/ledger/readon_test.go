package ledger

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// ReadOn tells each damage, and gives every event that can be read.
func TestReadOn(t *testing.T) {
	cut := func(from, to int) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte { return slices.Delete(lines, from, to) }
	}
	change := func(at int, to string) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte { lines[at] = []byte(to + "\n"); return lines }
	}
	for _, c := range []struct {
		name  string
		spoil func([][]byte) [][]byte
		seqs  []int64
		wrong []string
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, []int64{1, 2, 3, 4, 5}, nil},
		{"no event", change(1, "{}"), []int64{1, 3, 4, 5}, []string{"event 2: "}},
		{"an unknown type", change(4, `{"seq":5,"type":"x"}`), []int64{1, 2, 3, 4}, []string{"event 5: "}},
		{"too long", change(2, strings.Repeat("x", 3*maxLineBytes)), []int64{1, 2, 4, 5}, []string{"event 3: "}},
		{"a byte", func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte("node.started"), []byte("node.stopped"), 1)
			return l
		}, []int64{1, 2, 3, 4, 5}, []string{"event 3: does not fit"}},
		{"a line is gone", cut(1, 2), []int64{1, 3, 4, 5}, []string{"event 2: has sequence number 3"}},
		{"the first line is gone", cut(0, 1), []int64{2, 3, 4, 5}, []string{"event 1: has sequence number 2"}},
		{"two places", func(l [][]byte) [][]byte { return change(3, "x")(change(1, "y")(l)) }, []int64{1, 3, 5},
			[]string{"event 2: ", "event 4: "}},
		{"torn at the end", func(l [][]byte) [][]byte { l[4] = l[4][:20]; return l }, []int64{1, 2, 3, 4}, nil},
		{"nothing is left", cut(0, 5), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l, _ := open(t, dir)
			appendTo(t, l, 5)
			file := l.file.Name()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.DeleteFunc(bytes.SplitAfter(raw, []byte("\n")), func(b []byte) bool { return len(b) == 0 })
			if err := os.WriteFile(file, bytes.Join(c.spoil(lines), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			var wrong []string
			_, _, err = ReadOn(dir, func(e Event) error { seqs = append(seqs, e.Seq); return nil },
				func(err error) { wrong = append(wrong, err.Error()) })
			if err != nil || !slices.Equal(seqs, c.seqs) || len(wrong) != len(c.wrong) {
				t.Fatalf("read %v, wrong %q, %v; want %v, %q", seqs, wrong, err, c.seqs, c.wrong)
			}
			for i, w := range wrong {
				if !strings.Contains(w, c.wrong[i]) {
					t.Errorf("%q, want %q", w, c.wrong[i])
				}
			}
		})
	}
}
