package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	wire "github.com/threegate/tool-exec/schemas/openwop"
)

// Every type of event either becomes run events, or gate/openwop.Unmapped says why not. A new one
// that readers of OpenWOP need not see is one line there.
func TestEachTypeIsMappedOrNot(t *testing.T) {
	const run = "j01m7y2bdpdcrsgyvat4hpvd7tk"
	shown := func(types ...ledger.Type) (n int) {
		var p openwop.Projector
		for _, typ := range types {
			if err := p.Project(ledger.Event{Type: typ, RunID: run, Cause: schemas.CauseTime, LimitMS: 1},
				func(wire.Event) error { n++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	for _, typ := range ledger.Types {
		mapped := shown(ledger.RunStarted, typ) > shown(ledger.RunStarted) || // at once, or at the end
			shown(ledger.RunStarted, typ, ledger.RunFailed) > shown(ledger.RunStarted, ledger.RunFailed)
		if why := openwop.Unmapped[typ]; mapped == (why != "") {
			t.Errorf("%s: mapped is %v, and gate/openwop.Unmapped says %q", typ, mapped, why)
		}
	}
}

// The hash of an event is that of its canonical form: whoever has it in another spelling finds it.
func TestLinesAreCanonical(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir, ledger.Options{Now: func() time.Time {
		return time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC)
	}}, func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	full := ledger.Event{Type: ledger.EgressDecided}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() { // every field has something in it, also what JSON spells in two ways
		switch f := v.Field(i); {
		case f.Kind() == reflect.String && f.Type() == reflect.TypeFor[string]():
			f.SetString("<a&b>\u2028é\"\\\x01")
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{"<b>", "a"}))
		case f.CanInt():
			f.SetInt(1 << 52)
		}
	}
	code := -1
	full.ExitCode = &code
	if err := l.Append(ledger.Event{Type: ledger.NodeStarted}, full, ledger.Event{Type: ledger.NodeStopped}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	if err := ledger.Lines(dir, func(line []byte) error {
		lines = append(lines, bytes.Clone(line))
		return nil
	}); err != nil || len(lines) != 3 {
		t.Fatal(len(lines), err)
	}
	// The example of RFC 8785, section 3.2.4.
	example := jsontext.Value(`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`)
	const want = `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
		`"string":"€$\u000f\nA'B\"\\\\\"/"}`
	if err := example.Canonicalize(); err != nil || string(example) != want {
		t.Errorf("%v: %s, want %s", err, example, want)
	}
	for _, line := range lines {
		canonical := jsontext.Value(bytes.Clone(line))
		if err := canonical.Canonicalize(); err != nil || !bytes.Equal(canonical, line) {
			t.Errorf("%v: %s is not %s", err, line, canonical)
		}
	}
	var prev []string
	if _, _, err := ledger.Read(dir, func(e ledger.Event) error { prev = append(prev, e.Prev); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, line := range lines[:2] {
		if sum := sha256.Sum256(line); prev[i+1] != hex.EncodeToString(sum[:]) {
			t.Errorf("event %d does not hold the hash of event %d", i+2, i+1)
		}
	}
}

// A record of before lines were canonical still reads: encoding/json wrote its lines, with keys in the order of the
// fields and with <, > and & as escapes. It holds an event of each type that there was.
func TestOldRecordReads(t *testing.T) {
	var seen []ledger.Type
	seq, _, err := ledger.Read("testdata/old", func(e ledger.Event) error {
		switch e.Type {
		case ledger.DeliveryAttempted:
			if e.SubscriptionID != "in<box>&" || !e.Releasable || len(e.Rules) != 2 {
				t.Errorf("%+v", e)
			}
		case ledger.QuarantineRejected:
			if e.By != "Ana <ana@example.org> & é" {
				t.Errorf("%+v", e)
			}
		case ledger.ToolsRecorded:
			if e.Tools == nil || e.Tools.Codes["E_POLICY"] != 1 {
				t.Errorf("%+v", e)
			}
		}
		seen = append(seen, e.Type)
		return nil
	})
	const types = 19
	if err != nil || seq != types || len(seen) != types {
		t.Errorf("%v: %d events: %v", err, seq, seen)
	}
}
