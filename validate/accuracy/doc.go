// Package accuracy measures how many forbidden documents the rules refuse, and
// how many harmless ones, on the labelled cases of testdata/corpus. It holds
// tests only: `make accuracy` runs them and prints the table. With the tag real it measures the
// rules for results on text that nobody wrote for them, too: what Debian's packages and Go's
// modules have put on the machine, what programs of the machine print, and injections of public
// sets that lie in a folder of checkouts: `make accuracy-real`.
package accuracy
