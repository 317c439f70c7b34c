// Package text makes hostile text safe to look at: it names characters that
// hide or mislead, spells them visibly and back without loss, and cuts bounded
// excerpts out of lines. It is pure, never fails on any bytes and takes time
// linear in its input.
package text
