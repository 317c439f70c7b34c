package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// judgeVar names the binary of go-judge, which no package has.
const judgeVar = "GOJUDGE"

// peer is another way to run the same program.
type peer struct {
	name string
	// run runs it once, to its end, its output read.
	run func(ctx context.Context) error
	// close ends what run needed.
	close func() error
}

// peers are those that this machine has. n must be serving: its images are used.
func peers(o options, n *node, dir, language string, argv []string) ([]peer, error) {
	image := n.cfg.Backends.ERA.Languages[language].Image
	root := filepath.Join(n.cfg.RunDir(), "roots", strings.TrimPrefix(image, "sha256:"))
	if _, err := os.Stat(filepath.Join(root, "usr")); err != nil {
		return nil, fmt.Errorf("the image's root is not mounted: %w", err)
	}
	all := []peer{{name: "bare process", run: func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "/usr/bin/"+argv[0], argv[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		return output(cmd)
	}}}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		all = append(all, peer{name: "bwrap", run: func(ctx context.Context) error {
			args := []string{"--ro-bind", root, "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--die-with-parent"}
			return output(exec.CommandContext(ctx, bwrap, append(args, argv...)...))
		}})
	}
	if runc, err := exec.LookPath("runc"); err == nil {
		p, err := runcPeer(runc, filepath.Join(dir, "runc-"+language), root, argv)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if ctr, err := exec.LookPath("ctr"); err == nil {
		socket := filepath.Join(n.cfg.ContainerdState(), "containerd.sock")
		serial := 0
		all = append(all, peer{name: "ctr run --rm", run: func(ctx context.Context) error {
			serial++
			id := fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano()+int64(serial))
			args := []string{"--address", socket, "--namespace", n.cfg.Containerd.Namespace, "run", "--rm", "threegate.invalid/image@" + image, id}
			return output(exec.CommandContext(ctx, ctr, append(args, argv...)...))
		}})
	}
	if judge := os.Getenv(judgeVar); judge != "" {
		p, err := judgePeer(judge, filepath.Join(dir, "judge-"+language), root, argv, slicesMax(o.clients))
		if err != nil {
			return nil, fmt.Errorf("go-judge: %w", err)
		}
		all = append(all, p)
	}
	for i := range all {
		all[i].name += ", " + language
	}
	return all, nil
}

func slicesMax(s []int) int {
	m := s[0]
	for _, n := range s {
		m = max(m, n)
	}
	return m
}

// output runs a command that must print "1".
func output(cmd *exec.Cmd) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, stderr.String())
	}
	if string(out) != "1\n" {
		return fmt.Errorf("%s printed %q", filepath.Base(cmd.Path), out)
	}
	return nil
}

// runcPeer runs a bundle with runc's own default configuration.
func runcPeer(runc, bundle, root string, argv []string) (peer, error) {
	if err := os.MkdirAll(bundle, 0o755); err != nil {
		return peer{}, err
	}
	cmd := exec.Command(runc, "spec")
	cmd.Dir = bundle
	if out, err := cmd.CombinedOutput(); err != nil {
		return peer{}, fmt.Errorf("runc spec: %w: %s", err, out)
	}
	file := filepath.Join(bundle, "config.json")
	data, err := os.ReadFile(file)
	if err != nil {
		return peer{}, err
	}
	var s specs.Spec
	if err := json.Unmarshal(data, &s); err != nil {
		return peer{}, err
	}
	s.Root = &specs.Root{Path: root, Readonly: true}
	s.Process.Terminal, s.Process.Args, s.Process.Cwd = false, argv, "/"
	if data, err = json.Marshal(&s); err != nil {
		return peer{}, err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return peer{}, err
	}
	return peer{name: "runc run", run: func(ctx context.Context) error {
		id := "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		return output(exec.CommandContext(ctx, runc, "run", "--bundle", bundle, id))
	}}, nil
}

// judgePeer starts go-judge, which keeps sandboxes and uses them again.
func judgePeer(judge, dir, root string, argv []string, parallelism int) (peer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return peer{}, err
	}
	var mounts strings.Builder
	mounts.WriteString("mount:\n")
	for _, d := range []string{"bin", "lib", "lib64", "usr", "etc"} {
		if _, err := os.Stat(filepath.Join(root, d)); err == nil {
			fmt.Fprintf(&mounts, "  - {type: bind, source: %q, target: /%s, readonly: true}\n", filepath.Join(root, d), d)
		}
	}
	mounts.WriteString("  - {type: bind, source: /dev/null, target: /dev/null}\n  - {type: bind, source: /dev/urandom, target: /dev/urandom}\n")
	mounts.WriteString("  - {type: tmpfs, target: /w, data: \"size=64m,nr_inodes=4k\"}\n  - {type: tmpfs, target: /tmp, data: \"size=64m,nr_inodes=4k\"}\nproc: true\nworkDir: /w\nhostName: judge\ndomainName: judge\n")
	conf := filepath.Join(dir, "mount.yaml")
	if err := os.WriteFile(conf, []byte(mounts.String()), 0o644); err != nil {
		return peer{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // to find a free port
	if err != nil {
		return peer{}, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return peer{}, err
	}
	var log bytes.Buffer
	cmd := exec.Command(judge, "-http-addr", address, "-mount-conf", conf, "-dir", filepath.Join(dir, "files"), "-parallelism", strconv.Itoa(parallelism), "-silent")
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		return peer{}, err
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = &log, &log, dir
	if err := cmd.Start(); err != nil {
		return peer{}, err
	}
	// files: stdin, stdout, stderr; times in nanoseconds
	body, err := json.Marshal(map[string]any{"cmd": []any{map[string]any{
		"args": append([]string{"/usr/bin/" + argv[0]}, argv[1:]...), "env": []string{"PATH=/usr/bin:/bin"},
		"files":    []any{map[string]any{"content": ""}, map[string]any{"name": "stdout", "max": 10240}, map[string]any{"name": "stderr", "max": 10240}},
		"cpuLimit": 10_000_000_000, "clockLimit": 30_000_000_000, "memoryLimit": 1 << 30, "procLimit": 50,
	}}})
	if err != nil {
		return peer{}, err
	}
	stop := func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
		return err
	}
	p := peer{name: "go-judge", close: stop, run: func(ctx context.Context) error {
		return askJudge(ctx, "http://"+address+"/run", body)
	}}
	for range 100 {
		if err = p.run(context.Background()); err == nil {
			return p, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return peer{}, errors.Join(err, stop(), errors.New(log.String()))
}

func askJudge(ctx context.Context, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var got []struct {
		Status string            `json:"status"`
		Files  map[string]string `json:"files"`
	}
	if err := json.Unmarshal(data, &got); err != nil || len(got) != 1 || got[0].Status != "Accepted" || got[0].Files["stdout"] != "1\n" {
		return fmt.Errorf("it answered %s (%v)", data, err)
	}
	return nil
}
