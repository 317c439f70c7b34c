package monty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// Levels of messages that a container takes.
const (
	listLevels = 2
	dictLevels = 3
)

// inputs turns the JSON object doc into variables, in its order. Integers stay exact, numbers with
// a fraction or exponent become floats, objects dicts. That each key is a name, and there once, was
// checked with the request.
func inputs(doc []byte) ([]*wire.NamedValue, error) {
	doc = bytes.TrimSpace(doc)
	if len(doc) == 0 || string(doc) == "null" {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	object, err := inputValue(dec, 0)
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	if object.GetDict() == nil {
		return nil, errors.New("inputs: must be one JSON object")
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("inputs: something follows the object")
	}
	var vars []*wire.NamedValue
	for _, p := range object.GetDict().GetPairs() {
		vars = append(vars, &wire.NamedValue{Name: p.GetKey().GetStr(), Value: p.GetValue()})
	}
	return vars, nil
}

// inputValue reads one value, which lies below so many levels of messages. No key is there twice.
func inputValue(dec *jsontext.Decoder, levels int) (*wire.Value, error) {
	if levels > wire.MaxValueDepth {
		return nil, fmt.Errorf("it nests too deep, about %d arrays or %d objects are possible",
			wire.MaxValueDepth/listLevels, wire.MaxValueDepth/dictLevels)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 't', 'f':
		return boolean(token.Bool()), nil
	case '"':
		return str(token.String()), nil
	case '0':
		return inputNumber(token.String())
	case '[':
		return inputList(dec, levels+listLevels)
	case '{':
		return inputDict(dec, levels+dictLevels)
	}
	return none(), nil // null
}

func inputList(dec *jsontext.Decoder, levels int) (*wire.Value, error) {
	var items []*wire.Value
	for dec.PeekKind() != ']' {
		v, err := inputValue(dec, levels)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := dec.ReadToken()
	return list(items), err
}

func inputDict(dec *jsontext.Decoder, levels int) (*wire.Value, error) {
	var pairs []*wire.Pair
	for dec.PeekKind() != '}' {
		key, err := inputValue(dec, levels) // the decoder takes only a string here
		if err != nil {
			return nil, err
		}
		value, err := inputValue(dec, levels)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, &wire.Pair{Key: key, Value: value})
	}
	_, err := dec.ReadToken()
	return dict(pairs), err
}

func inputNumber(s string) (*wire.Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40q does not fit a float", s)
		}
		return float(f), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(n), nil
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("%.40q is no integer", s)
	}
	big := &wire.BigInt{Negative: n.Sign() < 0, Magnitude: n.Bytes()}
	return &wire.Value{Kind: &wire.Value_Bigint{Bigint: big}}, nil
}
