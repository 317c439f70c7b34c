// Package spooltest helps to prove that nothing is lost: faults at every step
// that the spool takes, and a check of what is on the disk afterwards. It is for
// tests, and trusts the nodes that it is given.
package spooltest
