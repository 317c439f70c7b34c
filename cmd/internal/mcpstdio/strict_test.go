package mcpstdio

import (
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	for _, good := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `{}`, ` {"id":[{"b":1},{"b":2}],"params":{"b":1}} `} {
		if err := Strict([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{``, `[]`, `[{}]`, `1`, `{`, `{"id"}`, `{"id":1,"id":2}`, `{"id":{"b":1,"b":2}}`, `{"id":1}{}`,
		`{"id":1,"\u0069d":2}`, "{\"id\":\"\xff\"}", `{"Params":{}}`, strings.Repeat(`{"id":`, 100) + "1" + strings.Repeat("}", 100),
		strings.Repeat("[", 100000), `{"id":1,}`, `{'id':1}`, "null"} {
		if err := Strict([]byte(bad)); err == nil {
			t.Errorf("accepted: %.60s", bad)
		}
	}
}
