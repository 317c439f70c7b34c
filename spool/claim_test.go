package spool_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/spool"
)

func TestClaimTakesAllThatBelongsToARequest(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "request a")
	n.put("TR-a.inputs/x.csv", "1,2")
	n.put("TR-a.inputs/deep/er/y", "")
	n.put("TR-a.md.sig", "signature")
	n.put("TR-b.inputs/other", "of another request")

	j := n.claimOne()
	if got := rules(j); len(got) > 0 {
		t.Fatalf("findings: %v", j.Findings())
	}
	raw, err := j.Request()
	mustNot(t, err)
	if string(raw) != "request a" || j.SHA256 != sum("request a") {
		t.Errorf("request is %q with digest %s", raw, j.SHA256)
	}
	sig, err := j.Signature()
	mustNot(t, err)
	if string(sig) != "signature" {
		t.Errorf("signature is %q", sig)
	}
	want := map[string]string{"/in/x.csv": sum("1,2"), "/in/deep/er/y": sum("")}
	if got := j.InputHashes(); !maps.Equal(got, want) {
		t.Errorf("inputs are %v, want %v", got, want)
	}
	if data, err := os.ReadFile(j.Path("inputs", "x.csv")); err != nil || string(data) != "1,2" {
		t.Errorf("input x.csv is %q, %v", data, err)
	}
	if j.State != spool.StateClaimed || !spool.ValidID(j.ID) || j.Origin.Name != "TR-a.md" ||
		j.Origin.Inbox != "default" ||
		j.Origin.Size != 9 {
		t.Errorf("job is %+v", j)
	}
	left, err := os.ReadDir(n.inbox)
	mustNot(t, err)
	if len(left) != 1 || left[0].Name() != "TR-b.inputs" {
		t.Errorf("left in the inbox: %v", left)
	}
	if got := n.check(); got[j.ID] != "claimed" {
		t.Errorf("places: %v", got)
	}
	n.reopen()
	jobs, err := n.Jobs(spool.StateClaimed)
	mustNot(t, err)
	if len(jobs) != 1 || jobs[0].ID != j.ID || jobs[0].Damage != nil || !maps.Equal(jobs[0].InputHashes(), want) ||
		jobs[0].Origin != j.Origin {
		t.Errorf("after opening again: %+v", jobs[0])
	}
}

func TestClaimedBytesCantBeChangedFromOutside(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "approved")
	n.put("TR-a.inputs/x", "approved")
	req, err := os.OpenFile(filepath.Join(n.inbox, "TR-a.md"), os.O_RDONLY, 0)
	mustNot(t, err)
	defer req.Close()
	in, err := os.Open(filepath.Join(n.inbox, "TR-a.inputs"))
	mustNot(t, err)
	defer in.Close()
	before, err := req.Stat()
	mustNot(t, err)
	j := n.claimOne()
	mustNot(t, n.EmptyTrashOnce())
	after, err := os.Stat(j.Path(spool.FileRequest))
	mustNot(t, err)
	if os.SameFile(before, after) {
		t.Error("the job's request is the very file that its author still holds open")
	}
	if fd, err := syscall.Openat(int(in.Fd()), "x", syscall.O_RDONLY, 0); err == nil {
		syscall.Close(fd)
		t.Error("the inputs folder that its author still holds open is still there")
	}
	if fi, err := os.Stat(j.Path()); err != nil || fi.Mode().Perm()&0o027 != 0 {
		t.Errorf("the job's folder: %v, %v", fi.Mode(), err)
	}
}

// waitBusy claims a request that is open for writing: the node takes it, and
// tries again when its time has come.
func TestAFileThatIsStillWritten(t *testing.T) {
	for _, which := range []struct{ open, rule string }{
		{"TR-a.md", "spool.request.busy"},
		{"TR-a.inputs/x", "spool.inputs.busy"},
		{"TR-a.md.sig", "spool.signature"},
	} {
		for _, closes := range []bool{true, false} {
			n := newNode(t)
			n.put("TR-a.md", "half")
			n.put("TR-a.inputs/x", "half")
			n.put("TR-a.md.sig", "half")
			n.put("TR-b.md", "another")
			w, err := os.OpenFile(filepath.Join(n.inbox, which.open), os.O_WRONLY|os.O_APPEND, 0)
			mustNot(t, err)
			defer w.Close()
			in := spool.Inbox{Name: "default", Dir: n.inbox}
			_, err = n.Claim(in, "TR-a.md")
			wantErr(t, err, spool.ErrBusy)
			wantErr(t, err, spool.ErrStuck)
			if _, err := n.Claim(in, "TR-b.md"); err != nil {
				t.Fatalf("another request has to wait: %v", err)
			}
			if got := n.pending(10); len(got) > 0 {
				t.Fatalf("offered before its time: %v", got)
			}
			if st := n.Stuck(); len(st) != 1 || !st[0].InNode || st[0].Attempts != 1 {
				t.Fatalf("stuck: %+v", st)
			}
			n.clock = n.clock.Add(time.Second)
			if closes {
				_, err := w.WriteString(" and whole")
				mustNot(t, err)
				mustNot(t, w.Close())
			} else {
				n.later()
			}
			j := n.claimOne()
			if !closes {
				if got := rules(j); !slices.Equal(got, []string{which.rule}) {
					t.Errorf("%s: findings of a file that is never complete: %v", which.open, j.Findings())
				}
				continue
			}
			if got := rules(j); len(got) > 0 {
				t.Errorf("%s: findings of a file that is complete: %v", which.open, got)
			}
			data, err := os.ReadFile(
				j.Path(
					map[string]string{"TR-a.md": "request.md", "TR-a.inputs/x": "inputs/x", "TR-a.md.sig": "request.sig"}[which.open],
				),
			)
			if err != nil || string(data) != "half and whole" {
				t.Errorf("%s: copied %q, %v", which.open, data, err)
			}
			if st := n.Stuck(); len(st) != 0 {
				t.Errorf("still stuck: %+v", st)
			}
			n.check()
		}
	}
}

func TestBusyClaimSurvivesARestart(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "half")
	w, err := os.OpenFile(filepath.Join(n.inbox, "TR-a.md"), os.O_WRONLY|os.O_APPEND, 0)
	mustNot(t, err)
	defer w.Close()
	_, err = n.Claim(spool.Inbox{Name: "default", Dir: n.inbox}, "TR-a.md")
	wantErr(t, err, spool.ErrBusy)
	n.reopen()
	if st := n.Stuck(); len(st) != 1 || st[0].Inbox != "default" || st[0].Name != `"TR-a.md"` {
		t.Fatalf("stuck after opening again: %+v", st)
	}
	mustNot(t, w.Close())
	n.reopen()
	jobs, err := n.Jobs(spool.StateClaimed)
	mustNot(t, err)
	if len(jobs) != 1 || jobs[0].Origin.Name != "TR-a.md" {
		t.Fatalf("claimed after opening again: %v", jobs)
	}
}

func TestClaimRefusesWhatIsNoRequest(t *testing.T) {
	n := newNode(t)
	in := spool.Inbox{Name: "default", Dir: n.inbox}
	for _, name := range []string{"", ".", "..", "TR-a.txt", ".TR-a.md", "../TR-a.md", "TR-/../../x.md", "TR-a\x00.md",
		"tr-a.md"} {
		if _, err := n.Claim(in, name); err == nil {
			t.Errorf("claimed %q", name)
		}
	}
	_, err := n.Claim(in, "TR-none.md")
	wantErr(t, err, spool.ErrGone)
	if len(n.check()) > 0 {
		t.Error("something was claimed")
	}
}

func TestNoSpaceStopsClaiming(t *testing.T) {
	n := newNode(t, func(o *spool.Options) { o.MinFreeBytes = 1 << 62 })
	n.put("TR-a.md", "a")
	in := spool.Inbox{Name: "default", Dir: n.inbox}
	for range 3 {
		as := n.pending(10)
		if len(as) == 0 || as[0].Name != "TR-a.md" {
			t.Fatalf("no longer offered: %v", as)
		}
		_, err := n.Claim(in, "TR-a.md")
		wantErr(t, err, spool.ErrNoSpace)
	}
	n.reopen()
	n.claimOne()
}

func TestFullDescriptorTableDelaysOnly(t *testing.T) {
	var full bool
	n := newNode(t, func(o *spool.Options) {
		o.Seam = func(s spool.Step, apply func() error) error {
			if full && s.Op == spool.OpOpen {
				return syscall.EMFILE
			}
			return apply()
		}
	})
	n.put("TR-a.md", "a")
	full = true
	_, err := n.Claim(spool.Inbox{Name: "default", Dir: n.inbox}, "TR-a.md")
	wantErr(t, err, spool.ErrStuck)
	wantErr(t, err, syscall.EMFILE)
	full = false
	n.later()
	if got := rules(n.claimOne()); len(got) > 0 {
		t.Errorf("findings: %v", got)
	}
}

func TestModesOfWhatIsWritten(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	n := newNode(t)
	n.put("TR-a.md", "a")
	n.put("TR-a.inputs/d/x", "x")
	j := n.claimOne()
	mustNot(t, j.WriteFile("outcome.json", []byte("{}")))
	mustNot(t, filepath.WalkDir(j.Path(), func(path string, e fs.DirEntry, err error) error {
		mustNot(t, err)
		fi, err := e.Info()
		mustNot(t, err)
		if fi.Mode().Perm()&0o027 != 0 {
			t.Errorf("%s is open to others: %v", strings.TrimPrefix(path, j.Path()), fi.Mode())
		}
		return nil
	}))
}

// TestALowerLimitLeavesWhatWasClaimed: a request that was claimed is read whole, whatever the
// limits are since.
func TestALowerLimitLeavesWhatWasClaimed(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", strings.Repeat("a", 900))
	n.claimOne()
	n.reopen(func(o *spool.Options) { o.MaxRequestBytes = 10 })
	jobs, err := n.Jobs(spool.StateClaimed)
	mustNot(t, err)
	if raw, err := jobs[0].Request(); err != nil || len(raw) != 900 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// TestARecordOfManyInputsIsReadBack: the names are as long, as many and as costly to encode as
// they may be.
func TestARecordOfManyInputsIsReadBack(t *testing.T) {
	n := newNode(t, func(o *spool.Options) { o.MaxInputs = 600 })
	dir := "TR-a.inputs" + strings.Repeat("/"+strings.Repeat("&", 190), 7)
	for i := range 600 {
		n.put(fmt.Sprintf("%s/%s%03d", dir, strings.Repeat("&", 190), i), "")
	}
	n.put("TR-a.md", "a")
	if j := n.claimOne(); j.Damage != nil || len(j.Inputs()) != 600 {
		t.Errorf("%v, %d inputs", j.Damage, len(j.Inputs()))
	}
}
