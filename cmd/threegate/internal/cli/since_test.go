package cli

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "0s": now,
		"2026-02-01": time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), "2026-02-09T15:00:00Z": now.Add(-time.Hour),
	} {
		if got, err := (&Since{text}).Time(now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-5m", "x", "7 d", "99999999d", "-1d", "yesterday"} {
		if got, err := (&Since{text}).Time(now); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}
