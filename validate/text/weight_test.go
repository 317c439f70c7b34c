package text_test

import (
	"regexp"
	"testing"

	"github.com/threegate/tool-exec/validate/text"
)

func TestWeight(t *testing.T) {
	for pattern, want := range map[string]int{
		`abc`:              1,
		`a.c\d`:            1,
		`a{24}`:            1,
		`a{25}`:            2,
		`!\[.{0,200}\]`:    9,
		`(?:a|b{0,50}){2}`: 3,
		`a*b+`:             2,
		`(?:a*b){6}`:       4,
		`a{3,}`:            1,
	} {
		if got := text.Weight(regexp.MustCompile(pattern)); got != want {
			t.Errorf("%s: %d, want %d", pattern, got, want)
		}
	}
}
