package git

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// serveGit is git's own server of the repositories below a folder, at /git/, and what a test adds.
func serveGit(t *testing.T, root string) (*http.ServeMux, *httptest.Server) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "")
	}
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{Path: filepath.Join(strings.TrimSpace(plain(t, root, "--exec-path")), "git-http-backend"),
		Root: "/git", Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_NOSYSTEM=1"}, Logger: log.New(io.Discard, "", 0), Stderr: io.Discard})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return mux, s
}

// hosts is a registry of hosts. An address that it lists may be private.
func hosts(t *testing.T, domains string) *registry.Registry {
	t.Helper()
	r, err := registry.Parse([]byte("version: 1\nnetwork: {allowed_domains: [" + domains + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPullFromServer pulls from git's own server, and compares with what the server's repository has.
func TestPullFromServer(t *testing.T) {
	source, bundle := origin(t)
	mux, s := serveGit(t, filepath.Dir(source))
	rules := hosts(t, "127.0.0.1")
	address := s.URL + "/git/" + filepath.Base(source)
	head := func(dir, rev string) string {
		t.Helper()
		return strings.TrimSpace(plain(t, dir, "rev-parse", "--verify", rev+"^{commit}"))
	}
	pull := func(b *bench, remote string, rebase bool) {
		t.Helper()
		if _, err := b.call(rules, "git_pull", map[string]any{"remote": remote, "rebase": rebase}); err != nil {
			t.Fatalf("%s: %v", remote, err)
		}
	}
	b := imported(t, bundle)
	came := head(source, "main")
	pull(b, address, true)
	if head(b.repo.dir, "HEAD") != came {
		t.Error("nothing was new, and something moved")
	}
	(&bench{t: t, dir: source}).write("b", "theirs\n")
	plain(t, source, "commit", "-q", "-a", "-m", "feat: theirs")
	plain(t, source, "branch", "other")
	plain(t, source, "tag", "v2")
	theirs := head(source, "main")
	pull(b, address+"/", true)
	if head(b.repo.dir, "HEAD") != theirs {
		t.Error("it did not move forward")
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "b")); string(got) != "theirs\n" {
		t.Errorf("b is %q, %v", got, err)
	}
	if refs := plain(t, b.repo.dir, "for-each-ref", "--format=%(refname)"); strings.Contains(refs, "other") ||
		strings.Contains(refs, "v2") || !strings.Contains(refs, "refs/remotes/127.0.0.1/main\n") {
		t.Errorf("the references are\n%s", refs)
	}

	// A branch with more commits of its own than one question to the server names, and that the server lacks.
	var commits strings.Builder
	for i := range 100 {
		fmt.Fprintf(&commits, "commit refs/heads/feat/x\ncommitter a <a@b> %d +0000\ndata 1\nx\n", 2_000_000_000+i)
		if i == 0 {
			fmt.Fprintf(&commits, "from %s\n", came)
		}
		fmt.Fprintf(&commits, "M 644 inline new\ndata %d\n%d\n\n", len(fmt.Sprint(i)), i)
	}
	var asked int
	mux.HandleFunc("/counted/", func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.StripPrefix("/counted", mux).ServeHTTP(w, r)
	})
	mux.HandleFunc("/moved/{n}/", func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"1": "/counted/git/" + filepath.Base(source), "2": "/moved/1", "3": "/moved/2"}[r.PathValue("n")]
		http.Redirect(w, r, to+"/info/refs?"+r.URL.RawQuery, http.StatusMovedPermanently)
	})
	for remote, rebase := range map[string]bool{address: true, s.URL + "/moved/3": false} {
		b := imported(t, bundle)
		cmd := exec.Command("git", "--git-dir="+b.repo.dir, "fast-import", "--quiet")
		cmd.Stdin = strings.NewReader(commits.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b.must("git_checkout", map[string]any{"target": "feat/x"})
		pull(b, remote, rebase)
		if want := map[bool]string{true: "HEAD~100", false: "HEAD^2"}[rebase]; head(b.repo.dir, want) != theirs {
			t.Errorf("rebase %v: %s is not theirs", rebase, want)
		}
		plain(t, b.repo.dir, "fsck", "--strict")
	}
	if asked < 3 { // the list, and two questions
		t.Errorf("asked %d times: no question was split", asked)
	}
}

// line frames a line as git does.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// list is the list of what a server has.
func list(lines ...string) string {
	for i := range lines {
		lines[i] = line(lines[i])
	}
	return line("# service=git-upload-pack\n") + "0000" + strings.Join(lines, "") + "0000"
}

// TestHostileServers: what is refused leaves nothing within reach of a call.
func TestHostileServers(t *testing.T) {
	source, bundle := origin(t)
	root := t.TempDir()
	b := imported(t, bundle)
	before := b.state(b.repo.dir)
	mux, s := serveGit(t, root)
	local := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	const refs, query = "/info/refs", "/info/refs?service=git-upload-pack"

	// fake serves a list, and answers every question in the same way.
	fake := func(name, list, kind string, answer func(w http.ResponseWriter)) {
		mux.HandleFunc("GET /"+name+refs, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			io.WriteString(w, list)
		})
		mux.HandleFunc("POST /"+name+"/git-upload-pack", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			answer(w)
		})
	}
	const result = "application/x-git-upload-pack-result"
	says := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { io.WriteString(w, text) }
	}
	endless := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for {
				if _, err := io.WriteString(w, text); err != nil {
					return
				}
			}
		}
	}
	// A commit that only servers have; its tree, and a file in that.
	(&bench{t: t, dir: source}).write("z", "theirs\n")
	plain(t, source, "add", "z")
	plain(t, source, "commit", "-q", "-m", "feat: z")
	id := strings.TrimSpace(plain(t, source, "rev-parse", "main"))
	good := list(id+" refs/heads/main\x00side-band-64k", id+" refs/heads/other")
	pack := func(objects string) string {
		cmd := exec.Command("git", "pack-objects", "--stdout", "-q")
		cmd.Dir, cmd.Stdin = source, strings.NewReader(objects)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return line("NAK\n") + line("\x01"+string(out)) + "0000"
	}
	tree := strings.TrimSpace(plain(t, source, "rev-parse", "main^{tree}"))
	fake("no-blob", good, result, says(pack(id+"\n"+tree+"\n")))
	fake("no-tree", good, result, says(pack(id+"\n")))
	empty := "PACK\x00\x00\x00\x02\x00\x00\x00\x00"
	sum := sha1.Sum([]byte(empty))
	fake("empty", good, result, says(line("NAK\n")+line("\x01"+empty+string(sum[:]))+"0000"))
	fake("short", good, result, says(pack(id + "\n" + tree + "\n")[:60]))
	fake("no-git", good, result, says("<html>"))
	fake("html", good, "text/html", says("NAK"))
	fake("silent", good, result, says(""))
	fake("error", good, result, says(line("ERR \x1b[31mno\n")))
	fake("endless", good, result, func(w http.ResponseWriter) {
		io.WriteString(w, line("NAK\n"))
		endless(line("\x02" + strings.Repeat("x", 60_000)))(w)
	})
	fake("v2", list("version 2\n", "ls-refs\n"), result, says(""))
	fake("shallow", list(id+" refs/heads/main\x00shallow", "shallow "+id), result, says(""))
	fake("sha256", list(strings.Repeat("a", 64)+" refs/heads/main\x00object-format=sha256"), result, says(""))
	fake("none", list(strings.Repeat("0", 40)+" capabilities^{}\x00side-band-64k"), result, says(""))
	fake("cut", good[:70], result, says(""))
	fake("framed", list()+"zzzz", result, says(""))
	fake("frame", strings.Replace(good, "0000", "000300", 1), result, says(""))
	for _, name := range []string{"--upload-pack=evil", "../../heads/main", "x.lock", "HEAD"} {
		fake("name/"+strings.ReplaceAll(url.PathEscape(name), "%2F", "!"), list(id+" HEAD\x00symref=HEAD:refs/heads/"+name, id+" refs/heads/"+name), result,
			says(""))
	}
	mux.HandleFunc("/endless-list"+refs, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, strings.TrimSuffix(good, "0000"))
		endless(line(id + " refs/tags/" + strings.Repeat("x", 60_000)))(w)
	})
	mux.HandleFunc("/password"+refs, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusUnauthorized) })
	mux.HandleFunc("/dumb"+refs, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, id+"\trefs/heads/main\n") })
	fake("post-moved", good, result, nil)
	mux.HandleFunc("/post"+refs, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, good)
	})
	mux.Handle("/post/git-upload-pack", http.RedirectHandler("/silent/git-upload-pack", http.StatusTemporaryRedirect))
	for name, to := range map[string]string{"loop": "/loop" + query, "name": local + "/good" + query, "private": "http://10.0.0.1/x" + query,
		"cloud": "http://169.254.169.254/latest" + query, "file": "file:///etc/passwd", "page": "/dumb",
		"user": strings.Replace(s.URL, "//", "//u:p@", 1) + "/silent" + query, "host": "https://example.org/x" + query} {
		mux.Handle("/"+name+refs, http.RedirectHandler(to, http.StatusFound))
	}

	refused := func(remote, domains string, code contract.Code, says string) {
		t.Helper()
		_, err := b.call(hosts(t, domains), "git_pull", map[string]any{"remote": remote})
		if err == nil || err.Code != code || !strings.Contains(err.Message, says) {
			t.Errorf("%q: %v", remote, err)
		}
		if after := b.state(b.repo.dir); after != before {
			t.Errorf("%q changed\n%s\nto\n%s", remote, before, after)
		}
		left, err2 := filepath.Glob(filepath.Join(b.repo.dir, "pull-*"))
		if _, err := b.call(nil, "git_checkout", map[string]any{"target": id}); err == nil || len(left) > 0 || err2 != nil {
			t.Errorf("%q: left behind: %v, or %s can be checked out: %v", remote, left, id, err)
		}
	}
	for remote, want := range map[string]struct {
		code contract.Code
		says string
	}{
		"no-blob": {contract.Git, ""}, "no-tree": {contract.Git, ""}, "empty": {contract.Git, "rev-parse"},
		"short": {contract.Git, ""}, "no-git": {contract.Git, ""}, "html": {contract.HTTP, "not git's"},
		"silent": {contract.Git, ""}, "error": {contract.Git, ""}, "endless": {contract.HTTP, "MiB"},
		"endless-list": {contract.HTTP, "MiB"}, "v2": {contract.HTTP, "protocol"}, "shallow": {contract.HTTP, "shallow"},
		"sha256": {contract.HTTP, "protocol"}, "none": {contract.Git, "branches"}, "cut": {contract.HTTP, "EOF"},
		"framed": {contract.Git, "branches"}, "frame": {contract.HTTP, "protocol"},
		"password": {contract.HTTP, "password"}, "dumb": {contract.HTTP, "not git's"}, "absent": {contract.HTTP, "404"},
		"post": {contract.Policy, "redirect"}, "loop": {contract.Policy, "redirects"}, "name": {contract.Policy, "localhost"},
		"private": {contract.Policy, "10.0.0.1"}, "cloud": {contract.Policy, "169"}, "file": {contract.Policy, "scheme"},
		"page": {contract.HTTP, ""}, "user": {contract.Policy, "user"}, "host": {contract.Policy, "example.org"},
	} {
		refused(s.URL+"/"+remote, "127.0.0.1", want.code, want.says)
	}
	refused(s.URL+"/good", "example.org", contract.Policy, "allowed_domains")
	refused(local+"/good", "localhost", contract.Policy, "not a public address")
	refused(strings.Replace(s.URL, "//", "//u:p@", 1)+"/silent", "127.0.0.1", contract.Policy, "user")
	for _, form := range []string{"https://127.0.0.1", "https://127.0.0.1/", "/x?y", "/x?", "/x#y", "/x\n", "https://", "https://origin/x"} {
		if strings.HasPrefix(form, "/") {
			form = s.URL + form
		}
		refused(form, "127.0.0.1, origin", contract.Validation, "")
	}
	refused("https:///x", "127.0.0.1", contract.Policy, "")
	refused(s.URL+"/--upload-pack=evil", "127.0.0.1", contract.HTTP, "404")

	// What git's own server has is held to the same as a bundle.
	for name, bundle := range map[string]string{"tree": evil(t, "40000 .git="), "path": evil(t, "100644 ../x=evil"),
		"modules": evil(t, "100644 .gitmodules=[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=evil\n")} {
		plain(t, root, "init", "-q", "--bare", name)
		plain(t, filepath.Join(root, name), "-c", "transfer.fsckObjects=false", "fetch", "-q", bundle, "main:main")
		id = strings.TrimSpace(plain(t, filepath.Join(root, name), "rev-parse", "main"))
		refused(s.URL+"/git/"+name, "127.0.0.1", contract.Git, "fetch-pack")
	}

	// A branch that servers lack gets that of their HEAD, whatever its name.
	b.must("git_checkout", map[string]any{"target": "feat/x", "create": true})
	before = b.state(b.repo.dir)
	id = strings.Repeat("1", 40)
	for name, code := range map[string]contract.Code{"--upload-pack=evil": contract.Validation, "../../heads/main": contract.Validation,
		"x.lock": contract.Validation, "HEAD": contract.Validation} {
		refused(s.URL+"/name/"+strings.ReplaceAll(url.PathEscape(name), "%2F", "!"), "127.0.0.1", code, "")
	}
}

// TestPullIsStopped: the end of a call's time ends git, also while a server is silent.
func TestPullIsStopped(t *testing.T) {
	source, bundle := origin(t)
	b := imported(t, bundle)
	before := b.state(b.repo.dir)
	mux, s := serveGit(t, filepath.Dir(source))
	ctx, cancel := context.WithCancel(t.Context())
	mux.HandleFunc("/slow"+"/info/refs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, list(strings.Repeat("1", 40)+" refs/heads/main\x00side-band-64k"))
	})
	mux.HandleFunc("/slow/git-upload-pack", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		io.WriteString(w, line("NAK\n"))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	args, err := json.Marshal(map[string]any{"remote": s.URL + "/slow"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range Tools(b.repo, hosts(t, "127.0.0.1")) {
		if tool.Name == "git_pull" {
			c, err := tool.Prepare(args)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(ctx); err == nil || ctx.Err() == nil {
				t.Errorf("it ended with %v", err)
			}
		}
	}
	if after := b.state(b.repo.dir); after != before {
		t.Errorf("it changed\n%s\nto\n%s", before, after)
	}
}
