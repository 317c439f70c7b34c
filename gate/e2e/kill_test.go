package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// killsEnv says how many kills the long form makes, instead of shortKills.
const killsEnv = "THREEGATE_KILLS"

const (
	shortKills = 16
	// outstanding requests are kept in the node while there are kills to come.
	outstanding = 5
	// killPause is the longest time between two kills. Starting the gate takes
	// about a second: shorter ones hit the start, longer ones the work.
	killPause = 5 * time.Second
)

// nonceScript leaves a number that no other run can leave, in two places.
const nonceScript = `import os, time
n = os.urandom(16).hex()
print(n)
time.sleep(%.1f)
open("/out/nonce.txt", "w").write(n)
`

const montyLoop = `total = 0
for i in range(%d):
    total = total + i %% 7
print("sum", total)
`

// TestKilledAtRandom kills the gate, its containerd and the shims of runs, over
// and over, while requests of both backends come in. Every request ends exactly
// once, none runs twice, and the node is whole after every single kill.
func TestKilledAtRandom(t *testing.T) {
	kills := shortKills
	if s := os.Getenv(killsEnv); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil || kills < 1 {
			t.Fatalf("%s=%q is no number of kills", killsEnv, s)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := newNode(t)
	starts := watchStarts(t, filepath.Join(n.cfg.RunDir(), "boxes"))
	n.kill()
	sup := supervise(n)
	var sent []request
	made := map[string]int{}
	for k := 0; k < kills; {
		for len(sent)-n.settled() < outstanding {
			sent = append(sent, streamed(len(sent), rng))
			n.send(sent[len(sent)-1])
		}
		time.Sleep(time.Duration(rng.Int64N(int64(killPause))))
		what := []string{"gate", "gate", "shim", "containerd"}[rng.IntN(4)]
		done := false
		switch what {
		case "gate":
			sup.pause() // fsck must not meet the next one
			done = true
			n.mustBeWhole()
			sup.resume()
		case "shim":
			done = killShim(n, rng)
		case "containerd":
			done = signalContainerd(n)
		}
		if done {
			k++
			made[what]++
		}
	}
	n.until("all requests to be settled", func() bool { return n.settled() == len(sent) })
	sup.pause()
	n.mustBeWhole()
	n.serve()
	n.until("the last jobs to be put away", func() bool { return n.count("spool", "*", "*") == 0 })
	n.check()
	n.threegate("fsck", "--node", n.dir)
	checkStream(t, n, sent, starts)
	t.Logf("%d kills (%v), %d requests", kills, made, len(sent))
}

// streamed is the i-th request of the stream.
func streamed(i int, rng *rand.Rand) request {
	id := fmt.Sprintf("TR-20260209-%06dZ-kill", i)
	if i%3 == 2 {
		return request{id: id, backend: "monty", code: fmt.Sprintf(montyLoop, 300_000+rng.IntN(2_000_000)), timeSec: 60}
	}
	r := era(id, fmt.Sprintf(nonceScript, rng.Float64()*2))
	r.outputs = []string{"nonce.txt"}
	return r
}

// settled counts the results that are on record.
func (n *node) settled() int {
	c := 0
	for _, e := range n.events() {
		if e.Type == ledger.ResultDelivered || e.Type == ledger.ResultQuarantined {
			c++
		}
	}
	return c
}

func (n *node) mustBeWhole() {
	n.t.Helper()
	r, err := fsck.Run(context.Background(), n.cfg, fsck.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range r.Found {
		n.t.Errorf("fsck: %+v", f)
	}
	if r.Balance.Missing() != 0 {
		n.t.Errorf("missing: %+v", r.Balance)
	}
}

// checkStream looks at each request's end: delivered once, started at most once
// by what init itself says, and interrupted only if its shim or container died.
func checkStream(t *testing.T, n *node, sent []request, starts *startCounter) {
	t.Helper()
	nonces := map[string]string{}
	whole, interrupted, unseen := 0, 0, 0
	for _, r := range sent {
		f := n.await(r.id)
		res := n.result(f)
		runs := starts.of(f.Job)
		if runs > 1 {
			t.Errorf("%s ran %d times", r.id, runs)
		}
		if f.Cause == schemas.CauseInterrupted || res.ExitCode != 0 {
			interrupted++
			if f.Cause != schemas.CauseInterrupted {
				t.Errorf("%s ended with exit code %d, cause %s", r.id, res.ExitCode, f.Cause)
			}
			continue
		}
		whole++
		if runs == 0 {
			unseen++
		}
		if r.backend == "monty" {
			if !strings.HasPrefix(res.Stdout.Text, "sum ") {
				t.Errorf("%s printed %q", r.id, res.Stdout.Text)
			}
			continue
		}
		nonce := strings.TrimSpace(res.Stdout.Text)
		file := filepath.Join(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts", "nonce.txt")
		if kept := read(t, file); kept != nonce || len(nonce) != 32 {
			t.Errorf("%s printed %q and wrote %q: two runs are mixed", r.id, nonce, kept)
		}
		if other, ok := nonces[nonce]; ok {
			t.Errorf("%s and %s share a run", r.id, other)
		}
		nonces[nonce] = r.id
	}
	if whole == 0 {
		t.Error("no run came to its own end")
	}
	if unseen > whole/20 {
		t.Errorf("the starts of %d runs were not seen: whether any ran twice is not known", unseen)
	}
	t.Logf("%d ended by themselves (the starts of %d were not seen), %d were interrupted", whole, unseen, interrupted)
}

// supervisor starts the gate whenever it has ended, as a service manager does.
type supervisor struct {
	n    *node
	gone chan struct{}
	mu   sync.Mutex
	cmd  *exec.Cmd
	stop bool
}

func supervise(n *node) *supervisor {
	s := &supervisor{n: n}
	s.resume()
	n.t.Cleanup(func() { s.pause() })
	return s
}

func (s *supervisor) resume() {
	s.stop, s.gone = false, make(chan struct{})
	go func() {
		defer close(s.gone)
		for {
			s.mu.Lock()
			if s.stop {
				s.mu.Unlock()
				return
			}
			s.cmd = exec.Command(threegate, "serve", "--node", s.n.dir)
			s.cmd.Stderr = &s.n.log
			s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			err := s.cmd.Start()
			s.mu.Unlock()
			if err == nil {
				_ = s.cmd.Wait()
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

// pause kills the gate and starts no other.
func (s *supervisor) pause() {
	s.mu.Lock()
	s.stop = true
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
	}
	s.mu.Unlock()
	<-s.gone
}

// signalContainerd kills the node's containerd, if there is one just now.
func signalContainerd(n *node) bool {
	text, err := os.ReadFile(filepath.Join(n.cfg.ContainerdState(), "containerd.pid"))
	if err != nil || len(strings.Fields(string(text))) == 0 {
		return false
	}
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	return err == nil && isProcess(pid, "containerd\x00", n.cfg.ContainerdState()) && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// killShim kills the shim of one of the node's runs, if there is one.
func killShim(n *node, rng *rand.Rand) bool {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		n.t.Fatal(err)
	}
	var shims []int
	for _, p := range procs {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && isProcess(pid, "containerd-shim", n.cfg.ContainerdState()) {
			shims = append(shims, pid)
		}
	}
	return len(shims) > 0 && syscall.Kill(shims[rng.IntN(len(shims))], syscall.SIGKILL) == nil
}

// isProcess says whether a process has both texts in its command line.
func isProcess(pid int, texts ...string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	for _, t := range texts {
		if err != nil || !strings.Contains(string(line), t) {
			return false
		}
	}
	return true
}

// startCounter counts how often threegate-init said that it starts a payload: it
// writes gate/started.json in the box of its job then, with the time by the
// nanosecond. It polls: a box can appear with all that belongs to it at once.
type startCounter struct {
	mu   sync.Mutex
	seen map[string]map[string]bool // by job: what the file said
}

func (c *startCounter) of(job string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen[job])
}

const (
	startedGlob = "*/gate/started.json"
	startedPoll = 3 * time.Millisecond
)

func watchStarts(t *testing.T, boxes string) *startCounter {
	t.Helper()
	c := &startCounter{seen: map[string]map[string]bool{}}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(startedPoll):
			}
			files, _ := filepath.Glob(filepath.Join(boxes, startedGlob))
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil || len(text) == 0 {
					continue
				}
				job := filepath.Base(filepath.Dir(filepath.Dir(f)))
				c.mu.Lock()
				if c.seen[job] == nil {
					c.seen[job] = map[string]bool{}
				}
				c.seen[job][string(text)] = true
				c.mu.Unlock()
			}
		}
	}()
	return c
}
