package cputime

import (
	"regexp"
	"strings"
	"time"
)

// tries is how often what takes too long is tried again: neighbours of a virtual
// machine take away much of a processor, for a moment or for minutes.
const tries = 3

// Within runs f and says whether it takes no more processor time than limit on a
// processor as fast as that which limits are written for, and how long it took. On a
// slower one, or one that is slow at the moment, it may take longer in proportion.
func Within(limit time.Duration, f func()) (took time.Duration, ok bool) {
	for range tries {
		took = OfThread(f)
		if took <= limit || took.Seconds() <= limit.Seconds()*slowness() {
			return took, true
		}
	}
	return took, false
}

// yardstick is work whose time is known of the processor which limits are written for.
var (
	yardstick     = regexp.MustCompile(`(?i)\b(?:pass|key|token)[\w.-]{0,20}\s*[:=]\s*(\S{8,40})`)
	yardstickText = strings.Repeat("a row of the table, with 17 numbers and a path /in/x.csv\n", 1<<20/57)
)

const yardstickTime = 43 * time.Millisecond

// slowness is how many times slower this processor is now, 1 at least.
func slowness() float64 {
	took := OfThread(func() { yardstick.FindAllStringIndex(yardstickText, -1) })
	return max(1, took.Seconds()/yardstickTime.Seconds())
}
