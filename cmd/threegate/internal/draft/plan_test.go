package draft

import (
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

func TestPlan(t *testing.T) {
	now := time.Unix(1770656400, 0)
	whole := `{"type":"ToolRequest", "tool":"fs_list","args":{"glob":"**"},"request_id":"a","session_id":"s","timestamp":1}`
	got, err := Plan("p", []byte(whole+"\n\n"+`{"tool":"file_read","args":{"path":"a.txt"}}`+"\r\n"+`{"tool":"git_status"}`), nil, now)
	want := whole + "\n" +
		`{"type":"ToolRequest","tool":"file_read","args":{"path":"a.txt"},"request_id":"3","session_id":"s","timestamp":1770656400}` +
		"\n" + `{"type":"ToolRequest","tool":"git_status","args":{},"request_id":"4","session_id":"s","timestamp":1770656400}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if calls, err := contract.ReadPlan(got); err != nil || len(calls) != 3 {
		t.Errorf("%v, %v", calls, err)
	}
	for name, c := range map[string]struct{ plan, want string }{
		"no tool":       {`{"tool":"rm","args":{}}`, `p:1: there is no tool "rm"`},
		"no name":       {`{"args":{}}`, `p:1: ToolRequest: `},
		"unknown key":   {`{"tool":"fs_list","arg":{}}`, `p:1: it is not a call: `},
		"key twice":     {`{"tool":"fs_list","tool":"fs_list"}`, `p:1: it is not a call: `},
		"argument":      {"\n" + `{"tool":"file_read","args":{"file":"a"}}`, `p:2: arguments of file_read: `},
		"escape":        {`{"tool":"file_write","args":{"path":"../a","content":""}}`, `p:1: `},
		"other type":    {`{"type":"Heartbeat","tool":"fs_list"}`, `p:1: `},
		"no JSON":       {"- fs_list", `p:1: it is not a call: `},
		"same id":       {`{"tool":"git_status","request_id":"2"}` + "\n" + `{"tool":"git_status"}`, `p:2: the request_id "2" stands in line 1`},
		"two sessions":  {`{"tool":"git_status","session_id":"a"}` + "\n" + `{"tool":"git_status","session_id":"b"}`, `p:2: a plan has one`},
		"nothing":       {"\n", "p: the plan is empty"},
		"invalid UTF-8": {"{\"tool\":\"file_read\",\"args\":{\"path\":\"\xff\"}}", `p:1: it is not a call: `},
		"regex":         {`{"tool":"grep","args":{"pattern":"(?<=x)y"}}`, `p:1: the pattern does not compile`},
		"absolute path": {`{"tool":"file_read","args":{"path":"/etc/passwd"}}`, `p:1: the path`},
		"patch":         {`{"tool":"file_patch","args":{"path":"a","unified_diff":"@@ -1 +1 @@\n-a\n+b\n"}}`, `p:1: the patch has no lines`},
		"pipe":          {`{"tool":"shell_exec","args":{"cmd":"a | b"}}`, `p:1: the command has an operator`},
		"refspec":       {`{"tool":"git_push","args":{"refspec":"HEAD"}}`, `p:1: the refspec`},
		"too many":      {strings.Repeat(`{"tool":"git_status"}`+"\n", contract.MaxCalls+1), "p: a plan has 10000 calls at most"},
	} {
		if got, err := Plan("p", []byte(c.plan), nil, now); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	rules, err := registry.Parse([]byte("version: 1\nshell_allow: ['^python ']\nnetwork: {allowed_domains: [example.org]}\n" +
		"validators: [{rule: commit.message.conventional, enforcement: blocking}, {rule: branch.naming.convention, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`{"tool":"shell_exec","args":{"cmd":"pytest -q"}}`:                    "no pattern of shell_allow",
		`{"tool":"shell_exec","args":{"cmd":"python x.py"}}`:                  "",
		`{"tool":"curl","args":{"url":"https://example.com/"}}`:               "network.allowed_domains",
		`{"tool":"curl","args":{"url":"https://example.org/"}}`:               "",
		`{"tool":"git_commit","args":{"message":"Fixed it."}}`:                "Conventional Commits",
		`{"tool":"git_checkout","args":{"target":"my branch","create":true}}`: "type/short-name",
		`{"tool":"git_push","args":{"refspec":"HEAD:refs/heads/feat/x"}}`:     "pushes are not allowed",
		`{"tool":"git_pull","args":{"remote":"https://example.com/x.git"}}`:   "network.allowed_domains",
		`{"tool":"git_pull","args":{"remote":"upstream"}}`:                    "",
	} {
		_, err := Plan("p", []byte(call), rules, now)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", call, err)
		}
		if _, err := Plan("p", []byte(call), nil, now); err != nil { // nobody knows the registry
			t.Errorf("%s: %v", call, err)
		}
	}
	// All that is wrong is told at once.
	if _, err := Plan("p", []byte("x\ny"), nil, now); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v", err)
	}
	if _, err := Plan("p", []byte(strings.Repeat("x\n", 1000)), nil, now); strings.Count(err.Error(), "\n") != maxToldLines {
		t.Errorf("%v", err)
	}
}
