package bundle

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// tree makes files below a fresh folder; a value of "/" makes a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if content == "/" {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const request, result = "---\nrequest_type: tool_request\n---\n", "---\n\"result_type\" : tool_result\n---\n"

func TestSniff(t *testing.T) {
	for head, want := range map[string]schemas.Kind{
		request:                            schemas.KindRequest,
		result:                             schemas.KindResult,
		"\xef\xbb\xbf" + request:           schemas.KindRequest,
		"---\r\nresult_type: x\r\n---\r\n": schemas.KindResult,
		"---\na: b\n---\nrequest_type: x":  "",
		"":                                 "",
		"---":                              "",
		"request_type: x":                  "",
		"---\n# request_type\n":            "",
	} {
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("Sniff(%q) = %q, want %q", head, got, want)
		}
	}
}

func walk(t *testing.T, paths ...string) (found []string, failed []string) {
	t.Helper()
	err := Walk(t.Context(), paths, func(it Item) bool {
		if it.Err != nil {
			failed = append(failed, filepath.Base(it.Path))
		} else {
			found = append(found, it.Path)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, failed
}

func TestWalkTakesDocumentsOnly(t *testing.T) {
	dir := tree(t, map[string]string{
		"TR-a.md": "anything", "b/TS-b.md": "", "c/note.md": "# no document", "c/request.md": request,
		"c/result.md":              result,
		"TR-a.inputs/TR-inside.md": request, "TS-b.artifacts/TS-inside.md": result, ".hidden/TR-h.md": request,
		".TR-temp.md": request,
		"data.txt":    request, "TR-dir.md/TR-below.md": request,
	})
	// A loop, and a link that is no loop.
	if err := os.Symlink(dir, filepath.Join(dir, "b", "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("TR-a.md", filepath.Join(dir, "TR-link.md")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "c", "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	found, failed := walk(t, dir, filepath.Join(dir, "TR-a.md"), filepath.Join(dir, "nope.md"))
	for i, f := range found {
		found[i], _ = filepath.Rel(dir, f)
	}
	// The link is given out so that it is refused by name, not overlooked.
	want := []string{"TR-a.md", "TR-dir.md/TR-below.md", "TR-link.md", "b/TS-b.md", "c/request.md", "c/result.md"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if !slices.Equal(failed, []string{"nope.md"}) {
		t.Errorf("failed %q", failed)
	}
	if _, err := ReadDocument(filepath.Join(dir, "TR-link.md"), false, 10); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("a link that nobody named was followed: %v", err)
	}
	if data, err := ReadDocument(filepath.Join(dir, "TR-link.md"), true, 100); err != nil || string(data) != "anything" {
		t.Errorf("a link that somebody named: %q, %v", data, err)
	}
}

func TestWalkStops(t *testing.T) {
	dir := tree(t, map[string]string{"TR-a.md": "", "TR-b.md": "", "TR-c.md": ""})
	n := 0
	if err := Walk(t.Context(), []string{dir}, func(Item) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d items, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Walk(ctx, []string{dir}, func(Item) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled walk gave %v", err)
	}
}

// TestReadNeverHangs opens everything that could make a reader wait.
func TestReadNeverHangs(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, p := range []string{pipe, filepath.Join(dir, "socket"), "/dev/zero", "/dev/tty", dir} {
		if _, err := ReadDocument(p, true, 1<<20); err == nil {
			t.Errorf("%s was read", p)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big.md")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	// 10 GB that take no room.
	if err := errors.Join(f.Truncate(10<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := ReadDocument(big, true, 1<<20)
	if err != nil || len(data) != 1<<20+1 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestReadStreamEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = w.Write([]byte("x")) // it reads
		cancel()
	}()
	if _, err := ReadStream(ctx, r, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
