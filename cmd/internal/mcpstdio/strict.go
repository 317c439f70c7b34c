package mcpstdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth bounds how deep a message is nested.
const maxDepth = 64

// messageKeys are those of JSON-RPC.
var messageKeys = map[string]bool{"jsonrpc": true, "id": true, "method": true, "params": true, "result": true,
	"error": true}

// Strict says what is wrong with a message that parsers might read in different ways: it is not
// one JSON object, not UTF-8, nested too deep, gives a key twice, or has a key that no message has.
func Strict(message []byte) error {
	if !utf8.Valid(message) {
		return errors.New("it is not UTF-8")
	}
	if t := bytes.TrimLeft(message, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return errors.New("it is no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(message))
	dec.UseNumber()
	if err := strictValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind its end")
	}
	return nil
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
