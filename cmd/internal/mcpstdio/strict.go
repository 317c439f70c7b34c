package mcpstdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxDepth bounds how deep a message is nested.
const maxDepth = 64

// messageKeys are those of JSON-RPC.
var messageKeys = map[string]bool{"jsonrpc": true, "id": true, "method": true, "params": true, "result": true,
	"error": true}

// Strict says what is wrong with a message that parsers might read in different ways: it is not
// one JSON object, not UTF-8, nested too deep, gives a key twice, has a key that no message has, or is none of
// JSON-RPC 2.0. Its id is a string, or a whole number that every parser reads exactly.
func Strict(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if t := bytes.TrimLeft(raw, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return errors.New("it is no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := strictValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind its end")
	}
	if _, err := jsonrpc.DecodeMessage(raw); err != nil {
		return errors.New("it is no request, notification or answer of JSON-RPC 2.0")
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil || !m.hasID() {
		return errors.New("its id is no string and no whole number below 10^15")
	}
	return nil
}

// wholeNumber is an id that every parser reads exactly, in its only spelling.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)

// hasID says whether the id is one that can be answered, or not there.
func (m *message) hasID() bool {
	return len(m.ID) == 0 || string(m.ID) == "null" || m.ID[0] == '"' || wholeNumber.Match(m.ID)
}

func strictValue(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil {
		return errors.New("it is no whole JSON")
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	keys := map[string]bool{}
	for dec.More() {
		if open == '{' {
			t, err := dec.Token()
			key, ok := t.(string)
			if err != nil || !ok {
				return errors.New("it is no whole JSON")
			}
			if keys[key] {
				return errors.New("a key is given twice")
			}
			if depth == 0 && !messageKeys[key] {
				return errors.New("it has a key that no message has; keys are written in lower case")
			}
			keys[key] = true
		}
		if err := strictValue(dec, depth+1); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return errors.New("it is no whole JSON")
	}
	return nil
}
