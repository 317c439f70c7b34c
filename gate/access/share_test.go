package access_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/spool"
)

// TestNoInboxInAFolderOfOthers: an inbox that somebody could replace by a link is not shared, and the folder that the
// link leads to stays as it is.
func TestNoInboxInAFolderOfOthers(t *testing.T) {
	const eve, approvers = 71014, 71002
	for name, open := range map[string]func(home, inbox string) error{
		"her folder":   func(home, _ string) error { return os.Chown(home, eve, eve) },
		"a common one": func(home, _ string) error { return os.Chmod(home, 0o777) },
		"her link in a sticky one": func(home, inbox string) error {
			return errors.Join(os.Chmod(home, 0o777|os.ModeSticky), os.Lchown(inbox, eve, eve))
		},
		"": func(string, string) error { return nil },
	} {
		top := t.TempDir()
		node, home, victim := filepath.Join(top, "node"), filepath.Join(top, "home"), filepath.Join(top, "victim")
		inbox := filepath.Join(home, "inbox")
		err := errors.Join(spool.Init(node), os.Mkdir(home, 0o755), os.Mkdir(victim, 0o700), os.Symlink(victim, inbox),
			open(home, inbox))
		if err != nil {
			t.Fatal(err)
		}
		err = access.Groups{Approvers: approvers}.Share(node, []spool.Inbox{{Name: "default", Dir: inbox}})
		fi, statErr := os.Stat(victim)
		if statErr != nil {
			t.Fatal(statErr)
		}
		switch given := fi.Mode().Perm() != 0o700; {
		case name == "" && (err != nil || !given):
			t.Errorf("root's own link is not followed: %v", err)
		case name != "" && (err == nil || !strings.Contains(err.Error(), "in the place of the inbox") || given):
			t.Errorf("%s: %v, mode %v", name, err, fi.Mode())
		}
	}
}
