package validate

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
)

// releases are those of the findings that block.
func releases(fs []schemas.Finding) (all []schemas.Release) {
	for _, f := range fs {
		if f.Severity == schemas.SeverityBlocking {
			all = append(all, f.Releases()...)
		}
	}
	return all
}

// What is said to people in a request can be taken back; what it runs can't.
func TestReleasedProse(t *testing.T) {
	prose := strings.Replace(eraRequest, "the table", "the table of /srv/data", 1)
	_, fs := Request("", []byte(prose), testPolicy())
	p := testPolicy()
	if p.Released = releases(fs); len(p.Released) != 1 || p.Released[0].Rule != "sec.paths.host" {
		t.Fatalf("releases of %+v: %v", fs, p.Released)
	}
	if got, fs := Request("", []byte(prose), p); got == nil {
		t.Errorf("still refused: %+v", fs)
	}
	command := strings.Replace(eraRequest, "--in /in/input.csv", "--in /srv/data", 1)
	_, fs = Request("", []byte(command), testPolicy())
	if got := releases(fs); len(got) > 0 {
		t.Errorf("a command can be released: %+v", got)
	}
	if got, _ := Request("", []byte(command), p); got != nil {
		t.Error("what was released in prose passes in a command")
	}
}
