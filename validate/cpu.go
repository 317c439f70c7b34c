package validate

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
)

var (
	coresRe = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,4})(?:\.[0-9]{1,3})?$`)
	milliRe = regexp.MustCompile(`^[1-9][0-9]{0,7}m$`)
)

// ParseCPU reads a cpu limit, cores ("0.5", "2") or millicores ("500m"), as
// thousandths of a core, above zero.
func ParseCPU(s string) (milli int, err error) {
	var r *big.Rat
	switch {
	case milliRe.MatchString(s):
		r, _ = new(big.Rat).SetString(strings.TrimSuffix(s, "m"))
	case coresRe.MatchString(s):
		r, _ = new(big.Rat).SetString(s)
		r.Mul(r, big.NewRat(1000, 1))
	}
	if r == nil || r.Sign() <= 0 {
		return 0, fmt.Errorf("%q is no cpu limit: write cores (\"0.5\", \"2\") or millicores (\"500m\"), above zero", s)
	}
	return int(new(big.Int).Quo(r.Num(), r.Denom()).Int64()), nil
}

// IsShell says whether word names a shell, which no request may run and no
// configuration may offer as a language.
func IsShell(word string) bool { return code.IsShell(word) }
