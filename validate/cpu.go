package validate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/validate/code"
)

// maxCores bounds what a cpu limit can ask for at all.
const maxCores = 1024

// ParseCPU reads a cpu limit, cores ("0.5", "2") or millicores ("500m"), as
// thousandths of a core. It is above zero and has no finer grain than one.
func ParseCPU(s string) (milli int, err error) {
	bad := func() (int, error) {
		return 0, fmt.Errorf("%q is no cpu limit: write cores (\"0.5\", \"2\") or millicores (\"500m\"), above zero", s)
	}
	if strings.Trim(s, "0123456789.m") != "" || s == "" {
		return bad()
	}
	if m, ok := strings.CutSuffix(s, "m"); ok {
		n, err := strconv.Atoi(m)
		if err != nil || n < 1 || n > maxCores*1000 {
			return bad()
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f <= 0 || f > maxCores {
		return bad()
	}
	n := math.Round(f * 1000)
	if n < 1 || math.Abs(n-f*1000) > 1e-6 {
		return bad()
	}
	return int(n), nil
}

// IsShell says whether word names a shell, which no request may run and no
// configuration may offer as a language.
func IsShell(word string) bool { return code.IsShell(word) }
