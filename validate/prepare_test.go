package validate

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/threegate/tool-exec/schemas"
)

// The documents that Prepare judges are good ones: a check that ends early prepares
// little.
func TestPreparedDocumentsAreGood(t *testing.T) {
	p := DefaultPolicy(preparedAt)
	if _, fs := Request(preparedName, []byte(preparedRequest), p); len(fs) > 0 {
		t.Errorf("the request: %v", fs)
	}
	if _, fs := Result("", []byte(preparedResult), p); len(fs) > 0 {
		t.Errorf("the result: %v", fs)
	}
}

// After Prepare the first documents cost what the next ones do, reckoned by what is
// allocated: compiled rules are megabytes, a document is not. Only a process of its own has judged none.
func TestPrepare(t *testing.T) {
	const child = "THREEGATE_TEST_PREPARE"
	switch os.Getenv(child) {
	case "":
		for _, how := range []string{"prepared", "unprepared"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestPrepare$", "-test.v")
			cmd.Env = append(os.Environ(), child+"="+how)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", how, err, out)
			}
		}
		return
	case "prepared":
		Prepare()
	}
	const much = 2 << 20
	request := readFile(t, "../testdata/examples/good/csv-group-statistics/TR-20260209-090210Z-weather-by-station.md")
	result := readFile(t, "testdata/result.golden.md")
	p := DefaultPolicy(preparedAt)
	took := allocated(func() {
		if r, fs := Request("TR-20260209-090210Z-weather-by-station.md", request, p); r == nil {
			t.Errorf("the request: %v", fs)
		}
		if _, fs := Result("", result, p); schemas.VerdictOf(fs) == schemas.VerdictReject {
			t.Errorf("the result: %v", fs)
		}
	})
	if prepared := os.Getenv(child) == "prepared"; prepared != (took < much) {
		t.Errorf("prepared %v: %d bytes were allocated; the limit that tells is %d", prepared, took, much)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
