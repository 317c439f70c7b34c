package mcpstdio

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/threegate/tool-exec/schemas"
)

// maxDepth bounds how deep a message is nested.
const maxDepth = 64

// message is a message of JSON-RPC, with all keys that one may have.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// Strict says what is wrong with a message that parsers might read in different ways: it is not
// one JSON object, not UTF-8, nested too deep, gives a key twice, has a key that no message has, or is none of
// JSON-RPC 2.0. Its id is a string, or a whole number that every parser reads exactly.
func Strict(raw []byte) error {
	var m message
	if err := schemas.DecodeStrict(raw, &m); err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for err := error(nil); err == nil; _, err = dec.ReadToken() {
		if dec.StackDepth() > maxDepth {
			return fmt.Errorf("it is nested deeper than %d", maxDepth)
		}
	}
	if _, err := jsonrpc.DecodeMessage(raw); err != nil {
		return errors.New("it is not a request, notification or response of JSON-RPC 2.0")
	}
	if !m.hasID() {
		return errors.New("its id is neither a string nor a whole number below 10^15")
	}
	return nil
}

// wholeNumber is an id that every parser reads exactly, in its only spelling.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)

// hasID says whether the id is one that can be answered, or not there.
func (m *message) hasID() bool {
	return len(m.ID) == 0 || string(m.ID) == "null" || m.ID[0] == '"' || wholeNumber.Match(m.ID)
}
