// Package proof has what threegate signs checked by programs that others wrote: make proof.
package proof
