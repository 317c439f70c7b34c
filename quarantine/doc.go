// Package quarantine is the store of what was refused: requests that may not run
// and results that may not leave, each a folder with its reasons, reasons.json
// for programs and REASONS.md for people.
//
// Everything in such a folder but the two reason files is hostile, and so are the
// names and excerpts inside them: they are written so that neither a terminal nor
// a Markdown viewer acts on them. The package reads, and encodes; the spool moves
// items here. It never opens, follows or changes what was refused.
package quarantine
