package spool_test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// hostile is what somebody may put into an inbox instead of a request.
var hostile = []struct {
	name  string
	file  string // name in the inbox; "TR-x.md" if empty
	make  func(t *testing.T, path string)
	rules []string
	// kept is what must be left below the job's folder, with its own files.
	kept []string
}{
	{name: "symlink to a file", make: symlinkTo("/etc/passwd"), rules: []string{"spool.request.kind"}},
	{name: "symlink to a folder", make: symlinkTo("/etc"), rules: []string{"spool.request.kind"}},
	{name: "symlink to itself", make: symlinkTo("TR-x.md"), rules: []string{"spool.request.kind"}},
	{name: "symlink to a device that never ends", make: symlinkTo("/dev/zero"), rules: []string{"spool.request.kind"}},
	{name: "dangling symlink", make: symlinkTo("/nowhere\n\x1b[31m"), rules: []string{"spool.request.kind"}},
	{name: "FIFO", make: mknod(unix.S_IFIFO, 0), rules: []string{"spool.request.kind"}},
	{name: "character device", make: mknod(unix.S_IFCHR, int(unix.Mkdev(1, 5))), rules: []string{"spool.request.kind"}},
	{name: "block device", make: mknod(unix.S_IFBLK, int(unix.Mkdev(7, 77))), rules: []string{"spool.request.kind"}},
	{name: "socket", make: socket, rules: []string{"spool.request.kind"}},
	{name: "empty folder", make: func(t *testing.T, p string) { mustNot(t, os.Mkdir(p, 0o755)) },
		rules: []string{"spool.request.kind"}, kept: []string{"raw/request.md/"}},
	{name: "full folder", make: func(t *testing.T, p string) {
		mustNot(t, os.MkdirAll(filepath.Join(p, "a/b"), 0o755))
		mustNot(t, os.WriteFile(filepath.Join(p, "a/b/c"), []byte("evidence"), 0o644))
	}, rules: []string{"spool.request.kind"}, kept: []string{"raw/request.md/a/b/c"}},
	{name: "hard link", make: func(t *testing.T, p string) {
		other := filepath.Join(t.TempDir(), "other")
		mustNot(t, os.WriteFile(other, []byte("x"), 0o644))
		mustNot(t, os.Link(other, p))
	}, rules: []string{"spool.request.hardlink"}, kept: []string{"request.md"}},
	{name: "10 GB", make: sparse(10 << 30), rules: []string{"spool.request.size"}, kept: []string{"raw/request.md"}},
	{name: "one byte too many", make: sparse(1001), rules: []string{"spool.request.size"},
		kept: []string{"raw/request.md"}},
	{name: "just not too large", make: sparse(1000), kept: []string{"request.md"}},
	{name: "empty", make: sparse(0), kept: []string{"request.md"}},
	{name: "mode 0000", make: func(t *testing.T, p string) {
		mustNot(t, os.WriteFile(p, []byte("x"), 0o600))
		mustNot(t, os.Chmod(p, 0))
	}, kept: []string{"request.md"}}, // the test runs as root, who may read it
	{name: "foreign owner, setuid", make: func(t *testing.T, p string) {
		mustNot(t, os.WriteFile(p, []byte("x"), 0o600))
		mustNot(t, os.Chown(p, 12345, 12345))
		mustNot(t, os.Chmod(p, 0o4755|fs.ModeSetuid))
	}, kept: []string{"request.md"}},
	{name: "newline in the name", file: "TR-a\nb.md", make: text, rules: []string{"spool.name"},
		kept: []string{"request.md"}},
	{name: "invalid UTF-8 in the name", file: "TR-\xff\xfe.md", make: text, rules: []string{"spool.name"},
		kept: []string{"request.md"}},
	{name: "escape sequence in the name", file: "TR-\x1b]0;x\a.md", make: text, rules: []string{"spool.name"},
		kept: []string{"request.md"}},
	{name: "dots in the name", file: "TR-x..y.md", make: text, rules: []string{"spool.name"},
		kept: []string{"request.md"}},
	{name: "nothing in the name", file: "TR-.md", make: text, rules: []string{"spool.name"}, kept: []string{"request.md"}},
	{name: "space in the name", file: "TR-a b.md", make: text, rules: []string{"spool.name"},
		kept: []string{"request.md"}},
	{name: "name of 255 bytes", file: "TR-" + strings.Repeat("x", 249) + ".md", make: text,
		rules: []string{"spool.name"}, kept: []string{"request.md"}},
	{name: "name just not too long", file: "TR-" + strings.Repeat("x", spool.MaxStem-3) + ".md", make: text,
		kept: []string{"request.md"}},
	{name: "bad name and bad kind", file: "TR-\xff.md", make: mknod(unix.S_IFIFO, 0),
		rules: []string{"spool.name", "spool.request.kind"}},
}

func symlinkTo(target string) func(*testing.T, string) {
	return func(t *testing.T, p string) { mustNot(t, os.Symlink(target, p)) }
}

func mknod(mode uint32, dev int) func(*testing.T, string) {
	return func(t *testing.T, p string) { mustNot(t, unix.Mknod(p, mode|0o666, dev)) }
}

func sparse(size int64) func(*testing.T, string) {
	return func(t *testing.T, p string) {
		mustNot(t, os.WriteFile(p, nil, 0o644))
		mustNot(t, os.Truncate(p, size))
	}
}

func socket(t *testing.T, p string) {
	// A socket's path is short; bind it elsewhere and move it.
	short := filepath.Join(os.TempDir(), fmt.Sprintf("tg%d", os.Getpid()))
	l, err := net.Listen("unix", short)
	mustNot(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	mustNot(t, os.Rename(short, p))
}

func text(t *testing.T, p string) { mustNot(t, os.WriteFile(p, []byte("text"), 0o644)) }

// content lists what a job's folder holds apart from the spool's own notes: files,
// specials, and folders that are empty (with a slash).
func content(t *testing.T, j *spool.Job) []string {
	t.Helper()
	var got []string
	mustNot(t, filepath.WalkDir(j.Path(), func(p string, e fs.DirEntry, err error) error {
		mustNot(t, err)
		rel, err := filepath.Rel(j.Path(), p)
		mustNot(t, err)
		if e.IsDir() {
			if es, err := os.ReadDir(p); err == nil && len(es) == 0 && rel != "inputs" {
				got = append(got, rel+"/")
			}
			return nil
		}
		if !slices.Contains([]string{"job.json", "reasons.json", "REASONS.md"}, rel) {
			got = append(got, rel)
		}
		return nil
	}))
	return got
}

func TestHostileRequests(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			n := newNode(t)
			if h.file == "" {
				h.file = "TR-x.md"
			}
			h.make(t, filepath.Join(n.inbox, h.file))
			n.put("TR-zz.md", "an honest request")
			var j *spool.Job
			for range 2 {
				as := n.pending(1)
				if len(as) != 1 {
					t.Fatalf("waiting: %v", as)
				}
				c, err := n.Claim(as[0].Inbox, as[0].Name)
				mustNot(t, err)
				if as[0].Name == "TR-zz.md" {
					if got := rules(c); len(got) > 0 {
						t.Errorf("the honest request has findings: %v", got)
					}
					continue
				}
				j = c
			}
			if got := rules(j); !slices.Equal(got, h.rules) {
				t.Fatalf("rules %v, want %v (%v)", got, h.rules, j.Findings())
			}
			for _, f := range j.Findings() {
				if f.Message == "" || f.Hint == "" {
					t.Errorf("finding says too little: %+v", f)
				}
				for _, s := range []string{f.Message, f.Excerpt, j.Origin.Name} {
					if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
						t.Errorf("not inert: %q", s)
					}
				}
			}
			if got := content(t, j); !slices.Equal(got, h.kept) {
				t.Errorf("kept %v, want %v", got, h.kept)
			}
			n.check()
			n.reopen()
			again := n.job(spool.StateClaimed, j.ID)
			mustNot(t, again.Damage)
			if got := rules(again); !slices.Equal(got, h.rules) {
				t.Errorf("findings after opening again: %v", got)
			}
			mustNot(t, refuse(again, spool.StateRequestRefused))
			if got := content(t, again); !slices.Equal(got, h.kept) {
				t.Errorf("kept in quarantine %v, want %v", got, h.kept)
			}
			if got := n.check()[j.ID]; got != spool.DirQuarantineRequests {
				t.Errorf("it lies in %q", got)
			}
		})
	}
}

func TestHostileInputs(t *testing.T) {
	in := func(name string, f func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, inputs string) {
			p := filepath.Join(inputs, name)
			mustNot(t, os.MkdirAll(filepath.Dir(p), 0o755))
			f(t, p)
		}
	}
	for _, h := range []struct {
		name  string
		make  func(t *testing.T, inputs string)
		rules []string
		kept  []string
	}{
		{"inputs are a file", text, []string{"spool.inputs.kind"}, []string{"raw/inputs"}},
		{"inputs are a symlink", symlinkTo("/etc"), []string{"spool.inputs.kind"}, nil},
		{"inputs are a FIFO", mknod(unix.S_IFIFO, 0), []string{"spool.inputs.kind"}, nil},
		{"symlink", in("a", symlinkTo("/etc/passwd")), []string{"spool.inputs.kind"}, nil},
		{"symlink to the folder above", in("a", symlinkTo("..")), []string{"spool.inputs.kind"}, nil},
		{"FIFO", in("d/a", mknod(unix.S_IFIFO, 0)), []string{"spool.inputs.kind"}, nil},
		{"device", in("a", mknod(unix.S_IFCHR, int(unix.Mkdev(1, 5)))), []string{"spool.inputs.kind"}, nil},
		{"hard link", in("a", func(t *testing.T, p string) {
			text(t, p)
			mustNot(t, os.Link(p, filepath.Join(t.TempDir(), "b")))
		}), []string{"spool.inputs.hardlink"}, []string{"inputs/a"}},
		{"two names for one input", in("a", func(t *testing.T, p string) {
			text(t, p)
			mustNot(t, os.Link(p, p+"2"))
		}), []string{"spool.inputs.hardlink"}, []string{"inputs/a", "inputs/a2"}},
		{"10 GB", in("a", sparse(10<<30)), []string{"spool.inputs.limit"}, []string{"raw/inputs/a"}},
		{"together too large", func(t *testing.T, p string) {
			in("a", sparse(3000))(t, p)
			in("b", sparse(3000))(t, p)
		}, []string{"spool.inputs.limit"}, []string{"inputs/a", "raw/inputs/a", "raw/inputs/b"}},
		{"six files", func(t *testing.T, p string) {
			for i := range 6 {
				in(fmt.Sprint(i), sparse(1))(t, p)
			}
		}, []string{"spool.inputs.limit"}, nil},
		{"five files", func(t *testing.T, p string) {
			for i := range 5 {
				in(fmt.Sprint(i), sparse(1000))(t, p)
			}
		}, nil, []string{"inputs/0", "inputs/1", "inputs/2", "inputs/3", "inputs/4"}},
		{"a thousand folders", func(t *testing.T, p string) {
			for i := range 1000 {
				mustNot(t, os.MkdirAll(filepath.Join(p, fmt.Sprint(i)), 0o755))
			}
		}, []string{"spool.inputs.limit"}, nil},
		{"eight deep", in("1/2/3/4/5/6/7/x", text), nil, []string{"inputs/1/2/3/4/5/6/7/x"}},
		{"nine deep", in("1/2/3/4/5/6/7/8/x", text), []string{"spool.inputs.limit"},
			[]string{"inputs/1/2/3/4/5/6/7/", "raw/inputs/1/2/3/4/5/6/7/8/x"}},
		{"name with a newline", in("a\nb", text), []string{"spool.inputs.name"}, []string{"raw/inputs/a\nb"}},
		{"name that is not UTF-8", in("a\xff", text), []string{"spool.inputs.name"}, []string{"raw/inputs/a\xff"}},
		{"name with a direction mark", in("a\u202eb", text), []string{"spool.inputs.name"}, []string{"raw/inputs/a\u202eb"}},
		{"name with a backslash", in(`..\a`, text), []string{"spool.inputs.name"}, []string{`raw/inputs/..\a`}},
		{"name of 255 bytes", in(strings.Repeat("x", 255), text), []string{"spool.inputs.name"},
			[]string{"raw/inputs/" + strings.Repeat("x", 255)}},
		{"mount", func(t *testing.T, p string) {
			m := filepath.Join(p, "m")
			mustNot(t, os.MkdirAll(m, 0o755))
			mustNot(t, unix.Mount("none", m, "tmpfs", 0, "size=4k"))
			t.Cleanup(func() {
				// It moved with its folder.
				found, _ := filepath.Glob(filepath.Join(p, "../../../*/*/*/raw/inputs/m"))
				for _, f := range append(found, m) {
					_ = unix.Unmount(f, unix.MNT_DETACH)
				}
			})
		}, []string{"spool.inputs.kind"}, nil},
		{"accents and spaces", in("Größe 日本.csv", text), nil, []string{"inputs/Größe 日本.csv"}},
	} {
		t.Run(h.name, func(t *testing.T) {
			n := newNode(t)
			h.make(t, filepath.Join(n.inbox, "TR-x.inputs"))
			n.put("TR-x.md", "text")
			j := n.claimOne()
			if got := rules(j); !slices.Equal(got, h.rules) {
				t.Fatalf("rules %v, want %v (%v)", got, h.rules, j.Findings())
			}
			for _, f := range j.Findings() {
				if _, known := schemas.RuleByID(f.Rule); !known || f.Hint == "" ||
					strings.ContainsFunc(f.Message+f.Excerpt, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("finding %+v", f)
				}
			}
			if h.kept != nil {
				want := append(slices.Clone(h.kept), "request.md")
				slices.Sort(want)
				got := content(t, j)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("kept %q, want %q", got, want)
				}
			}
			if es, err := os.ReadDir(n.inbox); err != nil || len(es) > 0 {
				t.Errorf("left in the inbox: %v, %v", es, err)
			}
			n.check()
		})
	}
}

func TestHostileSignatures(t *testing.T) {
	for name, f := range map[string]func(*testing.T, string){
		"symlink": symlinkTo("/etc/passwd"), "FIFO": mknod(unix.S_IFIFO, 0), "large": sparse(spool.MaxSignatureBytes + 1),
		"folder": func(t *testing.T, p string) { mustNot(t, os.Mkdir(p, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			f(t, filepath.Join(n.inbox, "TR-x.md.sig"))
			n.put("TR-x.md", "text")
			j := n.claimOne()
			if got := rules(j); !slices.Equal(got, []string{"spool.signature"}) {
				t.Errorf("rules %v", got)
			}
			if sig, err := j.Signature(); sig != nil || err != nil {
				t.Errorf("there is a signature: %q, %v", sig, err)
			}
			n.check()
		})
	}
}

// TestImmovable has files that no rename can take: they wait without harm to
// others, are reported, and are taken once they can be.
func TestImmovable(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "immutable")
	n.put("TR-b.md", "free")
	p := filepath.Join(n.inbox, "TR-a.md")
	if out, err := exec.Command("chattr", "+i", p).CombinedOutput(); err != nil {
		t.Fatalf("chattr: %v: %s", err, out)
	}
	free := func() { _ = exec.Command("chattr", "-i", p).Run() }
	t.Cleanup(free)
	claimed := map[string]bool{}
	for range 3 {
		for _, a := range n.pending(10) {
			_, err := n.Claim(a.Inbox, a.Name)
			if a.Name == "TR-a.md" {
				wantErr(t, err, spool.ErrStuck)
				wantErr(t, err, unix.EPERM)
				continue
			}
			mustNot(t, err)
			claimed[a.Name] = true
		}
	}
	if !claimed["TR-b.md"] {
		t.Error("the other request was not claimed")
	}
	if st := n.Stuck(); len(st) != 1 || st[0].Attempts != 1 || st[0].InNode || st[0].Name != `"TR-a.md"` {
		t.Errorf("stuck: %+v", st)
	}
	n.later()
	if as := n.pending(10); len(as) != 1 {
		t.Errorf("not offered again: %v", as)
	}
	n.check()
	free()
	n.later()
	n.claimOne()
	n.pending(10)
	if st := n.Stuck(); len(st) != 0 {
		t.Errorf("still stuck: %+v", st)
	}
}

func TestImmovableCompanionsRefuseTheRequest(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.inputs/x", "x")
	n.put("TR-a.md.sig", "x")
	n.put("TR-a.md", "x")
	for _, c := range []string{"TR-a.inputs", "TR-a.md.sig"} {
		p := filepath.Join(n.inbox, c)
		if out, err := exec.Command("chattr", "+i", p).CombinedOutput(); err != nil {
			t.Fatalf("chattr: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("chattr", "-i", p).Run() })
	}
	j := n.claimOne()
	if got := rules(j); !slices.Equal(got, []string{"spool.inputs", "spool.signature"}) {
		t.Errorf("findings: %v", j.Findings())
	}
}

func TestNamesThatAreNoRequests(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"TR-a.md~", ".TR-a.md", ".TR-a.md.swp", "#TR-a.md#", "tr-b.md", "TR-b.MD",
		"TR-c.txt", "notes", "TR-d.md.sig", "TR-d.inputs/x", "TR-e.md.part"} {
		n.put(name, "x")
	}
	if as := n.pending(10); len(as) > 0 {
		t.Errorf("offered: %v", as)
	}
	if es, err := os.ReadDir(n.inbox); err != nil || len(es) != 11 {
		t.Errorf("%d entries are left, want all 11 (%v)", len(es), err)
	}
	n.put("TR-x.md", "one")
	n.put("TR-X.md", "case twin")
	if as := n.pending(10); len(as) != 2 {
		t.Errorf("case twins are two requests: %v", as)
	}
}
