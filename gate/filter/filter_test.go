package filter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/confine"
)

// words builds the example filter and its list where nobody may read them.
func words(t *testing.T) (program, list string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "filter")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // a confined filter is nobody
	program, list = filepath.Join(dir, "words"), filepath.Join(dir, "list")
	build := exec.Command("go", "build", "-o", program, "../../deploy/filters/words")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(t, os.WriteFile(list, []byte("nordlicht\nprojekt-x\n"), 0o644))
	return program, list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWordsFilter asks the example, as a confined program and over a socket.
func TestWordsFilter(t *testing.T) {
	program, list := words(t)
	socket := filepath.Join(t.TempDir(), "words.sock")
	serve := exec.Command(program, list, socket)
	must(t, serve.Start())
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	text := "3 rows\nthe plan of Nordlicht GmbH\n\xff projekt-x\nend\n"
	for name, f := range map[string]Filter{
		"command": {Name: "words", Command: []string{program, list}, Timeout: time.Minute},
		"socket":  {Name: "words", Socket: socket, Timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.Ask(t.Context(), Question{Result: "TS-1", Channel: "stdout", Text: []byte(text)})
			must(t, err)
			var found []string
			for _, g := range got {
				found = append(found, text[g.From:g.To]+"|"+g.Tier)
			}
			want := "[the plan of Nordlicht GmbH|withhold \xff projekt-x|withhold]"
			if fmt.Sprint(found) != want {
				t.Errorf("%q, want %q", found, want)
			}
			if got, err := f.Ask(t.Context(), Question{Channel: "stdout", Text: []byte("fine")}); err != nil || len(got) > 0 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestCommandIsConfined: a filter's program is nobody, has no network, can't write and can't
// keep anything alive.
func TestCommandIsConfined(t *testing.T) {
	dir, err := os.MkdirTemp("", "filter")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("x"), 0o600))
	script := filepath.Join(dir, "filter")
	must(t, os.WriteFile(script, []byte(`#!/bin/sh
exec >&2
echo "id=$(id -u):$(id -g):$(id -G) env=$(env | grep -vE '^(PWD|_|SHLVL|OLDPWD)=' | tr '\n' ' ')" \
 "read=$(cat `+secret+` 2>/dev/null | wc -c) interfaces=$(grep -c : /proc/net/dev)" \
 "oom=$(cat /proc/self/oom_score_adj)" \
 "privs=$(grep NoNewPrivs /proc/self/status | tr -dc 0-9) $(grep CapBnd /proc/self/status)"
echo x >`+dir+`/new
exit 3
`), 0o755))
	f := Filter{Name: "nosy", Command: []string{script}, Timeout: time.Minute}
	_, err = f.Ask(t.Context(), Question{Channel: "stdout", Text: []byte("x")})
	if err == nil {
		t.Fatal("a program that fails has answered")
	}
	for _, want := range []string{"exit status 3", "read=0", "oom=1000", "interfaces=1", "privs=1",
		"CapBnd:?0000000000000000", "env=LC_ALL=C.UTF-8 "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "new")); err == nil && st.Size() > 0 {
		t.Error("it wrote a file")
	}
}

// TestHostileCommand: a command that was taken over changes nothing, reaches nobody, and goes on to do what filters do.
func TestHostileCommand(t *testing.T) {
	dir, err := os.MkdirTemp("", "filter")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(filepath.Join("testdata", "hostile.py"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "hostile"), program, 0o755))
	theirs := filepath.Join(dir, "open")
	must(t, os.WriteFile(theirs, []byte("content"), 0o666))
	before := time.Unix(1_000_000_000, 0)
	must(t, errors.Join(os.Chmod(dir, 0o777), os.Chmod(theirs, 0o666), os.Chtimes(theirs, before, before)))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	defer l.Close()
	must(t, os.Chmod(filepath.Join(dir, "socket"), 0o666))
	abstract, err := net.Listen("unix", "@threegate-hostile")
	must(t, err)
	defer abstract.Close()

	f := Filter{Name: "hostile", Command: []string{filepath.Join(dir, "hostile"), dir}, Timeout: time.Minute}
	found, err := f.Ask(t.Context(), Question{Channel: "stdout", Text: []byte("x")})
	must(t, err)
	if len(found) < 80 {
		t.Errorf("%d attempts", len(found))
	}
	may := map[string]bool{"a pipeline": true, "a large read": true,
		"a device for reading": confine.ABI() < 5} // older kernels can't deny that
	for _, g := range found {
		i := strings.LastIndex(g.Reason, ": ")
		if name, outcome := g.Reason[:i], g.Reason[i+2:]; may[name] != (outcome == "done") {
			t.Errorf("%s: %s", name, outcome)
		}
	}
	for _, made := range []string{"/tmp", "/dev/shm", "/var/tmp", dir, "/", "/run/lock", "/dev/mqueue"} {
		if name := filepath.Join(made, "threegate-hostile"); os.Remove(name) == nil {
			t.Errorf("it made %s", name)
		}
	}
	st, err := os.Stat(theirs)
	must(t, err)
	if b, err := os.ReadFile(theirs); err != nil || string(b) != "content" || !st.ModTime().Equal(before) ||
		st.Mode().Perm() != 0o666 {
		t.Errorf("it changed a file to %q, %v, %v: %v", b, st.Mode(), st.ModTime(), err)
	}
}

// TestNoTwoOfOneUser: two commands that run at once are two users, neither of them anybody else.
func TestNoTwoOfOneUser(t *testing.T) {
	script := filepath.Join(t.TempDir(), "id")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\nid -ru >&2\nid -rg >&2\nexit 1\n"), 0o755))
	for d := filepath.Dir(script); d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	seen := map[string]bool{}
	for range 5 {
		_, err := Filter{Name: "id", Command: []string{script}, Timeout: time.Minute}.Ask(t.Context(), Question{})
		if err == nil || !strings.Contains(err.Error(), "exit status 1: 201") || seen[err.Error()] {
			t.Errorf("%v", err)
		}
		seen[fmt.Sprint(err)] = true
	}
}

// TestBadAnswers: what does not keep to the protocol is an error that says why.
func TestBadAnswers(t *testing.T) {
	const text = "some text"
	digest := sha256.Sum256([]byte(text))
	sum := hex.EncodeToString(digest[:])
	answer := func(findings string) string {
		return `{"version":1,"sha256":"` + sum + `","findings":` + findings + "}"
	}
	finding := func(from, to int, more string) string {
		return answer(fmt.Sprintf(`[{"from":%d,"to":%d,"reason":"a word"%s}]`, from, to, more))
	}
	for name, tt := range map[string]struct{ answer, want string }{
		"nothing":          {"", "closed without an answer"},
		"no JSON":          {"yes", "invalid character"},
		"cut off":          {answer("[]")[:40], "unexpected EOF"},
		"two answers":      {answer("[]") + answer("[]"), "after top-level value"},
		"unknown key":      {strings.Replace(answer("[]"), "version", "versions", 1), `"/versions" is not known`},
		"other version":    {strings.Replace(answer("[]"), ":1,", ":2,", 1), "version 2"},
		"other text":       {strings.Replace(answer("[]"), sum[:8], "00000000", 1), "about another text"},
		"no findings":      {answer("null"), "no findings"},
		"before the text":  {finding(-1, 3, ""), "no place"},
		"behind the text":  {finding(0, 10, ""), "no place"},
		"empty place":      {finding(3, 3, ""), "no place"},
		"a tier of its":    {finding(0, 3, `,"tier":"release"`), "neither withhold nor refuse"},
		"no reason":        {answer(`[{"from":0,"to":3}]`), "reason"},
		"long reason":      {strings.Replace(finding(0, 3, ""), "a word", strings.Repeat("x", 201), 1), "reason"},
		"controls":         {strings.Replace(finding(0, 3, ""), "a word", `a\u001b[2J`, 1), "reason"},
		"too many":         {answer("[" + strings.Repeat(`{"from":0,"to":1,"reason":"x"},`, 1000) + `{"from":0,"to":1,"reason":"x"}]`), "1001 findings"},
		"longer than ever": {strings.Repeat(" ", 1<<20+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Filter{Name: "odd", Socket: serve(t, func(c net.Conn) { _, _ = c.Write([]byte(tt.answer)) }), Timeout: time.Minute}
			_, err := f.Ask(t.Context(), Question{Channel: "stdout", Text: []byte(text)})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "filter odd: ") {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
	f := Filter{Name: "fine", Timeout: time.Minute,
		Socket: serve(t, func(c net.Conn) { _, _ = c.Write([]byte(finding(0, 4, `,"tier":"refuse"`))) })}
	got, err := f.Ask(t.Context(), Question{Channel: "stdout", Text: []byte(text)})
	if err != nil || len(got) != 1 || !got[0].Refuses() {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNoAnswer: a filter that is not there, or that does not answer, is an error.
func TestNoAnswer(t *testing.T) {
	q := Question{Channel: "stdout", Text: []byte("x")}
	gone := Filter{Name: "gone", Socket: filepath.Join(t.TempDir(), "none"), Timeout: time.Second}
	if _, err := gone.Ask(t.Context(), q); err == nil {
		t.Error("no socket, and an answer")
	}
	never := func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<20)); select {} }
	for name, f := range map[string]Filter{
		"socket":  {Name: "mute", Socket: serve(t, never), Timeout: 100 * time.Millisecond},
		"command": {Name: "mute", Command: []string{"/bin/sleep", "1000"}, Timeout: 100 * time.Millisecond},
	} {
		if _, err := f.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "no answer within") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Timeout = time.Hour
		if _, err := f.Ask(ctx, q); err == nil {
			t.Errorf("%s: an answer after the node stopped", name)
		}
	}
	missing := Filter{Name: "missing", Command: []string{"/nowhere/filter"}, Timeout: time.Minute}
	if _, err := missing.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "/nowhere/filter") {
		t.Error(err)
	}
}

// serve answers every connection, after it has read the question.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "f") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var q json.RawMessage
				if json.NewDecoder(c).Decode(&q) == nil {
					answer(c)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"version":1,"sha256":"s","findings":[{"from":0,"to":2,"tier":"refuse","reason":"x"}]}`), 5)
	f.Fuzz(func(t *testing.T, answer []byte, size int) {
		found, err := parseAnswer(answer, "s", size)
		for _, g := range found {
			if err != nil || g.From < 0 || g.From >= g.To || g.To > size || g.Tier != TierWithhold && g.Tier != TierRefuse {
				t.Fatalf("%+v of %d bytes, %v", g, size, err)
			}
		}
	})
}
