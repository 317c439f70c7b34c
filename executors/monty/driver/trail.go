package driver

import (
	"fmt"
	"strconv"
	"strings"
)

// trail says where a value stands inside another. It is spelled out only for a
// message, since most values never need one.
type trail struct {
	up  *trail
	key string // of a dict, or the name of the outermost value
	i   int    // of a list, or -1
}

func (t *trail) index(i int) *trail      { return &trail{up: t, i: i} }
func (t *trail) entry(key string) *trail { return &trail{up: t, key: key, i: -1} }

// maxTrail bounds what is spelled out, counted from the inside.
const maxTrail = 20

func (t *trail) String() string {
	var parts []string
	for ; t.up != nil && len(parts) < maxTrail; t = t.up {
		if t.i >= 0 {
			parts = append(parts, "["+strconv.Itoa(t.i)+"]")
		} else {
			parts = append(parts, fmt.Sprintf("[%.40q]", t.key))
		}
	}
	var b strings.Builder
	if t.up != nil {
		b.WriteString("...")
	} else {
		b.WriteString(t.key)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return b.String()
}
