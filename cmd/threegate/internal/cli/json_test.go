package cli

import (
	"io"
	"strings"
	"testing"
)

// TestJSONList: a list that is written element by element has the bytes of one that is written at once.
func TestJSONList(t *testing.T) {
	type element struct {
		ID   string   `json:"id"`
		More []string `json:"more,omitempty"`
	}
	for n := range 4 {
		all := []element{{"<a&b>", nil}, {"\u2028", []string{"x", "y\n"}}, {"", nil}}[:n]
		var whole, streamed strings.Builder
		if err := New(nil, &whole, io.Discard).PrintJSON(all); err != nil {
			t.Fatal(err)
		}
		list := New(nil, &streamed, io.Discard).NewJSONList()
		for _, e := range all {
			if err := list.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.End(); err != nil || streamed.String() != whole.String() {
			t.Errorf("%d: %v, %q, want %q", n, err, streamed.String(), whole.String())
		}
	}
}
