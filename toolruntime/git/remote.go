package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/fetch"
	"github.com/threegate/tool-exec/toolruntime/proc"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

const (
	// maxPull bounds what a server sends in one pull, maxRefs its list of references, in bytes.
	maxPull    = 64 << 20
	maxRefs    = 16 << 20
	maxAddress = 2048

	service = "git-upload-pack"
	refsOf  = "/info/refs?service=" + service
)

// server is a repository at an address. It is hostile. git has no way to the network: git fetch-pack says what to ask
// the server for and reads the answers, and what carries both is here.
type server struct {
	rules *registry.Registry
	base  string
	// list is what the server has, as fetch-pack reads it.
	list []byte
	// branches have their commits' ids. HEAD has the commit head; to may be the branch.
	branches map[string]string
	head, to string
	// left are bytes that it may still send.
	left int64
}

// download takes one branch of a server: that with the name branch, or else that of its HEAD. It returns its name here,
// such as example.org/main. The objects are checked apart: no call can reach those that are refused.
func (k keeper) download(ctx context.Context, address, branch string) (string, error) {
	host, err := hostOf(address)
	if err != nil {
		return "", err
	}
	s := &server{rules: k.rules, base: strings.TrimRight(address, "/"), branches: map[string]string{}, left: maxPull}
	if err := s.open(ctx); err != nil {
		return "", err
	}
	if _, ok := s.branches[branch]; !ok {
		if branch, err = s.main(); err != nil {
			return "", err
		}
	}
	if err := k.branchName(ctx, branch); err != nil {
		return "", err
	}
	apart, env, err := k.apart()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(apart)
	if err := k.receive(ctx, s, branch, env); err != nil {
		return "", err
	}
	if err := k.keep(apart); err != nil {
		return "", err
	}
	name := host + "/" + branch
	_, err = k.git(ctx, "update-ref", "refs/remotes/"+name, s.branches[branch])
	return name, err
}

// hostOf judges the form of an address; whether its host is allowed is judged where it is asked.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" || u.Path == "/" || strings.ContainsAny(address, "?#") {
		return "", contract.Errorf(contract.Validation, "the address is not https://HOST/PATH")
	}
	host := strings.ToLower(u.Hostname())
	if host == Remote { // the branches of that are what pushes are compared with
		return "", contract.Errorf(contract.Validation, "a host can't be named %s", Remote)
	}
	return host, nil
}

// ask sends a request, with what git fetch-pack wants to say if there is any.
func (s *server) ask(ctx context.Context, path, kind string, body []byte) (*http.Response, error) {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		method, content = http.MethodPost, bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, contract.Errorf(contract.Validation, "the address can't be asked")
	}
	req.Header.Set("User-Agent", "git/2 (threegate-tools)")
	if body != nil {
		req.Header.Set("Content-Type", "application/x-"+service+"-request")
	}
	resp, err := fetch.Do(s.rules, req)
	if err != nil {
		return nil, err
	}
	switch got := resp.Header.Get("Content-Type"); {
	case resp.StatusCode == http.StatusUnauthorized:
		err = contract.Errorf(contract.HTTP, "the server asks for a password, and git_pull has none")
	case resp.StatusCode != http.StatusOK:
		err = contract.Errorf(contract.HTTP, "the server answers with status %d", resp.StatusCode)
	case got != "application/x-"+service+"-"+kind:
		err = contract.Errorf(contract.HTTP, "the server's answer is %q, not git's", got).
			WithHint("the address is that of a repository, as git clone takes it")
	}
	if err != nil {
		resp.Body.Close()
	}
	return resp, err
}

// open gets the list of what the server has. After a redirect, the repository is where that led.
func (s *server) open(ctx context.Context) error {
	resp, err := s.ask(ctx, refsOf, "advertisement", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	base, ok := strings.CutSuffix(resp.Request.URL.String(), refsOf)
	if !ok {
		return contract.Errorf(contract.HTTP, "the server redirects to what is no repository")
	}
	s.base = base
	err = s.read(http.MaxBytesReader(nil, resp.Body, maxRefs))
	s.left -= int64(len(s.list))
	return tooMuch(ctx, err)
}

// objectID is a name of SHA-1: git 2.39 reads no other here.
var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// read reads the list: one reference a line, and at the first of them what the server can do.
func (s *server) read(from io.Reader) error {
	for _, want := range []string{"# service=" + service, ""} {
		if line, err := packet(from); err != nil || string(bytes.TrimSuffix(line, []byte("\n"))) != want {
			return errors.Join(err, errForm)
		}
	}
	var list bytes.Buffer
	from = io.TeeReader(from, &list)
	for first := true; ; first = false {
		line, err := packet(from)
		if err != nil {
			return err
		}
		if line == nil {
			s.list = list.Bytes()
			return nil
		}
		text, abilities, _ := strings.Cut(string(bytes.TrimSuffix(line, []byte("\n"))), "\x00")
		id, ref, _ := strings.Cut(text, " ")
		if !objectID.MatchString(id) {
			return errForm // of a version of the protocol that was not asked for, or of a shallow repository
		}
		for can := range strings.FieldsSeq(abilities) {
			if to, ok := strings.CutPrefix(can, "symref=HEAD:refs/heads/"); ok && first {
				s.to = to
			}
		}
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			s.branches[name] = id
		} else if ref == "HEAD" {
			s.head = id
		}
	}
}

// main is the branch of HEAD.
func (s *server) main() (string, error) {
	if _, ok := s.branches[s.to]; ok {
		return s.to, nil
	}
	return contract.ChooseBranch(s.branches, s.head)
}

// receive lets git fetch a branch. env says where objects go.
func (k keeper) receive(ctx context.Context, s *server, branch string, env []string) error {
	id := s.branches[branch]
	// With --keep it makes a pack of however few objects. Without --lock-pack that crashes git 2.39.
	args := []string{"fetch-pack", "--stateless-rpc", "--stdin", "--keep", "--lock-pack", "--quiet",
		"--no-progress", "server"}
	c := proc.Command{Argv: append([]string{"git", "--no-pager"}, args...), Dir: k.w.Dir,
		Env: slices.Concat(k.environ(), env)}
	p, err := proc.Start(ctx, c)
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%s refs/heads/%s\n", id, branch)
	_, err = fmt.Fprintf(p.In, "%04x%s0000%s", len(want)+4, want, s.list)
	for more := true; more && err == nil; {
		more, err = s.carry(ctx, p.In, p.Out)
	}
	if err = gone(err); err != nil {
		p.Kill()
	}
	out := p.Wait()
	if err = errors.Join(err, ctx.Err()); err == nil && out.Code != 0 {
		err = refusal(args[0], out)
	}
	if err != nil {
		return err
	}
	// All that the commit is made of has to be there, as git fetch looks, and then has to be what it should be.
	for _, args := range [][]string{{"rev-parse", "--verify", "--quiet", id + "^{commit}"},
		{"rev-list", "--objects", "--quiet", id, "--not", "--all"}} {
		if _, err := k.must(ctx, command{args: args, env: env}); err != nil {
			return err
		}
	}
	return k.check(ctx, env...)
}

// carry takes one request of fetch-pack's to the server, and the answer back. A request is lines up to a flush; one
// without a line is the end.
func (s *server) carry(ctx context.Context, in io.Writer, out io.Reader) (more bool, err error) {
	var body []byte
	for {
		line, err := packet(out)
		if err != nil || line == nil && body == nil { // without an end, git has failed: its exit code tells
			return false, nil
		}
		if line == nil {
			break
		}
		body = append(body, line...)
	}
	resp, err := s.ask(ctx, "/"+service, "result", body)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(in, http.MaxBytesReader(nil, resp.Body, s.left))
	s.left -= n
	// What answers the last request has to hold all objects: git must not wait for more.
	return err == nil && !bytes.HasSuffix(body, []byte("0009done\n")), tooMuch(ctx, gone(err))
}

// gone takes from an error that git does not read on: its exit code tells why.
func gone(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// tooMuch is the error of a call for one of reading an answer.
func tooMuch(ctx context.Context, err error) error {
	var most *http.MaxBytesError
	if errors.As(err, &most) {
		return contract.Errorf(contract.HTTP, "the server sends more than %d MiB, or %d MiB of references",
			maxPull>>20, maxRefs>>20).WithHint("bring what is large as a bundle among the inputs")
	}
	if err != nil {
		return fetch.Failure(ctx, err)
	}
	return nil
}

// errForm says that an answer is not as git's protocol has it.
var errForm = contract.Errorf(contract.HTTP,
	"the server's answer is not of git's protocol, or its repository is shallow")

// packet reads one line as git frames it: its size in four hex digits, then the line. A flush, which ends a list, is
// nil.
func packet(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(string(size[:]), 16, 16)
	if err == nil && n == 0 {
		return nil, nil
	}
	if err != nil || n < uint64(len(size)) {
		return nil, errForm
	}
	line := make([]byte, n-uint64(len(size)))
	_, err = io.ReadFull(from, line)
	return line, err
}

// keep moves packs to where calls reach them. git takes one into use by its index, which comes last.
func (k keeper) keep(apart string) error {
	to := filepath.Join(k.dir, "objects", "pack")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	from := filepath.Join(apart, "pack")
	for _, end := range []string{".pack", ".rev", ".idx"} {
		found, err := fs.Glob(os.DirFS(from), "pack-*"+end)
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
