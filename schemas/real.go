package schemas

import (
	_ "embed"
	"sync"
)

// Count is in how many texts of one kind something was found.
type Count struct {
	What  string `json:"what"`
	Found int    `json:"found"`
	Of    int    `json:"of"`
}

// Measured is how a rule did on real text (`make accuracy-real`).
type Measured struct {
	// Harmless are the texts that it should not name, by kind.
	Harmless []Count `json:"harmless"`
	// Injections are the texts of public sets that it names, by class. Other rules may
	// name the rest.
	Injections []Count `json:"injections,omitempty"`
}

//go:embed real.json
var realJSON []byte

var measured = sync.OnceValue(func() map[string]*Measured {
	m := map[string]*Measured{}
	if err := DecodeStrict(realJSON, &m); err != nil {
		panic("schemas: real.json: " + err.Error()) // embedded and tested
	}
	return m
})

// MeasuredOf are the committed figures of a rule, or nil if real text does not measure it.
// They are shared and must not be changed.
func MeasuredOf(rule string) *Measured { return measured()[rule] }
