package monty

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

func none() *wire.Value { return &wire.Value{Kind: &wire.Value_None{None: &wire.Empty{}}} }

func boolean(b bool) *wire.Value { return &wire.Value{Kind: &wire.Value_Boolean{Boolean: b}} }

func integer(n int64) *wire.Value { return &wire.Value{Kind: &wire.Value_Int{Int: n}} }

func float(f float64) *wire.Value { return &wire.Value{Kind: &wire.Value_Float{Float: f}} }

func str(s string) *wire.Value { return &wire.Value{Kind: &wire.Value_Str{Str: s}} }

func pathValue(p string) *wire.Value { return &wire.Value{Kind: &wire.Value_Path{Path: p}} }

func list(items []*wire.Value) *wire.Value {
	return &wire.Value{Kind: &wire.Value_List{List: &wire.Items{Items: items}}}
}

func dict(pairs []*wire.Pair) *wire.Value {
	return &wire.Value{Kind: &wire.Value_Dict{Dict: &wire.Dict{Pairs: pairs}}}
}

func today(t time.Time) *wire.Value {
	t = t.UTC()
	return &wire.Value{Kind: &wire.Value_Date{Date: &wire.Date{
		Year: int32(t.Year()), Month: int32(t.Month()), Day: int32(t.Day())}}}
}

// now is a time in a zone, or in UTC without a zone if zone is nil.
func now(t time.Time, zone *wire.TimeZone) *wire.Value {
	t = t.UTC().Add(time.Duration(zone.GetOffsetSeconds()) * time.Second)
	d := &wire.DateTime{
		Year: int32(t.Year()), Month: int32(t.Month()), Day: int32(t.Day()),
		Hour: int32(t.Hour()), Minute: int32(t.Minute()), Second: int32(t.Second()),
		Microsecond: int32(t.Nanosecond() / 1000),
	}
	if zone != nil {
		d.OffsetSeconds, d.TimezoneName = &zone.OffsetSeconds, zone.Name
	}
	return &wire.Value{Kind: &wire.Value_Datetime{Datetime: d}}
}

// typeNames are the types whose values need no further description, by the name of their field.
var typeNames = map[string]string{
	"none": "NoneType", "not_implemented": "NotImplementedType", "boolean": "bool", "bigint": "int",
	"path": "PosixPath", "frozen_set": "frozenset", "cycle": "reference of a container to itself",
}

// typeName names the type of a value for a person, on one line and bounded.
func typeName(v *wire.Value) string {
	switch k := v.GetKind().(type) {
	case nil:
		return "a value of no known type"
	case *wire.Value_NamedTuple:
		return "named tuple " + clip(k.NamedTuple.GetTypeName())
	case *wire.Value_Exception:
		return "exception " + clip(k.Exception.GetExcType())
	case *wire.Value_Type:
		return "class " + clip(k.Type.GetName())
	case *wire.Value_ClassInstance:
		return clip(k.ClassInstance.GetType().GetName()) + " object"
	case *wire.Value_Function:
		return "function " + clip(k.Function.GetName())
	case *wire.Value_BuiltinFunction:
		return "builtin function " + clip(k.BuiltinFunction)
	case *wire.Value_FileHandle:
		return "open file " + clip(k.FileHandle.GetPath())
	case *wire.Value_Repr:
		return "object " + clip(k.Repr)
	}
	field := kindName(v)
	if name, ok := typeNames[field]; ok {
		return name
	}
	return field
}

// kindName is the schema's name for what a message is, or empty if it is nothing that we know.
func kindName(m proto.Message) string {
	r := m.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return ""
	}
	return string(field.Name())
}

const clipLen = 80

// clip makes text of the sandbox safe for one line of a message.
func clip(s string) string {
	more := ""
	if len(s) > clipLen {
		s, more = strings.ToValidUTF8(s[:clipLen], ""), "..."
	}
	q := strconv.QuoteToGraphic(s)
	if q[1:len(q)-1] == s {
		return s + more
	}
	return q + more // quoted: it was not plain text
}
