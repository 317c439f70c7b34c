package schemas

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// Accuracy is how a rule, or a category of documents, did on the labelled cases
// of testdata/corpus.
type Accuracy struct {
	// Forbidden counts the documents that must be refused, Found those that were.
	Forbidden int `json:"forbidden,omitempty"`
	Found     int `json:"found,omitempty"`
	// Harmless counts the documents that must not be refused, Wrong those that were.
	Harmless int `json:"harmless,omitempty"`
	Wrong    int `json:"wrong,omitempty"`
}

// Recall is the part of the forbidden documents that was refused.
func (a Accuracy) Recall() float64 { return ratio(a.Found, a.Forbidden) }

// FalsePositives is the part of the harmless documents that was refused.
func (a Accuracy) FalsePositives() float64 { return ratio(a.Wrong, a.Harmless) }

func ratio(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// Measured are the figures of a measurement (`make accuracy`).
type Measured struct {
	// Rules are by rule id. A document counts as found there only if that rule,
	// or another one that fits as well, refused it.
	Rules map[string]Accuracy `json:"rules"`
	// Categories are by kind of document, whichever rule refused.
	Categories map[string]Accuracy `json:"categories"`
	// HeldBack are the categories of the part that no rule was tuned on.
	HeldBack map[string]Accuracy `json:"held_back"`
}

//go:embed measured.json
var measuredJSON []byte

var measured = sync.OnceValue(func() *Measured {
	m := &Measured{}
	if err := json.Unmarshal(measuredJSON, m); err != nil {
		panic("schemas: measured.json: " + err.Error()) // embedded and tested
	}
	return m
})

// MeasuredAccuracy are the committed figures of this build's rules. They are
// also the floor below which no change may fall. The result is shared: it must
// not be changed.
func MeasuredAccuracy() *Measured { return measured() }
