// Package accuracy measures how many forbidden documents the rules refuse, and
// how many harmless ones, on the labelled cases of testdata/corpus. It holds
// tests only: `make accuracy` runs them and prints the table.
package accuracy
