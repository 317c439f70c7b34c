package contract

import "testing"

type named struct {
	Name string `json:"name"`
	N    int    `json:"n,omitempty"`
}

func TestDecode(t *testing.T) {
	s := NewSchema("args", &named{N: 5}, Between("n", 1, 9), Length("name", 1, 3), Pattern("name", "^[a-z]*$"))
	if got := string(s.Doc.Properties["n"].Default); got != "5" {
		t.Errorf("the default of n is %q", got)
	}
	got := named{N: 5}
	if err := s.Decode([]byte(`{"name":"a"}`), &got); err != nil || got != (named{"a", 5}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"name":""}`, `{"name":"aaaa"}`, `{"name":"A"}`, `{"name":"a","n":0}`,
		`{"name":"a","n":10}`, `{"name":"a","n":1.5}`, `{"name":"a","n":1e999}`, `{"name":"a","n":null}`, `{"name":null}`,
		`{"Name":"a"}`, `{"name":"a","name":"b"}`, `{"name":"a","x":1}`, `{"name":"a"} {}`, "{\"name\":\"\xff\"}"} {
		if err := s.Decode([]byte(bad), &named{}); err == nil {
			t.Errorf("%s fits", bad)
		}
	}
}
