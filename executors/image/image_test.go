package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/threegate/tool-exec/executors/image"
)

type file struct {
	tar.Header
	body string
}

func reg(name, body string) file {
	return file{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, body}
}

func dir(name string) file {
	return file{tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, ""}
}

func link(name, to string) file {
	return file{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, ""}
}

func writeTar(t *testing.T, files ...file) string {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, f := range files {
		h := f.Header
		h.Size = int64(len(f.body))
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, f.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "root.tar")
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustPack(t *testing.T, tarFile, name string, cfg image.Config, layoutDir string) string {
	t.Helper()
	d, err := image.Pack(tarFile, name, cfg, layoutDir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// contents reads an image back.
func contents(t *testing.T, layoutDir, digest string) []file {
	t.Helper()
	var buf bytes.Buffer
	if err := image.Rootfs(context.Background(), layoutDir, digest, &buf); err != nil {
		t.Fatal(err)
	}
	var out []file
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file{*h, string(b)})
	}
}

func TestPackIsReproducible(t *testing.T) {
	now := time.Now()
	a := []file{dir("usr"), reg("usr/b", "bb"), reg("usr/a", "a"), link("usr/l", "a"),
		{tar.Header{Name: "usr/h", Typeflag: tar.TypeLink, Linkname: "usr/b"}, ""}}
	b := []file{reg("./usr/a", "a"), {tar.Header{Name: "/usr/l", Typeflag: tar.TypeSymlink, Linkname: "a",
		ModTime: now}, ""}, dir("usr/"), reg("usr/b", "bb"),
		{tar.Header{Name: "usr/h", Typeflag: tar.TypeLink, Linkname: "./usr/b"}, ""}}
	for i := range b {
		b[i].ModTime, b[i].Uid, b[i].Gid, b[i].Uname = now, 1000, 7, "someone"
		b[i].Format, b[i].PAXRecords = tar.FormatPAX, map[string]string{"SCHILY.xattr.security.capability": "x",
			"SCHILY.xattr.user.a": "b"}
	}
	cfg := image.Config{Version: "1.2", Recipe: "r", Env: []string{"A=b"}}
	d1, d2 := t.TempDir(), t.TempDir()
	one := mustPack(t, writeTar(t, a...), "x", cfg, d1)
	two := mustPack(t, writeTar(t, b...), "x", cfg, d2)
	if one != two {
		t.Errorf("the same files in another order, with other owners, times and attributes: %s and %s", one, two)
	}
	i1, err1 := os.ReadFile(filepath.Join(d1, "index.json"))
	i2, err2 := os.ReadFile(filepath.Join(d2, "index.json"))
	if err1 != nil || err2 != nil || !bytes.Equal(i1, i2) {
		t.Errorf("indexes differ (%v, %v):\n%s\n%s", err1, err2, i1, i2)
	}
	// What the files hash to must not move without a reason that this line then
	// states. (The digest also depends on Go's gzip.)
	const pinned = "c45db70ddde9e9249370d9b47609e165fcac68993ce52436b814a30256058b37"
	sum := sha256.New()
	if err := image.Rootfs(context.Background(), d1, one, sum); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != pinned {
		t.Errorf("the layer's tar hashes to %s, want %s", got, pinned)
	}
}

func TestPackSanitises(t *testing.T) {
	l := t.TempDir()
	d := mustPack(t, writeTar(t,
		file{tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700}, ""},
		file{tar.Header{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o7777}, ""},
		file{tar.Header{Name: "bin/su", Typeflag: tar.TypeReg, Mode: 0o6755}, "su"},
		file{tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 8}, ""},
		file{tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Mode: 0o666, Devmajor: 1, Devminor: 3}, ""},
		file{tar.Header{Name: "fifo", Typeflag: tar.TypeFifo, Mode: 0o666}, ""},
		file{tar.Header{Name: "ping", Typeflag: tar.TypeReg, Mode: 0o755, Uid: 5, Format: tar.FormatPAX,
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"}}, "p"},
	), "x", image.Config{}, l)
	got := map[string]int64{}
	for _, f := range contents(t, l, d) {
		got[f.Name] = f.Mode
		if f.Uid != 0 || f.Gid != 0 || f.Uname != "" || !f.ModTime.Equal(image.Epoch) || len(f.PAXRecords) != 0 {
			t.Errorf("%s: uid %d gid %d uname %q time %s records %v", f.Name, f.Uid, f.Gid, f.Uname, f.ModTime,
				f.PAXRecords)
		}
	}
	want := map[string]int64{"tmp/": 0o1777, "bin/": 0o755, "bin/su": 0o755, "ping": 0o755}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPackRefuses(t *testing.T) {
	long := strings.Repeat("d/", image.MaxPathLength/2) + "xx"
	cases := map[string][]file{
		"parent":            {reg("../x", "")},
		"parent inside":     {reg("a/../../x", "")},
		"parent harmless":   {reg("a/../x", "")},
		"absolute parent":   {reg("/../etc/x", "")},
		"whiteout":          {reg("etc/.wh.passwd", "")},
		"opaque":            {dir("etc/.wh..wh..opq")},
		"twice":             {reg("a", "1"), reg("./a", "2")},
		"folder and file":   {dir("a"), reg("a", "2")},
		"below a file":      {reg("a", ""), reg("a/b", "")},
		"below a link":      {link("a", "/etc"), reg("a/passwd", "x")},
		"below a later one": {reg("a/passwd", "x"), link("a", "/etc")},
		"hard link out":     {{tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "../../etc/shadow"}, ""}},
		"hard link to none": {{tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "etc/shadow"}, ""}},
		"hard link to link": {link("l", "/etc/shadow"),
			{tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "l"}, ""}},
		"hard link to self": {{tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "a"}, ""}},
		"not UTF-8":         {reg("a\xff", "")},
		"too long":          {reg(long, "")},
		"empty":             {},
		"only a device":     {{tar.Header{Name: "d", Typeflag: tar.TypeChar}, ""}},
	}
	for name, files := range cases {
		l := filepath.Join(t.TempDir(), "layout")
		_, err := image.Pack(writeTar(t, files...), "x", image.Config{}, l)
		if !errors.Is(err, image.ErrRootfs) {
			t.Errorf("%s: got %v, want ErrRootfs", name, err)
		}
		if _, err := os.Lstat(l); err == nil {
			t.Errorf("%s: a layout was made", name)
		}
	}
	notTar := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(notTar, bytes.Repeat([]byte("no tar"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Pack(notTar, "x", image.Config{}, t.TempDir()); !errors.Is(err, image.ErrRootfs) {
		t.Errorf("no tar: got %v", err)
	}
	good := writeTar(t, reg("a", "a"))
	for _, n := range []string{"", "A", "a/b", "..", "-a", "a ", "a\n", strings.Repeat("a", 65)} {
		if _, err := image.Pack(good, n, image.Config{}, t.TempDir()); err == nil {
			t.Errorf("the name %q was accepted", n)
		}
	}
}

func TestTruncatedTar(t *testing.T) {
	name := writeTar(t, reg("a", strings.Repeat("x", 5000)))
	for _, n := range []int64{100, 600, 3000} {
		if err := os.Truncate(name, n); err != nil {
			t.Fatal(err)
		}
		if _, err := image.Pack(name, "x", image.Config{}, t.TempDir()); err == nil {
			t.Errorf("a tar cut at %d bytes was packed", n)
		}
	}
}

func TestReplaceKeepsTheOldDigest(t *testing.T) {
	l := t.TempDir()
	old := mustPack(t, writeTar(t, reg("a", "1")), "x", image.Config{Version: "1"}, l)
	mustPack(t, writeTar(t, reg("a", "1")), "other", image.Config{Version: "1"}, l)
	before, err := os.Stat(filepath.Join(l, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if d := mustPack(t, writeTar(t, reg("a", "1")), "x", image.Config{Version: "1"}, l); d != old {
		t.Fatalf("again: %s, first %s", d, old)
	}
	if after, err := os.Stat(filepath.Join(l, "index.json")); err != nil || !os.SameFile(before, after) {
		t.Errorf("adding the same again rewrote the index (%v)", err)
	}
	newer := mustPack(t, writeTar(t, reg("a", "2")), "x", image.Config{Version: "2"}, l)
	e, err := image.Find(l, "x")
	if err != nil || e.Digest != newer || e.Version != "2" || e.Replaced {
		t.Errorf("Find: %+v, %v; want %s", e, err, newer)
	}
	list, err := image.List(l)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		state := ""
		if e.Replaced {
			state = " replaced"
		}
		got = append(got, e.Name+" "+e.Version+state)
		if err := image.Verify(l, e.Digest); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if e.Size == 0 || e.UnpackedSize != 1 {
			t.Errorf("%s: size %d, unpacked %d", e.Name, e.Size, e.UnpackedSize)
		}
	}
	if want := []string{"other 1", "x 2", "x 1 replaced"}; !reflect.DeepEqual(got, want) {
		t.Errorf("List: %v, want %v", got, want)
	}
	if got := contents(t, l, old); len(got) != 1 || got[0].body != "1" {
		t.Errorf("the replaced image holds %v", got)
	}
	// The old one again takes the name back.
	if d := mustPack(t, writeTar(t, reg("a", "1")), "x", image.Config{Version: "1"}, l); d != old {
		t.Errorf("back: %s, want %s", d, old)
	}
	if e, err := image.Find(l, "x"); err != nil || e.Digest != old {
		t.Errorf("Find: %+v, %v; want %s", e, err, old)
	}
	left, err := filepath.Glob(filepath.Join(l, ".new-*"))
	more, err2 := filepath.Glob(filepath.Join(l, "blobs", "sha256", ".new-*"))
	if err != nil || err2 != nil || len(left)+len(more) != 0 {
		t.Errorf("temporaries left: %v %v", left, more)
	}
}

func TestInspect(t *testing.T) {
	l := t.TempDir()
	want := image.Config{Version: "3", Recipe: "k", Env: []string{"A=1"}, Cmd: []string{"p", "-u"}, WorkingDir: "/in",
		User: "5:5"}
	d := mustPack(t, writeTar(t, reg("a", "")), "x", want, l)
	if e, err := image.Find(l, "x"); err != nil || e.Recipe != "k" {
		t.Errorf("the entry's recipe is %q, %v", e.Recipe, err)
	}
	want.Recipe = "other"
	if again := mustPack(t, writeTar(t, reg("a", "")), "x", want, l); again != d {
		t.Errorf("the recipe's key changed the digest")
	}
	if list, err := image.List(l); err != nil || len(list) != 1 || list[0].Recipe != "other" {
		t.Errorf("the index says %+v, %v", list, err)
	}
	want.Recipe = ""
	if got := inspect(t, l, d); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParallelPack(t *testing.T) {
	l := t.TempDir()
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	errs := make(chan error, len(names))
	for _, n := range names {
		name := writeTar(t, reg("f", n))
		go func() {
			_, err := image.Pack(name, n, image.Config{}, l)
			errs <- err
		}()
	}
	for range names {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	list, err := image.List(l)
	if err != nil || len(list) != len(names) {
		t.Errorf("%d images of %d, %v", len(list), len(names), err)
	}
}

func TestNotFound(t *testing.T) {
	empty := t.TempDir()
	if _, err := image.List(empty); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("List of no layout: %v", err)
	}
	l := t.TempDir()
	mustPack(t, writeTar(t, reg("a", "")), "x", image.Config{}, l)
	if _, err := image.Find(l, "y"); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("Find: %v", err)
	}
	absent := "sha256:" + strings.Repeat("0", 64)
	if err := image.Verify(l, absent); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("Verify: %v", err)
	}
	for _, d := range []string{"", "sha256:", "sha256:../../../etc/passwd", "sha512:" + absent[7:], absent + "\n"} {
		if err := image.Verify(l, d); err == nil {
			t.Errorf("the digest %q was accepted", d)
		}
	}
}

// TestVerifyFindsDamage damages each blob of an image in each way that storage
// or a hand can.
func TestVerifyFindsDamage(t *testing.T) {
	damages := map[string]func(name string) error{
		"gone":      os.Remove,
		"one bit":   func(n string) error { return edit(n, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) },
		"shorter":   func(n string) error { return edit(n, func(b []byte) []byte { return b[:len(b)-1] }) },
		"longer":    func(n string) error { return edit(n, func(b []byte) []byte { return append(b, 0) }) },
		"empty":     func(n string) error { return edit(n, func([]byte) []byte { return nil }) },
		"a folder":  func(n string) error { return errors.Join(os.Remove(n), os.Mkdir(n, 0o755)) },
		"a symlink": func(n string) error { return errors.Join(os.Rename(n, n+".x"), os.Symlink(n+".x", n)) },
	}
	for what, damage := range damages {
		for _, blob := range []int{0, 1, 2} {
			l := t.TempDir()
			d := mustPack(t, writeTar(t, reg("a", "some text")), "x", image.Config{}, l)
			m := manifest(t, l, d)
			digest := []string{d, m.Config.Digest.String(), m.Layers[0].Digest.String()}[blob]
			if err := image.Verify(l, d); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(l, "blobs", "sha256", digest[7:])); err != nil {
				t.Fatal(err)
			}
			if err := image.Verify(l, d); err == nil {
				t.Errorf("%s, blob %d: Verify found nothing", what, blob)
			}
			if err := image.Archive(context.Background(), l, d, "x", io.Discard); err == nil {
				t.Errorf("%s, blob %d: Archive found nothing", what, blob)
			}
			if err := image.Rootfs(context.Background(), l, d, io.Discard); err == nil && blob != 1 {
				t.Errorf("%s, blob %d: Rootfs found nothing", what, blob)
			}
		}
	}
}

func edit(name string, change func([]byte) []byte) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, change(b), 0o644)
}

func TestIndexIsChecked(t *testing.T) {
	desc := func(mediaType, digest, name string) string {
		b, err := json.Marshal(map[string]any{"mediaType": mediaType, "digest": digest, "size": 1,
			"annotations": map[string]string{"org.opencontainers.image.ref.name": name}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const mt = "application/vnd.oci.image.manifest.v1+json"
	d := "sha256:" + strings.Repeat("a", 64)
	cases := map[string]string{
		"no JSON":       "{",
		"no version":    "{}",
		"media type":    `{"schemaVersion":2,"manifests":[` + desc("text/plain", d, "x") + `]}`,
		"bad digest":    `{"schemaVersion":2,"manifests":[` + desc(mt, "sha256:../x", "x") + `]}`,
		"other hash":    `{"schemaVersion":2,"manifests":[` + desc(mt, "sha512:"+strings.Repeat("a", 128), "x") + `]}`,
		"bad name":      `{"schemaVersion":2,"manifests":[` + desc(mt, d, "../x") + `]}`,
		"no name":       `{"schemaVersion":2,"manifests":[` + desc(mt, d, "") + `]}`,
		"one name, two": `{"schemaVersion":2,"manifests":[` + desc(mt, d, "x") + "," + desc(mt, d, "x") + `]}`,
		"too large":     strings.Repeat(" ", image.MaxIndexBytes+1),
	}
	for what, text := range cases {
		l := t.TempDir()
		if err := os.WriteFile(filepath.Join(l, "index.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := image.List(l); !errors.Is(err, image.ErrCorrupt) {
			t.Errorf("%s: List: %v, want ErrCorrupt", what, err)
		}
		if _, err := image.Pack(writeTar(t, reg("a", "")), "x", image.Config{}, l); err == nil {
			t.Errorf("%s: Pack went on over a damaged index", what)
		}
	}
}

func TestArchive(t *testing.T) {
	l := t.TempDir()
	d := mustPack(t, writeTar(t, reg("a", "text")), "x", image.Config{}, l)
	mustPack(t, writeTar(t, reg("a", "else")), "y", image.Config{}, l)
	var a, b bytes.Buffer
	if err := image.Archive(context.Background(), l, d, "threegate/x", &a); err != nil {
		t.Fatal(err)
	}
	if err := image.Archive(context.Background(), l, d, "threegate/x", &b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("the archive differs the second time (%v)", err)
	}
	// Unpacked, it is a layout that holds this image and verifies.
	out := t.TempDir()
	for tr := tar.NewReader(&a); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(out, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, body, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := image.Verify(out, d); err != nil {
		t.Error(err)
	}
	if blobs, err := os.ReadDir(filepath.Join(out, "blobs", "sha256")); err != nil || len(blobs) != 3 {
		t.Errorf("%d blobs, want 3 (%v)", len(blobs), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := image.Archive(ctx, l, d, "x", io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// blob opens a blob of an image.
func blob(t *testing.T, layoutDir, digest string) io.Reader {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(layoutDir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:")))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

// manifest is an image's as another library reads it.
func manifest(t *testing.T, layoutDir, digest string) *v1.Manifest {
	t.Helper()
	m, err := v1.ParseManifest(blob(t, layoutDir, digest))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// inspect returns what an image says of itself, read by digest. Recipe is not in
// the image and stays empty.
func inspect(t *testing.T, layoutDir, digest string) image.Config {
	t.Helper()
	m := manifest(t, layoutDir, digest)
	c, err := v1.ParseConfigFile(blob(t, layoutDir, m.Config.Digest.String()))
	if err != nil || c.Architecture != runtime.GOARCH || !c.Created.Equal(image.Epoch) {
		t.Fatalf("configuration of %s: %+v, %v", digest, c, err)
	}
	return image.Config{
		Version:    m.Annotations["threegate.language-version"],
		Env:        c.Config.Env,
		Cmd:        c.Config.Cmd,
		WorkingDir: c.Config.WorkingDir,
		User:       c.Config.User,
	}
}
