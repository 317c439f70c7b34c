package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify changes what a plan or a timeline says of tools and arguments, byte by byte.
func TestVerify(t *testing.T) {
	b := newBench(t)
	plan := b.plan(`file_write {"path":"a","content":"x"}`, `file_read {"path":"a"}`)
	if code, _, errs := b.run(plan); code != exitOK {
		t.Fatal(errs)
	}
	timeline := b.read(filepath.Join(b.out, "timeline.jsonl"))
	try := func(plan, timeline string) (int, string) {
		var out, errs bytes.Buffer
		code := run([]string{"verify", b.write("p", plan), b.write("t", timeline)}, nil, &out, &errs)
		return code, out.String() + errs.String()
	}
	asRun := b.read(plan)
	if code, out := try(asRun, timeline); code != exitOK || out != "2 of 2 calls were made, as the plan has them\n" {
		t.Errorf("code %d, %q", code, out)
	}
	if code, out := try(strings.Replace(asRun, `"path":"a","content":"x"`, ` "content" : "\u0078", "path":"a" `, 1), timeline); code != exitOK {
		t.Errorf("the same arguments in another spelling: code %d, %q", code, out)
	}
	flip := func(s, from, to string, check func(string) (int, string)) {
		for i := strings.Index(s, from) + len(from); !strings.HasPrefix(s[i:], to); i++ {
			changed := []byte(s)
			changed[i] ^= 1
			if code, out := check(string(changed)); code == exitOK {
				t.Errorf("byte %d of %q was changed: %q", i, s, out)
			}
		}
	}
	flip(asRun, `"args":`, `,"request_id"`, func(s string) (int, string) { return try(s, timeline) })
	flip(asRun, `"tool":`, `,"args"`, func(s string) (int, string) { return try(s, timeline) })
	flip(timeline, `{`, `,"start_ts"`, func(s string) (int, string) { return try(asRun, s) })
	first := timeline[:strings.Index(timeline, "\n")+1]
	for name, s := range map[string]string{"ends early": first, "empty": "", "a call more": timeline + first, "other order": timeline[len(first):] + first} {
		if code, out := try(asRun, s); code != exitReject || out == "" {
			t.Errorf("%s: code %d, %q", name, code, out)
		}
	}
	if code, out := try(asRun, strings.Replace(first, `"code":"OK"`, `"code":"E_FILE_IO"`, 1)); code != exitOK {
		t.Errorf("ended by a failure: code %d, %q", code, out)
	}
	if code, _ := try(asRun, "x"); code != exitTrouble {
		t.Errorf("no timeline: code %d", code)
	}
}
