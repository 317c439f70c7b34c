package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Version is that of the Tool Runtime specification.
const Version = "1.0.0"

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
	doc.Comment = "Tool Runtime " + Version
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
	for name, p := range doc.Properties {
		if slices.Contains(doc.Required, name) {
			p.Types = slices.DeleteFunc(p.Types, func(t string) bool { return t == "null" })
		} else if v, ok := values[name]; ok {
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

// plainer takes from what the library says how it names places and values from the inside.
var plainer = strings.NewReplacer("validating root: ", "", "validating /properties/", "", "/properties/", ".",
	"<invalid reflect.Value>", "it", "<nil>", "null", "/1 is ", " is ", ".000000", "")

// Decode reads raw into the pointer into: one JSON value without unknown keys, keys of another case or keys given
// twice, that fits the schema. Fields that raw lacks, or gives as null, keep what they have. 10.0 is an integer.
func (s *Schema) Decode(raw []byte, into any) error {
	var instance any
	if err := json.Unmarshal(raw, &instance); err != nil {
		return fmt.Errorf("not one JSON value: %w", err)
	}
	dropNulls(instance, s.Doc)
	if err := unknown(instance, s.Doc); err != nil {
		return err
	}
	if err := s.resolved.Validate(instance); err != nil {
		return errors.New(plainer.Replace(err.Error()))
	}
	raw, err := json.Marshal(instance, json.Deterministic(true))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
}

// unknown names a key of an object that its schema does not have.
func unknown(instance any, s *jsonschema.Schema) error {
	object, _ := instance.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if s.Properties[name] == nil && len(s.PropertyOrder) > 0 {
			return fmt.Errorf("there is no %q%s", Shorten(name, 100), DidYouMean(name, s.PropertyOrder))
		}
	}
	return nil
}

// describe says in a line what properties an object has, and what fits them.
func (s *Schema) describe() string { return describe(s.Doc) }

func describe(s *jsonschema.Schema) string {
	var all []string
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		text := strings.Join(slices.DeleteFunc(append(slices.Clone(p.Types), p.Type), func(t string) bool {
			return t == "" || t == "null"
		}), " or ")
		switch {
		case p.Items != nil && len(p.Items.PropertyOrder) > 0:
			text = "list of {" + describe(p.Items) + "}"
		case len(p.PropertyOrder) > 0:
			text = "{" + describe(p) + "}"
		case len(p.Enum) > 0:
			text = "one of"
			for _, v := range p.Enum {
				if v != "" {
					text += fmt.Sprintf(" %v", v)
				}
			}
		case p.Minimum != nil && p.Maximum != nil:
			text += fmt.Sprintf(" from %.0f to %.0f", *p.Minimum, *p.Maximum)
		case p.Pattern != "" && p.Description != "":
			text += ": " + p.Description
		}
		if slices.Contains(s.Required, name) {
			text += ", required"
		}
		all = append(all, fmt.Sprintf("%s (%s)", name, text))
	}
	return strings.Join(all, ", ")
}

// dropNulls takes out of a value the members that are null, and need not be there.
func dropNulls(v any, s *jsonschema.Schema) {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if inner, given := v[name]; given && inner == nil && !slices.Contains(s.Required, name) {
				delete(v, name)
			} else {
				dropNulls(inner, p)
			}
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner, cmp.Or(s.Items, &jsonschema.Schema{}))
		}
	}
}
