package loopback_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/loopback"
)

const bearer = "0123456789abcdef0123456789abcdef"

func TestOnlyLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "localhost:0", "evil.example:0",
		"127.0.0.1", "[::ffff:192.0.2.1]:0", ""} {
		l, err := loopback.Listen(address)
		if err == nil {
			_ = l.Close()
			t.Errorf("%q is served at %s", address, l.Addr())
		}
	}
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		t.Error(ip)
	}
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", bearer+"\n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{good, file("owner only reads", bearer, 0o400)} {
		if token, err := loopback.ReadToken(path); err != nil || token != bearer {
			t.Errorf("%s: %q, %v", filepath.Base(path), token, err)
		}
	}
	for _, path := range []string{link, dir, filepath.Join(dir, "missing"), file("group", bearer, 0o640),
		file("others", bearer, 0o604), file("short", bearer[1:], 0o600), file("empty", "", 0o600),
		file("lines", bearer+"\n"+bearer+"\n", 0o600), file("bytes", bearer+"\x00", 0o600), file("space", bearer+" \n", 0o600),
		file("long", strings.Repeat("x", 5000), 0o600)} {
		if _, err := loopback.ReadToken(path); err == nil {
			t.Errorf("%s is taken for a key", filepath.Base(path))
		}
	}
}
