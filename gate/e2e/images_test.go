package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// unpacked is the folder of a containerd that has every image unpacked. The first
// node that wants a copy makes it.
var unpacked struct {
	sync.Mutex
	dir string
}

// giveImages gives a containerd that was never started all images, unpacked: it takes
// seconds, and few tests are about that. The files of the images are links to the same
// ones, as no sandbox can write to them; the databases are the node's own.
func (n *node) giveImages() {
	n.t.Helper()
	if n.cfg.Containerd.Address != "" {
		return
	}
	unpacked.Lock()
	defer unpacked.Unlock()
	if unpacked.dir == "" {
		unpacked.dir = n.unpackImages()
	}
	root := n.cfg.Containerd.Root
	must(n.t, os.RemoveAll(root))
	if out, err := exec.Command("cp", "-al", unpacked.dir, root).CombinedOutput(); err != nil {
		n.t.Fatalf("copy the images: %v: %s", err, out)
	}
	must(n.t, filepath.WalkDir(unpacked.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, ".db") {
			return err
		}
		own := filepath.Join(root, strings.TrimPrefix(path, unpacked.dir))
		must(n.t, os.Remove(own))
		return os.WriteFile(own, []byte(read(n.t, path)), 0o600)
	}))
}

// unpackImages serves a node that runs a program of every image, and returns the
// folder of its containerd.
func (n *node) unpackImages() string {
	n.t.Helper()
	first := emptyNodeIn(n.t, filepath.Join(scratch, "unpacked"))
	first.serve()
	programs := []request{
		era("", "print(1)\n"), javascript("", "1"), {backend: "monty", code: "print(1)\n"},
		{language: "perl", command: "perl script.pl", inputs: map[string]string{"script.pl": "print 1;\n"}},
		{language: "ruby", command: "ruby script.rb", inputs: map[string]string{"script.rb": "puts 1\n"}},
		{language: "tools", command: "python script.py", inputs: map[string]string{"script.py": "print(1)\n"}},
	}
	for i, r := range programs {
		r.id = fmt.Sprintf("TR-20260209-70000%dZ-unpack", i)
		first.send(r)
		first.result(first.await(r.id))
	}
	must(n.t, first.stop())
	must(n.t, os.Remove(filepath.Join(first.cfg.Containerd.Root, "containerd.log")))
	return first.cfg.Containerd.Root
}
