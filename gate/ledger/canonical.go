package ledger

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// encode is an event's line: canonical JSON (RFC 8785), so that whoever has the event in any
// spelling finds its hash. Lines of a record that is older may have another spelling; their hash
// is of the line as it is.
func encode(e *Event) ([]byte, error) {
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	canonical := jsontext.Value(line)
	err = canonical.Canonicalize()
	return canonical, err
}

// Lines calls each with every whole line of the record, in order, as it lies there: nothing is
// checked but that no line is longer than an event can be. A torn last line is left out.
func Lines(dir string, each func(line []byte) error) error {
	segs, err := segments(dir)
	for _, seg := range segs {
		if err == nil {
			err = eachLine(seg, each)
		}
	}
	return err
}
