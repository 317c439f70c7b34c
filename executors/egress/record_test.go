package egress_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/egress"
)

// TestLogGoesOn opens the log of a run again and again: it counts on, and is nobody's but the gate's.
func TestLogGoesOn(t *testing.T) {
	n := newInternet(t)
	s := &sandbox{internet: n, ns: namespace(t), path: filepath.Join(t.TempDir(), "log")}
	for range 3 {
		var err error
		s.proxy, err = egress.Open(n.config(s.path, egress.Limits{}))
		must(t, err)
		must(t, s.proxy.ListenIn(s.ns))
		for range 7 {
			s.get(t)
			s.raw(t, "CONNECT [2a00::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n")
			s.raw(t, "rubbish\r\n\r\n")
		}
		must(t, s.proxy.Close())
	}
	rep := s.report(t)
	if rep.Requests != 3*7*3 || rep.Up == 0 || rep.Up%21 != 0 || len(rep.Decisions) != 3 {
		t.Errorf("%+v", rep)
	}
	if !slices.Equal(rep.Destinations(), []string{"one.example:80"}) ||
		!slices.Equal(rep.Refused(), []string{"a destination that was not named by a valid proxy request",
			"[2a00::1]:443 is not listed"}) {
		t.Errorf("%q %q", rep.Destinations(), rep.Refused())
	}
	st, err := os.Stat(s.path)
	must(t, err)
	if st.Mode() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
}

// However many are refused, none is forgotten, and the same one is written once.
func TestLogHoldsAll(t *testing.T) {
	s := newSandbox(t, newInternet(t), egress.Limits{})
	for i := range 300 {
		s.raw(t, fmt.Sprintf("CONNECT h%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", i))
		s.raw(t, "CONNECT same.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	s.get(t)
	must(t, s.proxy.Close())
	rep := s.report(t)
	data, err := os.ReadFile(s.path)
	must(t, err)
	if len(rep.Decisions) != 302 || len(rep.Destinations()) != 1 || strings.Count(string(data), `"same.example"`) != 1 {
		t.Errorf("%d decisions, reached %v", len(rep.Decisions), rep.Destinations())
	}
}

// What a dead gate has let through is never more than its log says.
func TestLogNeverSaysLess(t *testing.T) {
	const limit = 3<<20 + 5
	n := newInternet(t)
	s := newSandbox(t, n, egress.Limits{DownBytes: limit})
	c := s.client(t)
	fmt.Fprintf(c, "GET http://one.example/big?n=%d HTTP/1.1\r\nHost: one.example\r\n\r\n", 2*limit)
	var got int64
	for piece := make([]byte, 40_000); ; {
		k, err := c.Read(piece)
		if got += int64(k); got > 1<<10 { // the proxy's own head is not counted
			if rep := s.report(t); rep.Down < got-1<<10 || rep.Down > limit {
				t.Fatalf("%d bytes were received, the log says %d", got, rep.Down)
			}
		}
		if err != nil {
			break
		}
	}
	must(t, s.proxy.Close())
	again, err := egress.Open(n.config(s.path, egress.Limits{DownBytes: limit}))
	must(t, err)
	defer again.Close()
	must(t, again.ListenIn(s.ns))
	if answer := s.get(t); strings.Contains(answer, "hello") {
		t.Errorf("the next gate grants more: %q", answer)
	}
}

// What can't be written is not done.
func TestLogThatCannotBeWritten(t *testing.T) {
	n := newInternet(t)
	dir := t.TempDir()
	must(t, unix.Mount("t", dir, "tmpfs", 0, "size=8k"))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	s := &sandbox{internet: n, ns: namespace(t), path: filepath.Join(dir, "log")}
	var err error
	s.proxy, err = egress.Open(n.config(s.path, egress.Limits{}))
	must(t, err)
	defer s.proxy.Close()
	must(t, s.proxy.ListenIn(s.ns))
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 16<<10), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if answer := s.get(t); strings.Contains(answer, "hello") || n.requests.Load() != 0 || len(s.report(t).Decisions) != 0 {
		t.Errorf("it goes on: %q, %+v", answer, s.report(t))
	}
}

func TestDamagedLog(t *testing.T) {
	good := `{"host":"one.example","port":443,"cause":"reached","requests":3,"up":4,"down":5}` + "\n"
	for name, tt := range map[string]struct {
		text    string
		damaged bool
	}{
		"good":            {good, false},
		"cut":             {good + `{"host":"tw`, false}, // it was never done
		"rubbish between": {good + "rubbish\n" + good, true},
		"unknown cause":   {good + strings.Replace(good, "reached", "other", 1), true},
		"unknown key":     {good + `{"path":"/secret"}` + "\n", true},
		"hostile host":    {good + strings.Replace(good, "one.example", "a b\\n", 1), true},
		"not canonical":   {good + strings.Replace(good, "one.example", "ONE.example", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			must(t, os.WriteFile(path, []byte(tt.text), 0o600))
			s := &sandbox{internet: &internet{}, ns: namespace(t), path: path}
			var err error
			s.proxy, err = egress.Open(s.config(path, egress.Limits{}))
			must(t, err)
			must(t, s.proxy.ListenIn(s.ns))
			s.raw(t, "CONNECT two.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
			must(t, s.proxy.Close())
			rep, err := egress.ReadLog(path)
			must(t, err)
			if (len(rep.Failed()) == 1) != tt.damaged || !slices.Equal(rep.Destinations(),
				[]string{"one.example:443"}) ||
				len(rep.Refused()) != 1 || rep.Requests != 4 {
				t.Errorf("%+v", rep)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		dir := t.TempDir()
		if rep, err := egress.ReadLog(filepath.Join(dir, "none")); err != nil || len(rep.Decisions) != 0 {
			t.Errorf("%+v %v", rep, err)
		}
		must(t, os.Symlink("none", filepath.Join(dir, "link")))
		for _, name := range []string{"link", "."} {
			if _, err := egress.ReadLog(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s: read", name)
			}
			if _, err := egress.Open(egress.Config{Domains: []string{"one.example"}, LogPath: filepath.Join(dir, name)}); err == nil {
				t.Errorf("%s: opened", name)
			}
		}
	})
}

func TestCauses(t *testing.T) {
	for _, c := range []egress.Cause{egress.CauseReached, egress.CauseAsked, egress.CauseUnresolved, egress.CauseUnreachable, egress.CauseUnlistedHost, egress.CauseUnlistedPort,
		egress.CauseAddress, egress.CauseServerName, egress.CauseNotTLS, egress.CauseMalformed, egress.CauseRequests, egress.CauseBytes, egress.CauseTime, egress.CauseUnreadable} {
		rep := egress.Report{Decisions: []egress.Decision{{"a.example", 1, c}}}
		if n := len(rep.Destinations()) + len(rep.Refused()) + len(rep.Failed()); n != 1 {
			t.Errorf("%s is in %d lists", c, n)
		}
	}
}

func TestNoDomains(t *testing.T) {
	if _, err := egress.Open(egress.Config{LogPath: filepath.Join(t.TempDir(), "log")}); err == nil {
		t.Error("a proxy without domains")
	}
}
