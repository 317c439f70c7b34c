package contract_test

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type named struct {
	Name string `json:"name"`
	N    int    `json:"n,omitempty"`
}

func TestDecode(t *testing.T) {
	s := contract.NewSchema("args", &named{N: 5}, contract.Between("n", 1, 9), contract.Length("name", 1, 3), contract.Pattern("name", "^[a-z]*$"))
	if got := string(s.Doc.Properties["n"].Default); got != "5" {
		t.Errorf("the default of n is %q", got)
	}
	got := named{N: 5}
	if err := s.Decode([]byte(`{"name":"a"}`), &got); err != nil || got != (named{"a", 5}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for raw, n := range map[string]int{`{"name":"a","n":null}`: 5, `{"name":"a","n":7.0}`: 7, `{"name":"a","n":0.7e1}`: 7} {
		got := named{N: 5}
		if err := s.Decode([]byte(raw), &got); err != nil || got.N != n {
			t.Errorf("%s: got %+v, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]string{`{"name":null}`: `name: type: it has type "null", want "string"`, `{"name":"a","n":-5}`: "n: minimum: -5 is less than 1",
		`{"name":[null]}`: `name: type: [null] has type "array", want "string"`} {
		if err := s.Decode([]byte(raw), &named{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", raw, err, want)
		}
	}
	type lists struct {
		Paths []string `json:"paths"`
	}
	for _, bad := range []string{`{"paths":null}`, `{"paths":[null]}`} {
		err := contract.NewSchema("lists", &lists{}).Decode([]byte(bad), &lists{})
		if err == nil || !strings.HasPrefix(err.Error(), "paths: ") || strings.Contains(err.Error(), "reflect") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"name":""}`, `{"name":"aaaa"}`, `{"name":"A"}`, `{"name":"a","n":0}`,
		`{"name":"a","n":10}`, `{"name":"a","n":1.5}`, `{"name":"a","n":1e999}`, `{"name":null}`,
		`{"Name":"a"}`, `{"name":"a","name":"b"}`, `{"name":"a","x":1}`, `{"name":"a"} {}`, "{\"name\":\"\xff\"}"} {
		if err := s.Decode([]byte(bad), &named{}); err == nil {
			t.Errorf("%s fits", bad)
		}
	}
}
