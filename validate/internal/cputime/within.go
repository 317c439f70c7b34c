package cputime

import (
	"regexp"
	"strings"
	"time"
)

// Neighbours of a virtual machine take away much of a processor, for a moment or for
// minutes: what takes too long is tried again, and a test fails only of what takes
// twice what it may. How near a limit work comes is for benchmarks to say.
const (
	tries = 5
	slack = 2
)

// Within runs f and says whether it takes no more processor time than slack times limit
// on a processor as fast as that which limits are written for, and how long it took. On
// a slower one, or one that is slow at the moment, it may take longer in proportion.
func Within(limit time.Duration, f func()) (took time.Duration, ok bool) {
	took = OfThread(f)
	for try := 1; took > limit && took.Seconds() > slack*limit.Seconds()*Slowness(); try++ {
		if try == tries {
			return took, false
		}
		took = min(took, OfThread(f))
	}
	return took, true
}

// Sizes that Linear compares are part times apart. What takes time in proportion to its
// size takes part times as long then, and with the caches that a small text fits into
// up to twice that; what takes the square of it, part times part times.
const (
	part      = 8
	maxGrowth = 2.5 * part
	// noise is what takes no time worth comparing.
	noise = 20 * time.Millisecond
)

// Linear says whether the processor time of work grows about as its size does: took is
// the time for a size, of which the whole is size and the small one an eighth of it. Work
// that grows faster does so in each of several tries, and others' work only in some.
func Linear(size int, took func(size int) time.Duration) (small, whole time.Duration, ok bool) {
	for range tries {
		small, whole = took(size/part), took(size)
		if whole <= noise || whole.Seconds() <= maxGrowth*small.Seconds() {
			return small, whole, true
		}
	}
	return small, whole, false
}

// yardstick is work whose time is known of the processor which limits are written for.
var (
	yardstick     = regexp.MustCompile(`(?i)\b(?:pass|key|token)[\w.-]{0,20}\s*[:=]\s*(\S{8,40})`)
	yardstickText = strings.Repeat("a row of the table, with 17 numbers and a path /in/x.csv\n", 1<<20/57)
)

const yardstickTime = 43 * time.Millisecond

// Slowness is how many times slower this processor is now, 1 at least.
func Slowness() float64 {
	took := OfThread(func() { yardstick.FindAllStringIndex(yardstickText, -1) })
	return max(1, took.Seconds()/yardstickTime.Seconds())
}
