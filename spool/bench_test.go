package spool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threegate/tool-exec/spool"
)

// BenchmarkClaim is a whole claim, synced, out of a backlog of that size.
func BenchmarkClaim(b *testing.B) {
	for _, backlog := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(backlog), func(b *testing.B) {
			dir := b.TempDir()
			if err := spool.Init(dir); err != nil {
				b.Fatal(err)
			}
			inbox := filepath.Join(dir, spool.DefaultInbox)
			for i := range backlog {
				if err := os.WriteFile(filepath.Join(inbox, fmt.Sprintf("TR-%06d.md", i)), []byte("request"), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			s, err := spool.Open(dir, spool.Options{Inboxes: []spool.Inbox{{Name: "default", Dir: inbox}}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			start := time.Now()
			if _, err := s.Pending(1); err != nil {
				b.Fatal(err)
			}
			reading := time.Since(start)
			b.ResetTimer()
			for range b.N {
				as, err := s.Pending(1)
				if err != nil || len(as) != 1 {
					b.Fatalf("%v, %v", as, err)
				}
				if _, err := s.Claim(as[0].Inbox, as[0].Name); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(reading.Milliseconds()), "ms/reading")
		})
	}
}
