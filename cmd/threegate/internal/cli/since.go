package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Since is the flag --since: a time, or how long before now.
type Since struct{ text string }

// Flag gives cmd the flag; what says what is left out.
func (s *Since) Flag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&s.text, "since", "",
		"only "+what+" since this `time`: 2026-02-09, 2026-02-09T16:00:00Z, or before now: 90m, 24h, 7d")
}

// Time is what the flag means at now; without the flag the zero time.
func (s *Since) Time(now time.Time) (time.Time, error) {
	if s.text == "" {
		return time.Time{}, nil
	}
	if d, ok := Age(s.text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s.text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usagef("write 2026-02-09, 2026-02-09T16:00:00Z, 90m, 24h or 7d", "--since %q is not a time",
		s.text)
}

// maxAgeDays keeps an age within what a time.Duration holds.
const maxAgeDays = 100 * 365

// Age reads a duration that is not negative, like 90m or 24h, or one of whole days, like 7d.
func Age(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= maxAgeDays
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
