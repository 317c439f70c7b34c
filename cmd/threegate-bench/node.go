package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
)

// patience ends a measurement that hangs.
const patience = time.Minute

// node is a node in a folder of its own, served by the real program.
type node struct {
	cfg   *config.Loaded
	cmd   *exec.Cmd
	log   bytes.Buffer
	group group
	trace string
	watch *fsnotify.Watcher

	// seen, if set, is told of every result.
	seen chan time.Time

	mu      sync.Mutex
	waiting map[string]chan time.Time // by request id
	serial  int
}

// startNode makes a node and serves it.
func startNode(ctx context.Context, o options, dir, name string, concurrency int, extra string, traced bool) (*node, error) {
	n, err := prepareNode(ctx, o, dir, name, concurrency, extra)
	if err != nil {
		return nil, err
	}
	return n, n.serve(o, traced)
}

// prepareNode makes a node that is not served yet.
func prepareNode(ctx context.Context, o options, dir, name string, concurrency int, extra string) (*node, error) {
	n := &node{waiting: map[string]chan time.Time{}}
	dir = filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, o.threegate, "init", dir, "--images", o.images, "--name", "bench").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a node: %w\n%s", err, out)
	}
	file := filepath.Join(dir, config.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	changed := strings.Replace(string(text), "node:\n", fmt.Sprintf("node:\n  concurrency: %d\n", concurrency), 1)
	changed += strings.ReplaceAll(o.config, `\n`, "\n") + "\n" + extra
	if err := os.WriteFile(file, []byte(changed), 0o640); err != nil {
		return nil, err
	}
	if n.cfg, err = config.Load(dir); err != nil {
		return nil, err
	}
	if n.watch, err = fsnotify.NewWatcher(); err != nil {
		return nil, err
	}
	if err := n.watch.Add(n.cfg.CoreInbound.Path); err != nil {
		return nil, err
	}
	go n.results()
	if n.group, err = newGroup(fmt.Sprintf("threegate-bench-%d-%s", os.Getpid(), name)); err != nil {
		return nil, err
	}
	return n, nil
}

// serve starts the node; stop ends it.
func (n *node) serve(o options, traced bool) error {
	args := []string{"serve", "--node", n.cfg.Dir}
	if traced {
		n.trace = filepath.Join(n.cfg.Dir, "trace.jsonl")
		args = append(args, "--trace", n.trace)
	}
	n.cmd = exec.Command(o.threegate, args...)
	n.cmd.Stderr = &n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.cmd.Start(); err != nil {
		return err
	}
	return n.group.add(n.cmd.Process.Pid)
}

// stop ends the node in order and removes what it kept on the host.
func (n *node) stop() error {
	err := n.cmd.Process.Signal(syscall.SIGTERM)
	err = errors.Join(err, n.cmd.Wait(), n.watch.Close())
	if err != nil {
		err = fmt.Errorf("the node did not stop in order: %w\n%s", err, n.log.String())
	}
	return errors.Join(err, n.group.remove())
}

// results tells whoever waits when a result became visible.
func (n *node) results() {
	for e := range n.watch.Events {
		now := time.Now()
		name, ok := strings.CutPrefix(filepath.Base(e.Name), "TS-")
		if !ok || !e.Has(fsnotify.Create) || !strings.HasSuffix(name, ".md") {
			continue
		}
		if n.seen != nil {
			n.seen <- now
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

// sample is one request from visible to visible.
type sample struct {
	id      string
	visible time.Time
	took    time.Duration
}

// run takes one request through the node.
func (n *node) run(ctx context.Context, r request) (sample, error) {
	n.mu.Lock()
	n.serial++
	id := fmt.Sprintf("TR-%s-bench-%d", time.Now().UTC().Format("20060102-150405Z"), n.serial)
	seen := make(chan time.Time, 1)
	n.waiting[id] = seen
	n.mu.Unlock()
	inbox := n.cfg.Inboxes[0].Path
	tmp := filepath.Join(inbox, "."+id)
	if len(r.inputs) > 0 {
		dir := filepath.Join(inbox, id+".inputs")
		if err := os.Mkdir(dir, 0o750); err != nil {
			return sample{}, err
		}
		for name, data := range r.inputs {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o640); err != nil {
				return sample{}, err
			}
		}
	}
	if err := os.WriteFile(tmp, r.document(id), 0o640); err != nil {
		return sample{}, err
	}
	s := sample{id: id, visible: time.Now()}
	if err := os.Rename(tmp, filepath.Join(inbox, id+".md")); err != nil {
		return s, err
	}
	select {
	case at := <-seen:
		s.took = at.Sub(s.visible)
		return s, nil
	case <-ctx.Done():
		return s, ctx.Err()
	case <-time.After(patience):
		return s, fmt.Errorf("request %s had no result after %v\n%s", id, patience, n.log.String())
	}
}

// step is one line of a trace.
type step struct {
	Job   string `json:"job"`
	Step  string `json:"step"`
	Began int64  `json:"began_ns"`
	Took  int64  `json:"took_ns"`
}

// steps reads the trace of a node that has stopped.
func (n *node) steps() ([]step, error) {
	f, err := os.Open(n.trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []step
	for s := bufio.NewScanner(f); s.Scan(); {
		var x step
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("read the trace: %w", err)
		}
		all = append(all, x)
	}
	return all, nil
}
