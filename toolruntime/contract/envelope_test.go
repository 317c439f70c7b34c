package contract_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const request = `{"type":"ToolRequest","tool":"file_read","args":{"path":"src/main.rs"},` +
	`"request_id":"uuid","session_id":"sess-123","timestamp":1730822400}`

// The examples of section 2, as the specification prints them.
func TestSpecificationExamples(t *testing.T) {
	for _, line := range []string{
		request,
		`{"type":"ToolResponse","ok":true,"tool":"file_read","request_id":"uuid","duration_ms":34,` +
			`"data":{"content":"fn main() {}","sha256":"…"},"errors":[]}`,
		`{"type":"EventMessage","event":"TaskProgress","request_id":"uuid","progress":{"pct":65,"message":"running tests"}}`,
		`{"type":"ErrorMessage","code":"E_FILE_IO","message":"File not found: src/lib.rs","request_id":"uuid"}`,
		`{"type":"Heartbeat","session_id":"sess-123","timestamp":1730822430}`,
		`{"type":"ToolCancel","request_id":"uuid","session_id":"sess-123","timestamp":1730822430}`, // ours
	} {
		v, err := contract.Decode([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		out, err := contract.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := contract.Decode(out); err != nil || !reflect.DeepEqual(v, again) {
			t.Errorf("%s comes back as %s: %v", line, out, err)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for name, line := range map[string]string{
		"not JSON":          `x`,
		"empty":             ``,
		"a list":            `[]`,
		"no type":           `{}`,
		"another type":      strings.Replace(request, "ToolRequest", "toolrequest", 1),
		"case of a key":     strings.Replace(request, `"tool"`, `"Tool"`, 1),
		"key given twice":   strings.Replace(request, `"tool":`, `"tool":"grep","tool":`, 1),
		"twice in args":     strings.Replace(request, `"path":`, `"path":"x","path":`, 1),
		"unknown key":       strings.Replace(request, `"tool":`, `"x":1,"tool":`, 1),
		"missing key":       strings.Replace(request, `"session_id":"sess-123",`, ``, 1),
		"second value":      request + request,
		"args a list":       strings.Replace(request, `{"path":"src/main.rs"}`, `[]`, 1),
		"args null":         strings.Replace(request, `{"path":"src/main.rs"}`, `null`, 1),
		"a fraction":        strings.Replace(request, `1730822400`, `1.5`, 1),
		"a huge number":     strings.Replace(request, `1730822400`, `1e999`, 1),
		"tool of the shell": strings.Replace(request, `file_read`, `a;b`, 1),
		"id with a newline": strings.Replace(request, `uuid`, `a\nb`, 1),
		"no UTF-8":          strings.Replace(request, `main.rs`, "\xff", 1),
		"half a surrogate":  strings.Replace(request, `main.rs`, `\ud800`, 1),
		"deep":              strings.Replace(request, `"src/main.rs"`, strings.Repeat("[", 1<<20), 1),
	} {
		v, err := contract.Decode([]byte(line))
		var e *contract.Error
		if v != nil || !errors.As(err, &e) || e.Code != contract.Validation {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
	}
}

// The examples of RFC 8785, sections 3.2.2 and 3.2.3, and what an independent program says of them.
func TestArgsHash(t *testing.T) {
	a, err := contract.ArgsHash([]byte(`{"b":1.0,"a":[1e3,"\u20ac"]}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := contract.ArgsHash([]byte(" {\n\"a\" : [1000, \"€\"], \"b\":1}"))
	if err != nil || a != b {
		t.Errorf("two spellings of one value: %s and %s, %v", a, b, err)
	}
	// printf '{"a":[1000,"€"],"b":1}' | sha256sum
	if want := "ffa5dc8883bec140676a970635da09ba77fd7f0d4b840113b7912293482adca3"; a != want {
		t.Errorf("got %s, want %s", a, want)
	}
	if c, _ := contract.ArgsHash([]byte(`{"a":[1000,"€"],"b":2}`)); c == a {
		t.Error("another value has the same hash")
	}
}

func TestRequestIDOf(t *testing.T) {
	for line, want := range map[string]string{
		request: "uuid", `{"request_id":"a","x":1}`: "a", `{"request_id":"\u001b[2J"}`: "", `x`: "", `{"request_id":1}`: "",
	} {
		if got := contract.RequestIDOf([]byte(line)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestCodes(t *testing.T) {
	want := "E_FILE_IO E_AST_PARSE E_AST_EDIT E_VALIDATION_FAIL E_GIT E_HTTP E_SHELL E_POLICY E_TIMEOUT E_INTERNAL"
	var got []string
	for _, c := range contract.Codes {
		got = append(got, string(c.Code))
		if c.Cause == "" || c.Hint == "" {
			t.Errorf("%s has no cause or mend", c.Code)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
}
