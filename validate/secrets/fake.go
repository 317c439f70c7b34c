package secrets

import (
	"crypto/rand"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// ErrNoFake says that what looks like a secret could not be replaced by something that does.
var ErrNoFake = errors.New("no made-up value of the same shape is found by the same rule")

// fakeTries bounds how many values are made up in place of one secret.
const fakeTries = 200

// Fake replaces each secret in b, or what looks like one, by a made-up value of the same length and
// the same kinds of characters, which the same rule finds. An encoded secret has none: ErrNoFake.
func Fake(b []byte) ([]byte, error) {
	done := map[string]string{} // made-up values by what they stand for
	for round := 0; ; round++ {
		ms := slices.DeleteFunc(Scan(b), func(m Match) bool {
			at := string(b[m.Offset:max(m.Offset, m.End)])
			for _, fake := range done {
				if strings.Contains(fake, at) || strings.Contains(at, fake) {
					return true
				}
			}
			return false
		})
		if len(ms) == 0 {
			return b, nil
		}
		m := ms[0]
		if m.Decoded != "" || m.Rule == RuleUnscannable || round > maxMatches {
			return nil, ErrNoFake
		}
		old := string(b[m.Offset:m.End])
		next, fake := "", ""
		for range fakeTries {
			fake = alike(old)
			next = strings.ReplaceAll(string(b), old, fake)
			if fake != old && slices.ContainsFunc(Scan([]byte(next)), func(n Match) bool {
				return n.Rule == m.Rule && n.Offset <= m.Offset && n.End >= m.End
			}) {
				break
			}
			next = ""
		}
		if next == "" {
			return nil, ErrNoFake
		}
		done[old], b = fake, []byte(next)
	}
}

var hexOnly = regexp.MustCompile(`^(?:[0-9a-f]+|[0-9A-F]+)$`)

// alike is a made-up text of the same shape: a public prefix and all signs stay.
func alike(s string) string {
	const small, capital, digit = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	letters := map[int]string{1: small, 2: capital, 3: digit}
	prefix := publicPrefix(s)
	if prefix == "" && hexOnly.MatchString(s) {
		letters[1], letters[2] = small[:6], capital[:6]
	}
	out := []byte(s)
	for i := len(prefix); i < len(out); i++ {
		if from := letters[kind(out[i])]; from != "" {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
			if err != nil {
				return s
			}
			out[i] = from[n.Int64()]
		}
	}
	return string(out)
}
