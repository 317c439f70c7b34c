package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
)

// TestDeadRuns: a private node whose run lives is left alone, one whose run is dead is removed,
// and a link is neither followed nor removed.
func TestDeadRuns(t *testing.T) {
	l := &config.Node{Dir: t.TempDir()}
	if dead, alive, err := deadRuns(l); err != nil || len(dead)+alive > 0 {
		t.Fatalf("a node without runs: %d dead, %d alive, %v", len(dead), alive, err)
	}
	living, err := makePrivate(l)
	if err != nil {
		t.Fatal(err)
	}
	defer living.lock.Close()
	killed, err := makePrivate(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	link := filepath.Join(l.Dir, runsDir, "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	removeDeadRuns(t.Context(), l, slog.New(slog.NewTextHandler(&log, nil)))
	for path, want := range map[string]bool{living.cfg.Dir: true, killed.cfg.Dir: false, link: true, elsewhere: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	if !strings.Contains(log.String(), killed.cfg.Dir) || strings.Contains(log.String(), living.cfg.Dir) {
		t.Errorf("log: %s", log.String())
	}
	// The next run finds the living one only.
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if dead, alive, err := deadRuns(l); err != nil || len(dead) > 0 || alive != 1 {
		t.Errorf("%d dead, %d alive, %v", len(dead), alive, err)
	}
}
