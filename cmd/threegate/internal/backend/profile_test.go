package backend

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
)

// TestProfiles: of each profile it is said whether its image is there, and whether it has the program.
func TestProfiles(t *testing.T) {
	l := &config.Node{Programs: map[string][]string{"old": {"python3"}, "new": {"python3", ToolsProgram}},
		Registries: map[string][]byte{"b": []byte("version: 1\n")}}
	l.Backends.Images = filepath.Join(t.TempDir(), "images")
	l.Tools.Profiles = map[string]config.Profile{"c": {Image: "new"}, "b": {Image: "old"}, "a": {Image: "unknown"}}
	l.Backends.ERA.Languages = map[string]config.Language{"old": {Image: "sha256:" + strings.Repeat("1", 64)}}
	all := Profiles(l)
	if len(all) != 3 || all[0].Name != "a" || all[1].Name != "b" || all[2].Name != "c" {
		t.Fatalf("%+v", all)
	}
	if all[0].HasTools != nil || all[1].HasTools == nil || *all[1].HasTools || all[2].HasTools == nil || !*all[2].HasTools {
		t.Errorf("%+v", all)
	}
	if b := all[1]; !b.Missing || len(b.Registry) != 64 || b.Digest != l.Backends.ERA.Languages["old"].Image ||
		b.Tools() != "which is not in the node's folder of images" {
		t.Errorf("%+v, %s", b, b.Tools())
	}
	has := true
	for want, p := range map[string]Profile{"with threegate-tools": {HasTools: &has}, "without threegate-tools": {HasTools: new(bool)},
		"of which it is not known what it holds": {}} {
		if p.Tools() != want {
			t.Errorf("%q, want %q", p.Tools(), want)
		}
	}
}
