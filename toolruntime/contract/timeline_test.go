package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

func sample(t *testing.T, calls int) (plan []*contract.ToolRequest, text string) {
	t.Helper()
	var requests strings.Builder
	for i := range calls {
		args := fmt.Sprintf(`{"path":"a%d"}`, i)
		fmt.Fprintf(&requests, `{"type":"ToolRequest","tool":"file_read","args":%s,"request_id":"r%d","session_id":"s","timestamp":1}`+"\n",
			args, i)
		hash, err := contract.ArgsHash([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		line, err := contract.Entry{"file_read", hash, 1730822400.5, 1730822401, contract.CodeOK, 12}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		text += string(line)
	}
	plan, err := contract.ReadPlan([]byte(requests.String()))
	if err != nil {
		t.Fatal(err)
	}
	return plan, text
}

// TestEveryByteOfATimelineCounts: what is changed in it can't be read, or does not fit its plan, or is another time,
// code or number of bytes, which a digest tells.
func TestEveryByteOfATimelineCounts(t *testing.T) {
	plan, text := sample(t, 3)
	if entries, err := contract.ParseTimeline([]byte(text)); err != nil || len(contract.CompareTimeline(plan, entries, true)) > 0 || contract.CountCodes(entries)[contract.CodeOK] != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for i := range len(text) {
		for _, to := range []byte{text[i] ^ 1, text[i] ^ 0x20, '\n', 0} {
			changed := []byte(text)
			changed[i] = to
			if string(changed) == text {
				continue
			}
			entries, err := contract.ParseTimeline(changed)
			var again []byte
			for _, e := range entries {
				line, _ := e.Encode()
				again = append(again, line...)
			}
			if err == nil && string(again) != string(changed) {
				t.Errorf("byte %d as %q: what was read is not what stands there", i, to)
			}
		}
	}
}

func TestWhatIsNoTimeline(t *testing.T) {
	_, text := sample(t, 1)
	with := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("no %q in %q", from, text)
		}
		return strings.Replace(text, from, to, 1)
	}
	for name, s := range map[string]string{
		"part of a line":   text + text[:len(text)-1],
		"an empty line":    text + "\n",
		"another code":     with(`"OK"`, `"E_NONE"`),
		"another tool":     with(`file_read`, `../x`),
		"another hash":     with(`"args_hash":"`, `"args_hash":"A`),
		"a key more":       with(`"bytes"`, `"args":"x","bytes"`),
		"a key twice":      with(`"bytes"`, `"code":"OK","bytes"`),
		"another spelling": with(`"bytes":12`, `"bytes": 12`),
		"a negative":       with(`"bytes":12`, `"bytes":-12`),
		"a late time":      with(`1730822401`, `1e300`),
		"an early time":    with(`1730822401`, `-1`),
		"a long line":      with(`"file_read"`, `"`+strings.Repeat("a", 400)+`"`),
		"too many calls":   strings.Repeat(text, contract.MaxCalls+1),
		"no UTF-8":         with(`file_read`, "file\xff"),
	} {
		if entries, err := contract.ParseTimeline([]byte(s)); err == nil {
			t.Errorf("%s: %d entries", name, len(entries))
		}
	}
	if n := len(strings.Repeat(text, contract.MaxCalls)); n > contract.MaxTimeline {
		t.Errorf("%d calls have %d bytes", contract.MaxCalls, n)
	}
}

func TestCompare(t *testing.T) {
	plan, text := sample(t, 3)
	entries, err := contract.ParseTimeline([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	failed := append([]contract.Entry{}, entries[:2]...)
	failed[1].Code = "E_FILE_IO"
	other := append([]contract.Entry{}, entries...)
	other[1].Tool = "grep"
	for name, c := range map[string]struct {
		entries []contract.Entry
		ended   bool
		want    int
	}{
		"killed":           {entries[:2], false, 0},
		"ends early":       {entries[:2], true, 1},
		"ends by an error": {failed, true, 0},
		"none":             {nil, true, 1},
		"swapped":          {[]contract.Entry{entries[1], entries[0], entries[2]}, true, 2},
		"another tool":     {other, true, 1},
		"more":             {append(entries[:3:3], entries[0], entries[0]), true, 1},
	} {
		if got := contract.CompareTimeline(plan, c.entries, c.ended); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
