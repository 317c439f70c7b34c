package monty

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

const (
	// maxIntDigits is Python's own limit for turning an int into text.
	maxIntDigits = 4300
	// maxIntBits is about the same: to write a larger one takes very long.
	maxIntBits = maxIntDigits * 3322 / 1000
)

// refusal says which part of a value has no form in JSON.
type refusal struct {
	where string // as [0]["key"], inside the value
	what  string
	why   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the value%s: %s can't be delivered as JSON: %s", r.where, r.what, r.why)
}

func refuse(v *wire.Value, format string, a ...any) *refusal {
	return &refusal{what: typeName(v), why: fmt.Sprintf(format, a...)}
}

// inside adds which part of a container the refusal is about.
func (r *refusal) inside(format string, a ...any) *refusal {
	r.where = fmt.Sprintf(format, a...) + r.where
	return r
}

// encodeResult renders v as JSON, as the package comment lists.
func encodeResult(v *wire.Value) ([]byte, error) {
	var r result
	if err := r.value(v); err != nil {
		return nil, err
	}
	r.WriteByte('\n')
	return r.Bytes(), nil
}

// result is the JSON of a value.
type result struct{ bytes.Buffer }

func (r *result) value(v *wire.Value) *refusal {
	switch k := v.GetKind().(type) {
	case *wire.Value_None:
		r.WriteString("null")
	case *wire.Value_Boolean:
		r.WriteString(strconv.FormatBool(k.Boolean))
	case *wire.Value_Int:
		r.WriteString(strconv.FormatInt(k.Int, 10))
	case *wire.Value_Bigint:
		return r.bigInt(v)
	case *wire.Value_Float:
		if math.IsNaN(k.Float) || math.IsInf(k.Float, 0) {
			return refuse(v, "it is nan or infinite, JSON has no such number")
		}
		r.WriteString(floatText(k.Float))
	case *wire.Value_Str:
		r.str(k.Str)
	case *wire.Value_Path:
		r.str(k.Path)
	case *wire.Value_Bytes:
		r.WriteString(`{"base64": "` + base64.StdEncoding.EncodeToString(k.Bytes) + `"}`)
	case *wire.Value_List:
		return r.array(k.List.GetItems())
	case *wire.Value_Tuple:
		return r.array(k.Tuple.GetItems())
	case *wire.Value_Set:
		return r.set(k.Set.GetItems())
	case *wire.Value_FrozenSet:
		return r.set(k.FrozenSet.GetItems())
	case *wire.Value_Dict:
		return r.dict(k.Dict.GetPairs())
	case *wire.Value_NamedTuple:
		return r.namedTuple(v)
	case *wire.Value_ClassInstance:
		if !k.ClassInstance.GetType().GetIsDataclass() {
			return refuse(v, "only instances of dataclasses are; build a dict of what matters")
		}
		return r.dict(k.ClassInstance.GetAttrs().GetPairs())
	case *wire.Value_Cycle:
		return refuse(v, "JSON has no references")
	default:
		return r.time(v)
	}
	return nil
}

// time writes a value of package datetime, and refuses every other.
func (r *result) time(v *wire.Value) *refusal {
	switch k := v.GetKind().(type) {
	case *wire.Value_Date:
		r.str(isoDate(k.Date))
	case *wire.Value_Time:
		r.str(isoTime(k.Time, k.Time.OffsetSeconds))
	case *wire.Value_Datetime:
		r.str(isoDate(k.Datetime) + "T" + isoTime(k.Datetime, k.Datetime.OffsetSeconds))
	case *wire.Value_Timedelta:
		r.WriteString(deltaText(k.Timedelta))
	case *wire.Value_Timezone:
		r.str(zoneText(k.Timezone))
	default:
		return refuse(v, "use a value of a plain type, or None as the last line")
	}
	return nil
}

func (r *result) bigInt(v *wire.Value) *refusal {
	n := new(big.Int).SetBytes(v.GetBigint().GetMagnitude())
	if n.BitLen() > maxIntBits {
		return refuse(v, "it has more than %d digits, which Python turns into no text either", maxIntDigits)
	}
	if v.GetBigint().GetNegative() {
		n.Neg(n)
	}
	r.WriteString(n.String())
	return nil
}

func (r *result) array(items []*wire.Value) *refusal {
	r.WriteByte('[')
	for i, v := range items {
		if i > 0 {
			r.WriteString(", ")
		}
		if err := r.value(v); err != nil {
			return err.inside("[%d]", i)
		}
	}
	r.WriteByte(']')
	return nil
}

// set sorts the members, so that the same set always looks the same: numbers by size, then
// everything else by its JSON.
func (r *result) set(items []*wire.Value) *refusal {
	type member struct {
		text   string
		number float64
	}
	members := make([]member, len(items))
	for i, v := range items {
		var m result
		if err := m.value(v); err != nil {
			return err.inside("[%d]", i)
		}
		members[i] = member{m.String(), math.Inf(1)}
		if n, err := strconv.ParseFloat(m.String(), 64); err == nil {
			members[i].number = n
		}
	}
	slices.SortFunc(members, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.text, y.text))
	})
	r.WriteByte('[')
	for i, m := range members {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(m.text)
	}
	r.WriteByte(']')
	return nil
}

func (r *result) namedTuple(v *wire.Value) *refusal {
	names, values := v.GetNamedTuple().GetFieldNames(), v.GetNamedTuple().GetValues()
	if len(names) != len(values) {
		return refuse(v, "it has %d names for %d values", len(names), len(values))
	}
	pairs := make([]*wire.Pair, len(values))
	for i := range values {
		pairs[i] = &wire.Pair{Key: str(names[i]), Value: values[i]}
	}
	return r.dict(pairs)
}

func (r *result) dict(pairs []*wire.Pair) *refusal {
	r.WriteByte('{')
	seen := make(map[string]bool, len(pairs))
	for i, p := range pairs {
		key, err := keyText(p.GetKey())
		if err != nil {
			return err
		}
		if seen[key] {
			return &refusal{what: "the key " + clip(key), why: "it is there twice"}
		}
		seen[key] = true
		if i > 0 {
			r.WriteString(", ")
		}
		r.str(key)
		r.WriteString(": ")
		if err := r.value(p.GetValue()); err != nil {
			return err.inside("[%.40q]", key)
		}
	}
	r.WriteByte('}')
	return nil
}

// keyText is a key as text: what is a string in JSON as it is, a number, a bool or None as its JSON.
func keyText(v *wire.Value) (string, *refusal) {
	var r result
	if err := r.value(v); err != nil {
		return "", &refusal{what: "a key of type " + typeName(v), why: err.why}
	}
	switch text := r.String(); text[0] {
	case '"':
		unquoted, _ := jsontext.AppendUnquote(nil, r.Bytes()) // r.str wrote it
		return string(unquoted), nil
	case '{', '[':
		return "", &refusal{what: "a key of type " + typeName(v), why: "keys must be str or plain values, use str(key)"}
	default:
		return text, nil
	}
}

func (r *result) str(s string) {
	enc := json.NewEncoder(r)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string and a Buffer can't fail
	r.Truncate(r.Len() - 1)
}

// floatText is Python's repr of a finite float.
func floatText(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
