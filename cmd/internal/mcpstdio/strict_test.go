package mcpstdio

import (
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	call := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	for _, good := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, call("0"), call("-7"), call(`""`), call(`"1.5"`),
		call("999999999999999"), call("null"), ` {"jsonrpc":"2.0","method":"x","params":{"a":[{"b":1},{"b":2}]}} `, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		if err := Strict([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{``, `[]`, `[{}]`, `1`, `{`, `{"id"}`, `{"id":1,"id":2}`, `{"id":{"b":1,"b":2}}`, `{"id":1}{}`,
		`{"id":1,"\u0069d":2}`, "{\"id\":\"\xff\"}", `{"Params":{}}`, strings.Repeat(`{"id":`, 100) + "1" + strings.Repeat("}", 100),
		strings.Repeat("[", 100000), `{"id":1,}`, `{'id':1}`, "null",
		// a server that reads these ends, or answers another call
		`{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"error":5}`, call(`{"a":1}`), call("[1]"), call("true"), call("1.5"), call("1e3"), call("1e400"),
		call("99999999999999999999"), call("-0"), call("9007199254740993")} {
		if err := Strict([]byte(bad)); err == nil {
			t.Errorf("accepted: %.60s", bad)
		}
	}
}

// TestOneCallOfAnID: a second call of an id that has no answer yet is refused, however the id is spelled; after the answer
// it may come again. A server that got both could answer one of them only, and an end of the input would wait for it.
func TestOneCallOfAnID(t *testing.T) {
	var out strings.Builder
	l := &locked{w: &out, open: map[string]bool{}, idle: make(chan struct{}, 1)}
	for _, c := range []struct {
		line    string
		refused bool
	}{{`{"id":1,"method":"a"}`, false}, {`{"id":1,"method":"a"}`, true}, {`{"id":"1","method":"a"}`, false}, {`{"id":"\u0031","method":"a"}`, true},
		{`{"method":"a"}`, false}, {`{"id":null,"method":"a"}`, false}, {`{"id":1,"result":{}}`, false}} {
		if err := l.expect([]byte(c.line)); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	for _, answer := range []string{`{"id":1,"result":{}}`, `{"id":"1","error":{}}`, `{"id":"other","result":{}}`} {
		if _, err := l.Write([]byte(answer)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.expect([]byte(`{"id":1,"method":"a"}`)); err != nil || len(l.open) != 1 {
		t.Errorf("%v, %v", err, l.open)
	}
}
