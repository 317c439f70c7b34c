package containerd

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/threegate/tool-exec/executors/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// private is a containerd of the test's own, gone at its end.
func private(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tc") // a socket's path must be short
	must(t, err)
	cfg := Config{Private: Private{Root: filepath.Join(dir, "r"), State: filepath.Join(dir, "s")}}
	t.Cleanup(func() {
		c, err := Open(context.Background(), cfg)
		must(t, err)
		must(t, c.Stop(context.Background()))
		must(t, os.RemoveAll(dir))
	})
	return cfg
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Open(t.Context(), cfg)
	must(t, err)
	return c
}

func TestPrivateDaemon(t *testing.T) {
	cfg := private(t)
	a := mustOpen(t, cfg)
	b := mustOpen(t, cfg) // as another process of the node would
	pid := a.private.proc.pid
	if b.private.proc.pid != pid {
		t.Errorf("two daemons: %d and %d", pid, b.private.proc.pid)
	}
	if a.DaemonVersion() == "" {
		t.Error("no version")
	}
	must(t, a.Close())
	must(t, b.Close())
	c := mustOpen(t, cfg)
	if c.private.proc.pid != pid {
		t.Errorf("Close ended the daemon: it was %d and is %d", pid, c.private.proc.pid)
	}
	// It is a session of its own: what ends the gate's does not end it.
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("session %d of %d, %v", sid, pid, err)
	}
	must(t, unix.Kill(pid, unix.SIGKILL))
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := c.Version(t.Context()); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("it was not started again: %v", err)
		}
	}
	must(t, c.Stop(t.Context()))
	if _, err := os.Stat(filepath.Join(cfg.Private.State, pidName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pid file after Stop: %v", err)
	}
}

// A daemon that is not up yet is no failure, for who is patient.
func TestPatience(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	defer l.Close()
	tries := make(chan struct{}, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			tries <- struct{}{}
		}
	}()
	if _, _, err := dial(t.Context(), path, DefaultNamespace, false); status.Code(err) != codes.Unavailable {
		t.Errorf("without patience: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { _, _, err := dial(ctx, path, DefaultNamespace, true); ended <- err }()
	for range 5 {
		select {
		case <-tries:
		case err := <-ended:
			t.Fatalf("it gave up: %v", err)
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a version from nobody")
	}
}

// A pid file may name a process that has nothing to do with us.
func TestForeignPid(t *testing.T) {
	cfg := private(t)
	must(t, os.MkdirAll(cfg.Private.State, 0o700))
	for _, text := range []string{fmt.Sprintf("%d 1\n", os.Getpid()), "1 1\n", "garbage", ""} {
		must(t, os.WriteFile(filepath.Join(cfg.Private.State, pidName), []byte(text), 0o600))
		c := mustOpen(t, cfg)
		if c.private.proc.pid == os.Getpid() {
			t.Fatal("it took us for the daemon")
		}
		must(t, c.Stop(t.Context()))
	}
}

func TestOpenRefuses(t *testing.T) {
	long := "/tmp/" + strings.Repeat("x", 100)
	for want, cfg := range map[string]Config{
		"shorter state folder": {Private: Private{Root: "/tmp/r", State: long}},
		"absolute":             {Private: Private{Root: "r", State: "/tmp/s"}},
		"install containerd":   {Private: Private{Root: "/tmp/r", State: "/tmp/s", Binary: "/nonexistent/containerd"}},
		"connect":              {Address: filepath.Join(t.TempDir(), "nobody.sock")},
	} {
		if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := os.Stat(long); err == nil {
		t.Error("the folder was made all the same")
	}
}

// pack makes a layout with one image of one file.
func pack(t *testing.T) (layout, digest string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "root.tar")
	f, err := os.Create(path)
	must(t, err)
	tw := tar.NewWriter(f)
	must(t, tw.WriteHeader(&tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}))
	must(t, tw.WriteHeader(&tar.Header{Name: "etc/hello", Typeflag: tar.TypeReg, Mode: 0o644, Size: 5}))
	_, err = tw.Write([]byte("hello"))
	must(t, err)
	must(t, tw.Close())
	must(t, f.Close())
	layout = filepath.Join(t.TempDir(), "images")
	digest, err = image.Pack(path, "test", image.Config{Version: "1", Env: []string{"A=b"}}, layout)
	must(t, err)
	return layout, digest
}

func TestImageAndLayers(t *testing.T) {
	layout, digest := pack(t)
	cfg := private(t)
	c := mustOpen(t, cfg)
	defer func() { must(t, c.Close()) }()
	must(t, HasLayout(layout, digest))
	for range 2 {
		must(t, c.EnsureImage(t.Context(), layout, digest))
	}
	if env, err := c.ImageEnv(t.Context(), digest); err != nil || len(env) == 0 || env[len(env)-1] != "A=b" {
		t.Errorf("environment %v, %v", env, err)
	}
	// From here on the layout is not needed any more.
	must(t, os.RemoveAll(layout))
	must(t, c.EnsureImage(t.Context(), layout, digest))

	for range 2 {
		layers, err := c.Layers(t.Context(), digest)
		must(t, err)
		if len(layers) != 1 {
			t.Fatalf("layers %q", layers)
		}
		if data, err := os.ReadFile(filepath.Join(layers[0], "etc/hello")); err != nil || string(data) != "hello" {
			t.Errorf("%q, %v", data, err)
		}
	}
}

func TestImageRefuses(t *testing.T) {
	cfg := private(t)
	c := mustOpen(t, cfg)
	defer func() { must(t, c.Close()) }()
	ctx := t.Context()
	layout, digest := pack(t)
	blob := func(d string) string {
		return filepath.Join(layout, "blobs", "sha256", strings.TrimPrefix(d, "sha256:"))
	}

	none := "sha256:" + strings.Repeat("0", 64)
	if err := c.EnsureImage(ctx, layout, none); !errors.Is(err, ErrNoImage) {
		t.Errorf("no such image: %v", err)
	}
	if err := HasLayout(layout, none); !errors.Is(err, ErrNoImage) {
		t.Errorf("no such image: %v", err)
	}
	for _, bad := range []string{"", "latest", "sha256:../../etc/passwd", "sha512:" + strings.Repeat("0", 128)} {
		if err := c.EnsureImage(ctx, layout, bad); err == nil {
			t.Errorf("digest %q was taken", bad)
		}
	}
	manifest, err := os.ReadFile(blob(digest))
	must(t, err)
	must(t, os.WriteFile(blob(digest), append(manifest, ' '), 0o600))
	if err := c.EnsureImage(ctx, layout, digest); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Errorf("a changed manifest: %v", err)
	}
	must(t, os.WriteFile(blob(digest), manifest, 0o600))

	// Change one byte of the layer.
	blobs, err := os.ReadDir(filepath.Dir(blob(digest)))
	must(t, err)
	for _, b := range blobs {
		path := filepath.Join(filepath.Dir(blob(digest)), b.Name())
		data, err := os.ReadFile(path)
		must(t, err)
		if data[0] == '{' {
			continue
		}
		data[len(data)/2] ^= 1
		must(t, os.WriteFile(path, data, 0o600))
	}
	if err := c.EnsureImage(ctx, layout, digest); err == nil {
		t.Error("a changed layer was imported")
	}
}
