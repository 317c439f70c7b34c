package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

func TestExport(t *testing.T) {
	dir := t.TempDir()
	token := "ghp_" + "x9KdLq2mZ7RtYw4BvNc8HsJf1PgUe6AoXi3T"
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "out"), 0o700),
		os.WriteFile(filepath.Join(dir, "out", "a.txt"), []byte("x\ntoken "+token+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	blocks := func(rule, file string) schemas.Finding {
		return schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, File: file, Line: 2}
	}
	it := quarantine.Item{ID: "j1", Dir: dir, Kind: schemas.KindResult, Reasons: &quarantine.Reasons{
		Findings: []schemas.Finding{blocks("result.artifact.type", "out/a.txt"), blocks("secrets.scan", "out/a.txt"),
			blocks("secrets.scan", "../../etc/passwd")},
		Releasable: []quarantine.Releasable{{Finding: 2}, {Finding: 2}, {Finding: 3}}}}
	export := func(number int) (string, error) {
		var out bytes.Buffer
		a := &app{cli.New(nil, &out, &bytes.Buffer{})}
		err := a.export(it, number)
		return out.String(), err
	}
	if got, err := export(2); err != nil || !strings.HasPrefix(got, "== good block\ntoken ghp_") || strings.Contains(got, token) {
		t.Errorf("%q, %v", got, err)
	}
	for _, number := range []int{0, 1, 3, 9} {
		if got, err := export(number); err == nil || got != "" {
			t.Errorf("%d: %q, %v", number, got, err)
		}
	}
	it.Reasons.Releasable = it.Reasons.Releasable[:2]
	if _, err := export(0); err != nil {
		t.Errorf("the only one: %v", err)
	}
}
