package record

import (
	"strings"
	"testing"
)

// TestLogsOnATerminal: whole lines, with what could steer the terminal made visible, also when they
// come in pieces; elsewhere the bytes as they are.
func TestLogsOnATerminal(t *testing.T) {
	for _, c := range []struct {
		visible, json bool
		pieces        []string
		want          string
	}{
		{visible: true, pieces: []string{"a\x1b", "[2Jb\nc\xc3", "\xa9\n", "end"}, want: "a⟦1B⟧[2Jb\ncé\nend\n"},
		{pieces: []string{"a\x1b[2J", "end"}, want: "a\x1b[2Jend"},
		{json: true, pieces: []string{"a\x1b[2J\nen", "d"},
			want: "{\"stream\":\"stdout\",\"text\":\"a\\u001b[2J\"}\n{\"stream\":\"stdout\",\"text\":\"end\"}\n"},
		{visible: true, pieces: []string{strings.Repeat("x", maxLogLine), "y"},
			want: strings.Repeat("x", maxLogLine) + "\ny\n"},
	} {
		var out strings.Builder
		s := &logStream{name: "stdout", out: &out, visible: c.visible}
		for _, p := range c.pieces {
			if err := s.print([]byte(p), c.json); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.flush(c.json); err != nil || out.String() != c.want {
			t.Errorf("%q: %v, %q", c.pieces, err, out.String())
		}
	}
}
