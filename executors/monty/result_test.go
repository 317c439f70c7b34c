package monty

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// What only an interpreter that was taken over sends is refused by name, or is a value like any.
func TestHostileValues(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ text, want string }{
		{``, "a value of no known type can't be delivered"},
		{`list { items {} items { int: 1 } }`, "the value[0]: a value of no known type"},
		{`dict { pairs {} }`, "a key of type a value of no known type"},
		{`dict { pairs { key { dict {} } value { int: 1 } } }`, "a key of type dict can't be delivered"},
		{`dict { pairs { key { timezone { name: "a\nb" } } value { int: 1 } } }`, `{"a\nb": 1}`},
		{`dict { pairs { key { str: "k" } } }`, `the value["k"]: a value of no known type`},
		{`dict { pairs { key { str: "k" } value { int: 1 } } pairs { key { str: "k" } } }`, "it is there twice"},
		{`named_tuple { type_name: "T" field_names: "x" }`, "named tuple T can't be delivered as JSON: it has 1 names"},
		{`named_tuple { values { int: 1 } }`, "it has 0 names for 1 values"},
		{`class_instance {}`, " object can't be delivered"},
		{`class_instance { type { is_dataclass: true } }`, "{}"},
		{`builtin_function: "le\x1b[2Jn"`, `builtin function "le\x1b[2Jn" can't`},
		{`repr: "` + long + `"`, "object " + long[:80] + "... can't"},
		{`bigint {}`, "0"},
		{`date { month: -1 day: 99 }`, `"0000--1-99"`},
		{`time { hour: 99 offset_seconds: -90061 }`, `"99:00:00-25:01:01"`},
		{`timedelta { days: -2147483648 microseconds: -1 }`, "-185542587187200.000001"},
		{`timezone { name: "a\nb" }`, `"a\nb"`},
	} {
		v := &wire.Value{}
		if err := prototext.Unmarshal([]byte(c.text), v); err != nil {
			t.Fatal(err)
		}
		out, err := encodeResult(v)
		if err == nil && strings.TrimSpace(string(out)) != c.want ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.text, out, err, c.want)
		}
	}
}

// FuzzEvent: whatever an interpreter sends, nothing panics, and what is delivered is JSON.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{
		`complete { value { list { items { int: 3 } items { float: 1e300 } items { bigint { magnitude: "\x01\x00" ` +
			`} } } } }`,
		`complete { value { dict { pairs { key { str: "k" } value { set { items { int: 3 } items { float: nan } } ` +
			`} } } } }`,
		`complete { value { tuple { items { date { year: 2024 } } items { datetime { offset_seconds: -5 } } items ` +
			`{ timedelta { days: -1 } } items { timezone {} } } } }`,
		`complete { value { class_instance { type { name: "D" is_dataclass: true } attrs { pairs { key { str: "x" ` +
			`} value { bytes: "y" } } } } } }`,
		`error { exception { exc_type: "E" message: "m" traceback { start { line: 1 column: 9 } end { line: 1 } ` +
			`preview_line: "  x" } } }`,
	} {
		ev := &wire.Event{}
		if err := prototext.Unmarshal([]byte(text), ev); err != nil {
			f.Fatal(err)
		}
		msg, err := proto.Marshal(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		ev, err := wire.Decode(msg)
		if err != nil {
			return
		}
		_ = unexpected(ev)
		_ = traceback(ev.GetError().GetException())
		out, err := encodeResult(ev.GetComplete().GetValue())
		if err == nil && !json.Valid(out) {
			t.Fatalf("%v gives %q", ev, out)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Fatalf("%v gives the message %q", ev, err)
		}
	})
}
