package reach

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	s := readPatterns("# a comment\n\na x b\na ^y\nb N (z)\n")
	if re := s.compile("a"); !re.MatchString("1 X B") || !re.MatchString("y") || re.MatchString("xy") {
		t.Error(re)
	}
	if re := s.compileWithin("b", "^", strings.NewReplacer("N", `\d`)); !re.MatchString("1 z") || re.MatchString("01 z") {
		t.Error(re)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name without expression")
		}
	}()
	s.compile("c")
}
