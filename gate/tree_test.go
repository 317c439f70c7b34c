package gate_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
)

// TestTrees: a folder tree goes to the executor by its name; a tar that can't be unpacked is refused at admission, and
// the reason names the member.
func TestTrees(t *testing.T) {
	for name, c := range map[string]struct{ member, link, want string }{
		"plain": {member: "a/b.txt"},
		"up":    {member: "../../x", want: `its member \"../../x\" has \"..\" as a part of its path`},
		"link":  {member: "l", link: "/etc", want: `its member \"l\" is a symbolic link`},
		"empty": {want: "it holds no file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustWorld(t, scenario{name: "tree", word: "ok", want: ending{delivered: 1, runs: 1}})
			var b bytes.Buffer
			tw := tar.NewWriter(&b)
			if c.member != "" {
				h := &tar.Header{Name: c.member, Typeflag: tar.TypeReg, Mode: 0o644}
				if c.link != "" {
					h.Typeflag, h.Linkname = tar.TypeSymlink, c.link
				}
				must(t, tw.WriteHeader(h))
			}
			must(t, tw.Close())
			stem := filepath.Join(w.cfg.Inboxes[0].Path, crashID)
			must(t, os.WriteFile(filepath.Join(stem+".inputs", "x.csv"), b.Bytes(), 0o644))
			was, is := sha256.Sum256([]byte(crashPlan)), sha256.Sum256(b.Bytes())
			request := strings.Replace(string(crashRequest(crashID, "ok")), hex.EncodeToString(was[:])+`"`,
				hex.EncodeToString(is[:])+"\"\n    unpack: tar", 1)
			must(t, os.WriteFile(stem+".md", []byte(request), 0o644))
			must(t, w.process(&injector{}))
			if c.want == "" {
				admitted, err := os.ReadFile(w.one(t, "archive/*/*/*/"+ledger.FileAdmission))
				must(t, err)
				if !strings.Contains(string(admitted), `"trees"`) {
					t.Errorf("the executor is told of no tree: %s", admitted)
				}
				return
			}
			reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
			must(t, err)
			if !strings.Contains(string(reasons), c.want) || !strings.Contains(string(reasons), `"request.inputs.tree"`) {
				t.Errorf("%q is not among the reasons: %s", c.want, reasons)
			}
		})
	}
}
