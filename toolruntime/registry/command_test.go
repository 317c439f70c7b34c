package registry

import (
	"slices"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

func TestSplit(t *testing.T) {
	for cmd, want := range map[string][]string{
		"cargo test -q":             {"cargo", "test", "-q"},
		`a 'b c' "d e" f\ g`:        {"a", "b c", "d e", "f g"},
		`a '$HOME' '*' ';' "a;b"`:   {"a", "$HOME", "*", ";", "a;b"},
		`a \* \$x '' --x=y '{a,b}'`: {"a", "*", "$x", "", "--x=y", "{a,b}"},
		"a -- -x":                   {"a", "--", "-x"},
		`a "x\"y"`:                  {"a", `x"y`},
	} {
		if got, err := Split(cmd); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v", cmd, got, err)
		}
	}
	for _, cmd := range []string{"", " ", "a; b", "a && b", "a | b", "a &", "a\nb", "a > b", "a < b", "a $(b)", "a `b`", "a $x",
		`a "$x"`, `a "$(b)"`, "a *", "a ?", "a [b]", "a {b,c}", "a ~", "a ~root", "X=1 a", "X=1", "! a", "(a)", "{ a; }", "if a; then b; fi",
		"a <<x\nx", "a 'b", "a # b", "/bin/a", "./a", "../a", "-a", "a $((1))", "a \x00", "f() { a; }"} {
		got, err := Split(cmd)
		if e := contract.AsError(err); err == nil || e.Code != contract.Policy {
			t.Errorf("%q: got %q, %v", cmd, got, err)
		}
	}
}
