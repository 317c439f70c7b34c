package schemas_test

import (
	"testing"

	"github.com/threegate/tool-exec/schemas"
)

func TestCauseOf(t *testing.T) {
	for _, tt := range []struct {
		ended         schemas.Cause
		code, missing int
		cut           bool
		want          schemas.Cause
	}{
		{"none", 0, 0, false, "none"},
		{"none", 0, 1, false, "missing-output"},
		{"none", 0, 2, true, "missing-output"},
		{"none", 0, 0, true, "output"},
		{"none", 3, 1, true, "exit"},
		{"start", 127, 1, false, "start"},
		{"cpu", 137, 1, true, "cpu"},
		{"interrupted", -1, 1, false, "interrupted"},
		{"pids", 1, 0, false, "processes"}, // an older word
		// What was decided stays.
		{"exit", 3, 0, false, "exit"},
		{"output", 0, 0, true, "output"},
		{"missing-output", 0, 1, false, "missing-output"},
	} {
		if got := schemas.CauseOf(tt.ended, tt.code, tt.missing, tt.cut); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
