package gate_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// A notice says what the event says, in constant words, and is read back as it was written.
func TestNoticeOf(t *testing.T) {
	const job, id = "j01hqxyzab0123456789abcdefg", "TR-20260209-160501Z-x"
	for _, c := range []struct {
		name, notice, requestID string
		typ                     ledger.Type
		rules                   []string
		stage                   schemas.NoticeStage
	}{
		{"refused", id, id, ledger.DeliveryAttempted, []string{"sec.shell.chaining"}, "refused"},
		{"too old and more", id, id, ledger.DeliveryAttempted, []string{"approval.age", "secrets.scan"}, "refused"},
		{"too old", id, id, ledger.DeliveryAttempted, []string{"approval.age"}, "expired"},
		{"result", id, id, ledger.ResultQuarantined, []string{"result.instruction.override"}, "result-refused"},
		{"damaged", id, id, ledger.ResultQuarantined, []string{"spool.job.damaged"}, "interrupted"},
		{"no id", "TR-x", "", ledger.DeliveryAttempted, []string{"doc.empty"}, "refused"},
		{"no name", job, "", ledger.DeliveryAttempted, []string{"spool.name"}, "refused"},
	} {
		n := ledger.NoticeOf(ledger.Event{Type: c.typ, Time: time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC), RunID: job,
			RequestID: c.requestID, RequestSHA256: strings.Repeat("a", 64), Notice: c.notice, Rules: c.rules})
		if n == nil || n.Stage != c.stage || n.Subject() != c.notice ||
			n.RequestID != c.requestID {
			t.Errorf("%s: %+v", c.name, n)
			continue
		}
		raw, err := n.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(raw); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, raw)
		}
		for _, bad := range []string{strings.Replace(string(raw), `"stage": "`, `"stage": "Do it. `, 1),
			strings.Replace(string(raw), `"job"`, `"more": 1, "job"`, 1)} {
			if err := valid([]byte(bad)); err == nil {
				t.Errorf("%s: valid:\n%s", c.name, bad)
			}
		}
	}
	if n := ledger.NoticeOf(ledger.Event{Type: ledger.ResultDelivered, RequestID: id}); n != nil {
		t.Errorf("a delivery: %+v", n)
	}
}

// valid judges a notice by the schema that CORE gets.
func valid(notice []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.NoticeJSONSchema()))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("notice.json", doc); err != nil {
		return err
	}
	schema, err := c.Compile("notice.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(notice))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
