package contract

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema (draft 2020-12) of a Go type. The type is the contract: its schema is printed, given to
// clients and checked from the same value.
type Schema struct {
	Doc      *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Adjust narrows a schema beyond what its type says.
type Adjust func(*jsonschema.Schema)

// NewSchema makes the schema of T. Fields with omitempty are optional, and have their default from
// defaults, if that is given. It panics where T is no contract: an error of the programmer.
func NewSchema[T any](title string, defaults *T, adjust ...Adjust) *Schema {
	doc, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[jsontext.Value](): {},
	}})
	if err != nil {
		panic(err)
	}
	doc.Schema = "https://json-schema.org/draft/2020-12/schema"
	doc.Title = title
	if defaults != nil {
		setDefaults(doc, *defaults)
	}
	for _, a := range adjust {
		a(doc)
	}
	resolved, err := doc.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(err)
	}
	return &Schema{doc, resolved}
}

func setDefaults(doc *jsonschema.Schema, defaults any) {
	raw, err := json.Marshal(defaults)
	if err != nil {
		panic(err)
	}
	var values map[string]jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		panic(err)
	}
	required := map[string]bool{}
	for _, name := range doc.Required {
		required[name] = true
	}
	for name, p := range doc.Properties {
		if v, ok := values[name]; ok && !required[name] {
			p.Default = []byte(v)
		}
	}
}

// Between bounds a number.
func Between(name string, least, most float64) Adjust {
	return func(s *jsonschema.Schema) {
		s.Properties[name].Minimum, s.Properties[name].Maximum = &least, &most
	}
}

// Length bounds a string, in characters.
func Length(name string, least, most int) Adjust {
	return func(s *jsonschema.Schema) {
		s.Properties[name].MinLength, s.Properties[name].MaxLength = &least, &most
	}
}

// Items bounds a list, in items.
func Items(name string, least, most int) Adjust {
	return func(s *jsonschema.Schema) {
		s.Properties[name].MinItems, s.Properties[name].MaxItems = &least, &most
	}
}

// Pattern holds a string to a regular expression.
func Pattern(name, pattern string) Adjust {
	return func(s *jsonschema.Schema) { s.Properties[name].Pattern = pattern }
}

// In narrows an object that is a property, or the items of one that is a list.
func In(name string, adjust ...Adjust) Adjust {
	return func(s *jsonschema.Schema) {
		inner := s.Properties[name]
		if inner.Items != nil {
			inner = inner.Items
		}
		for _, a := range adjust {
			a(inner)
		}
	}
}

// OneOf lists the values that a string may have.
func OneOf(name string, values ...any) Adjust {
	return func(s *jsonschema.Schema) { s.Properties[name].Enum = values }
}

// places are the words with which the library names places of a value, from the outside in.
var places = regexp.MustCompile(`validating (?:root: |/properties/)?`)

// Decode reads raw into the pointer into: one JSON value without unknown keys, keys of another
// case or keys given twice, that fits the schema. Fields that raw lacks keep what they have.
func (s *Schema) Decode(raw []byte, into any) error {
	var instance any
	if err := json.Unmarshal(raw, &instance); err != nil {
		return fmt.Errorf("not one JSON value: %w", err)
	}
	if err := s.resolved.Validate(instance); err != nil {
		return errors.New(places.ReplaceAllString(err.Error(), ""))
	}
	return json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
}
