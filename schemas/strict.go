package schemas

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// DecodeStrict decodes the one JSON value that data holds, as every program reads it: in valid UTF-8, with each key
// once and spelled exactly as v spells it. A key that v does not know and anything behind the value are errors, too.
func DecodeStrict(data []byte, v any) error { return decode(data, v, json.RejectUnknownMembers(true)) }

// DecodeOpen is DecodeStrict for a format that others may extend: keys that v does not know are passed over.
func DecodeOpen(data []byte, v any) error { return decode(data, v) }

func decode(data []byte, v any, opts ...json.Options) error {
	err := json.Unmarshal(data, v, append(opts, v1.FormatDurationAsNano(true))...)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(syntax, jsontext.ErrDuplicateName) {
			return fmt.Errorf("the key %.100q is given twice", syntax.JSONPointer)
		}
		return fmt.Errorf("it is not valid JSON at byte %d: %w", syntax.ByteOffset+1, syntax.Err)
	}
	if meaning, ok := errors.AsType[*json.SemanticError](err); ok {
		where := cmp.Or(string(meaning.JSONPointer), "/")
		switch {
		case errors.Is(meaning, json.ErrUnknownName):
			return fmt.Errorf("the key %.100q is not known", where)
		case meaning.Err != nil:
			return fmt.Errorf("the value of %.100q can't be used: %w", where, meaning.Err)
		}
		return fmt.Errorf("the value of %.100q is of the wrong type", where)
	}
	return err
}
