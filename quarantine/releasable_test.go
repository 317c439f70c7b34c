package quarantine

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
)

func TestReleasable(t *testing.T) {
	text := schemas.Finding{Rule: "secrets.scan", Severity: schemas.SeverityBlocking, Span: "aa bb"}
	other := schemas.Finding{Rule: "approval.missing", Severity: schemas.SeverityBlocking}
	noted := schemas.Finding{Rule: "sec.hidden", Severity: schemas.SeverityWarning}
	for _, c := range []struct {
		findings []schemas.Finding
		held     bool
		first    int
	}{
		{[]schemas.Finding{noted, text}, true, 0},
		{[]schemas.Finding{text, noted, other}, false, 3},
		{[]schemas.Finding{noted}, false, 0},
	} {
		raw, people, err := Reasons{Item: "x", Kind: schemas.KindRequest, Findings: c.findings}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(raw)
		if err != nil || r.MayRelease() != c.held || MayRelease(c.findings) != c.held || r.Unreleasable() != c.first {
			t.Errorf("%v: held %v, first %d, %v", c.findings, r.MayRelease(), r.Unreleasable(), err)
		}
		if strings.Contains(string(people), "quarantine release") != c.held {
			t.Errorf("for people:\n%s", people)
		}
		for _, x := range r.Releasable {
			if x.Finding != 2 && x.Finding != 1 || x.Rule != text.Rule {
				t.Errorf("releasable: %+v", x)
			}
		}
	}
	for _, bad := range []string{`{"finding": 0, "rule": "a", "sha256": "x"}`, `{"finding": 1, "rule": "b", "sha256": "x"}`,
		`{"finding": 2, "rule": "a", "sha256": "x"}`} {
		doc := `{"version": 1, "item": "x", "kind": "request", "stage": "validate", "original_name": "", "inbox": "",
			"size": 0, "received_at": "2026-02-09T16:05:01Z", "refused_at": "2026-02-09T16:05:01Z",
			"findings": [{"rule": "a", "severity": "blocking"}], "releasable": [` + bad + `]}`
		if _, err := Decode([]byte(doc)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
