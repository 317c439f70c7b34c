package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// patience ends a measurement that hangs.
const patience = time.Minute

// node is a node in a folder of its own, served by the real program. Of its files only those
// are used that every build has: a build that differs from this one can be measured.
type node struct {
	dir   string
	cmd   *exec.Cmd
	log   bytes.Buffer
	watch *fsnotify.Watcher

	mu      sync.Mutex
	waiting map[string]chan time.Time // by request id
	serial  int
}

// startNode makes a node and serves it.
func startNode(ctx context.Context, p program, images, dir string, concurrency int, extra string) (*node, error) {
	init := exec.CommandContext(ctx, p.path, "init", dir, "--images", images, "--name", "bench")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a node: %w\n%s", err, out)
	}
	file := filepath.Join(dir, config.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	changed := strings.Replace(string(text), "node:\n", fmt.Sprintf("node:\n  concurrency: %d\n", concurrency), 1)
	changed += strings.ReplaceAll(p.config, `\n`, "\n") + "\n" + extra
	if err := os.WriteFile(file, []byte(changed), 0o640); err != nil {
		return nil, err
	}
	n := &node{dir: dir, waiting: map[string]chan time.Time{}}
	if n.watch, err = fsnotify.NewWatcher(); err != nil {
		return nil, err
	}
	if err := n.watch.Add(filepath.Join(dir, spool.DirCoreInbound)); err != nil {
		return nil, err
	}
	go n.results()
	n.cmd = exec.Command(p.path, "serve", "--node", dir)
	n.cmd.Stderr = &n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return n, n.cmd.Start()
}

// socket is that of the node's own containerd.
func (n *node) socket() string {
	return filepath.Join((&config.Node{Dir: n.dir}).ContainerdState(), "containerd.sock")
}

// stop ends the node in order.
func (n *node) stop() error {
	err := n.cmd.Process.Signal(syscall.SIGTERM)
	if err = errors.Join(err, n.cmd.Wait(), n.watch.Close()); err != nil {
		return fmt.Errorf("the node did not stop in order: %w\n%s", err, n.log.String())
	}
	return nil
}

// results tells whoever waits when a result became visible.
func (n *node) results() {
	for e := range n.watch.Events {
		now := time.Now()
		name, ok := strings.CutPrefix(filepath.Base(e.Name), "TS-")
		if !ok || !e.Has(fsnotify.Create) || !strings.HasSuffix(name, ".md") {
			continue
		}
		_, id, _ := strings.Cut(name, "-TR-")
		id = "TR-" + strings.TrimSuffix(id, ".md")
		n.mu.Lock()
		if c := n.waiting[id]; c != nil {
			c <- now
			delete(n.waiting, id)
		}
		n.mu.Unlock()
	}
}

// run takes one request through the node, and says how long its result took.
func (n *node) run(ctx context.Context, r request) (time.Duration, error) {
	n.mu.Lock()
	n.serial++
	id := fmt.Sprintf("TR-%s-bench-%d", time.Now().UTC().Format("20060102-150405Z"), n.serial)
	seen := make(chan time.Time, 1)
	n.waiting[id] = seen
	n.mu.Unlock()
	inbox := filepath.Join(n.dir, spool.DefaultInbox)
	tmp := filepath.Join(inbox, "."+id)
	if err := os.WriteFile(tmp, r.document(id), 0o640); err != nil {
		return 0, err
	}
	visible := time.Now()
	if err := os.Rename(tmp, filepath.Join(inbox, id+".md")); err != nil {
		return 0, err
	}
	select {
	case at := <-seen:
		return at.Sub(visible), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(patience):
		return 0, fmt.Errorf("request %s had no result after %v\n%s", id, patience, n.log.String())
	}
}
