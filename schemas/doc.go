// Package schemas holds what every other package of the node agrees on: the
// types of a tool request and a tool result, findings and the catalogue of
// rules, outcome causes and error codes.
//
// The two normative texts are restated in docs/; the Go types carry every front
// matter key and every section of both. The package imports nothing of ours,
// does no I/O and trusts none of the values that it carries: checking is
// validate's work.
package schemas
